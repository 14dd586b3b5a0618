#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memory/exact_correlation_memory.h"
#include "tessera/memory/text_memory_config.h"
#include "tessera/memory/window_pairs.h"

namespace tessera {

/// The windows that end a context, shortest first, as a memory is asked about them.
struct WindowQueries {
  int64_t count = 0;          ///< k, the window lengths that the context is long enough for
  std::vector<int8_t> keys;   ///< [k, d]
  std::vector<int8_t> masks;  ///< [k, d], +-1, what the values were bound with; or empty
};

/// How windows and tokens become the keys and values of a correlation matrix memory. A code is a
/// pure function of its configuration and holds no text.
class WindowCode {
 public:
  static std::unique_ptr<const WindowCode> make(const TextMemoryConfig& config);
  virtual ~WindowCode() = default;

  /// Stores or forgets the pairs of `text` in `memory` [d, d].
  virtual void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                    ExactCorrelationMemory& memory) const = 0;
  /// The windows that end `context`.
  virtual WindowQueries queries(std::span<const int32_t> context) const = 0;
  /// scores [k, V] of what a memory gave back for the queries' keys, retrieved [k, d]: for each
  /// token about 1 where it was stored once with that window, about 0 elsewhere.
  virtual void score(const WindowQueries& queries, std::span<const float> retrieved,
                     std::span<float> scores) const = 0;
  /// Standard deviation of one window's score for a token that was not stored with it.
  virtual double noise(const ExactCorrelationMemory& memory) const = 0;

 protected:
  WindowCode() = default;
};

}  // namespace tessera
