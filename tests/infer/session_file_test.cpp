#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/infer/streaming_session.h"
#include "tests/infer/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::some_text;

TEST(SessionFile, ALoadedSessionGoesOnAsTheSavedOneWould) {
  const test::TemporaryFolder folder;
  for (const auto& model :
       {test::tiny_mosaic(), test::tiny_gpt(Positions::kRotary), test::tiny_gpt(Positions::kAlibi)})
    for (const MemoryBound bound :
         {MemoryBound{}, MemoryBound{5, Eviction::kOldest}, MemoryBound{5, Eviction::kLeastUsed}}) {
      StreamingSession session(*model, Reading::kStreaming, bound);
      session.add({some_text(1, 1), some_text(9, 2), some_text(4, 3)});
      session.save(folder / "session.safetensors");
      StreamingSession loaded = StreamingSession::load(*model, folder / "session.safetensors");
      EXPECT_EQ(loaded.tokens(), session.tokens());
      for (int64_t t = 0; t < 12; ++t) {
        const Tokens next = {t, 3, 2 * t % 7};
        EXPECT_TRUE(at::equal(session.step(next), loaded.step(next)))
            << model->kind() << ", bound " << bound.pairs << ", step " << t;
      }
    }
}

TEST(SessionFile, RefusesWhatDoesNotFit) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();
  const auto path = folder / "session.safetensors";
  EXPECT_THROW(StreamingSession(*model, Reading::kStreaming).save(path), std::invalid_argument);

  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(4, 1)});
  session.save(path);
  EXPECT_THROW(StreamingSession::load(*test::tiny_gpt(Positions::kRotary), path), DataError);
  EXPECT_THROW(StreamingSession::load(*test::tiny_mosaic(Parameterisation::kPaper, 3), path),
               DataError);

  const std::string whole = read_file(path);
  write_file(folder / "short.safetensors", whole.substr(0, whole.size() - 8));
  EXPECT_THROW(StreamingSession::load(*model, folder / "short.safetensors"), DataError);

  TensorFile file = TensorFile::load(path);
  file.tensors["blocks.1.context.pairs.counts"].fill_(1000);
  NamedTensors tensors(file.tensors.begin(), file.tensors.end());
  save_tensors(folder / "hostile.safetensors", tensors, file.metadata);
  EXPECT_THROW(StreamingSession::load(*model, folder / "hostile.safetensors"), DataError);
}

}  // namespace
}  // namespace tessera
