#include "tessera/model/detail/token_ids.h"

#include <ATen/ATen.h>

#include "tessera/tensor/check.h"

namespace tessera {

void check_token_ids(const at::Tensor& ids, int64_t lowest, int64_t vocabulary,
                     std::string_view what) {
  TESSERA_CHECK(ids.scalar_type() == at::kLong, what, "s are ", ids.scalar_type(),
                ", expected int64");
  if (ids.numel() == 0 || !ids.is_cpu()) return;
  const int64_t least = ids.min().item<int64_t>(), greatest = ids.max().item<int64_t>();
  TESSERA_CHECK(least >= lowest && greatest < vocabulary, what, " ",
                least < lowest ? least : greatest, " is outside the model's vocabulary of ",
                vocabulary, "; was the text encoded by another tokenizer?");
}

}  // namespace tessera
