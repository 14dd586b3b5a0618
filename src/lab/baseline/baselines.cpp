#include "lab/baseline/baselines.h"

#include "lab/baseline/attentional_lstm.h"
#include "lab/baseline/dnc.h"
#include "lab/baseline/fast_weights.h"
#include "lab/baseline/gated_deltanet.h"
#include "lab/baseline/lstm.h"
#include "lab/baseline/ntm.h"
#include "lab/baseline/retnet.h"
#include "lab/baseline/rmc.h"
#include "lab/baseline/vector_lstm.h"

namespace tessera {

void add_baselines() {
  [[maybe_unused]] static const bool added = [] {
    add_model_kinds({lstm_kind(), retnet_kind(), gated_deltanet_kind(), vector_lstm_kind(),
                     attentional_lstm_kind(), fast_weights_kind(), rmc_kind(), ntm_kind(),
                     dnc_kind()});
    return true;
  }();
}

}  // namespace tessera
