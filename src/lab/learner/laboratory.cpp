#include "lab/learner/laboratory.h"

#include "lab/baseline/attentional_lstm.h"
#include "lab/baseline/dnc.h"
#include "lab/baseline/fast_weights.h"
#include "lab/baseline/gated_deltanet.h"
#include "lab/baseline/lstm.h"
#include "lab/baseline/ntm.h"
#include "lab/baseline/retnet.h"
#include "lab/baseline/rmc.h"
#include "lab/baseline/vector_lstm.h"
#include "lab/learner/babi/question_answerer.h"
#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/pong/pong_network.h"
#include "lab/task/stories/story_files.h"
#include "tessera/text/corpus.h"

namespace tessera::task {

void add_laboratory() {
  [[maybe_unused]] static const bool added = [] {
    add_model_kinds({lstm_kind(), retnet_kind(), gated_deltanet_kind(), vector_lstm_kind(),
                     attentional_lstm_kind(), fast_weights_kind(), rmc_kind(), ntm_kind(),
                     dnc_kind(), complex_mosaic_kind(), question_answerer_kind(),
                     pong_network_kind()});
    set_story_writer({.most_stories = stories::kMostStories, .write = stories::story_source});
    return true;
  }();
}

}  // namespace tessera::task
