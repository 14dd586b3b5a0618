#pragma once

#include <cstdint>
#include <filesystem>

/// What comes with Tessera for those who have trained and memorized nothing yet.
namespace tessera::cli {

/// The model directory of a Memory Mosaic that tells short stories: models/stories, beside the
/// program in a build folder and in ../share/tessera where it is installed. Throws UsageError where
/// it is in neither: --model is needed then.
std::filesystem::path packaged_model();

/// A store of the first stories that the packaged model was trained on, each named by its number
/// and its first sentence, in a temporary folder that goes with it.
class ExampleStore {
 public:
  static constexpr int64_t kStories = 20;

  /// model: the packaged one, whose tokens the store has. Throws SystemError, and what
  /// store::MemoWriter throws.
  explicit ExampleStore(const std::filesystem::path& model);
  ~ExampleStore();
  ExampleStore(const ExampleStore&) = delete;
  ExampleStore& operator=(const ExampleStore&) = delete;

  std::filesystem::path folder() const { return above_ / "store"; }

 private:
  ExampleStore();

  std::filesystem::path above_;
};

}  // namespace tessera::cli
