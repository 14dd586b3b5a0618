#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/config.h"
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
      EXPECT_TRUE(at::equal(loaded.logits(), session.logits()));
      for (int64_t t = 0; t < 12; ++t) {
        const Tokens next = {t, 3, 2 * t % 7};
        EXPECT_TRUE(at::equal(session.step(next), loaded.step(next)))
            << model->kind() << ", bound " << bound.pairs << ", step " << t;
      }
    }
}

TEST(SessionFile, KeepsPairsOfFewerBitsAsTheyAre) {
  const test::TemporaryFolder folder;
  const auto path = folder / "session.safetensors";
  const auto model = test::tiny_mosaic();
  for (const auto type : {ops::WeightType::kBFloat16, ops::WeightType::kInt8}) {
    model->keep_pairs_in(type);
    StreamingSession session(*model, Reading::kStreaming);
    session.add({some_text(9, 2), some_text(4, 3)});
    session.save(path);
    StreamingSession loaded = StreamingSession::load(*model, path);
    for (int64_t t = 0; t < 5; ++t)
      EXPECT_TRUE(at::equal(session.step({t, 3}), loaded.step({t, 3}))) << t;
    model->keep_pairs_in(ops::WeightType::kFloat32);
    EXPECT_THAT(test::message_of<DataError>([&] { StreamingSession::load(*model, path); }),
                testing::HasSubstr("keeps pairs in " + std::string(config::enum_name(type)) +
                                   ", the model that goes on with them in float32"));
  }
}

TEST(SessionFile, RefusesWhatDoesNotFit) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();
  const auto path = folder / "session.safetensors";
  EXPECT_THROW(StreamingSession(*model, Reading::kStreaming).save(path), UsageError);

  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(4, 1)});
  session.save(path);
  EXPECT_THROW(StreamingSession::load(*test::tiny_gpt(Positions::kRotary), path), DataError);
  EXPECT_THROW(StreamingSession::load(*test::tiny_mosaic(Parameterisation::kPaper, 3), path),
               DataError);

  const std::string whole = read_file(path);
  write_file(folder / "short.safetensors", whole.substr(0, whole.size() - 8));
  EXPECT_THROW(StreamingSession::load(*model, folder / "short.safetensors"), DataError);

  const auto other = test::tiny_mosaic();
  other->initialise(1);
  EXPECT_THAT(test::message_of<DataError>([&] { StreamingSession::load(*other, path); }),
              testing::HasSubstr("their parameters differ"));

  const auto refusal_of = [&](const TensorFile& changed) {
    save_tensors(folder / "hostile.safetensors", {changed.tensors.begin(), changed.tensors.end()},
                 changed.metadata);
    return test::message_of<DataError>(
        [&] { StreamingSession::load(*model, folder / "hostile.safetensors"); });
  };
  TensorFile file = TensorFile::load(path);
  file.tensors["blocks.1.context.pairs.counts"].fill_(1000);
  EXPECT_THAT(refusal_of(file), testing::HasSubstr("1000 pairs"));
  for (const char* name : {"logits", "blocks.1.context.pairs.values"}) {
    file = TensorFile::load(path);
    file.tensors[name].view(-1)[0] = NAN;
    EXPECT_THAT(refusal_of(file), testing::HasSubstr(std::string("'") + name +
                                                     "' contains a number that is not finite"));
  }
  for (const char* name : {"reading", "eviction"}) {
    file = TensorFile::load(path);
    file.metadata[name] = "backwards";
    EXPECT_THAT(refusal_of(file), testing::HasSubstr("backwards")) << name;
  }
  file = TensorFile::load(path);
  file.metadata["reading"] = "windowed";
  file.metadata["bound"] = "5";
  EXPECT_THAT(refusal_of(file), testing::HasSubstr("a bound of 5 pairs"));

  session.add({some_text(4, 2)});
  session.save(path);
  file = TensorFile::load(path);  // of two sequences, of which the first one's tokens stay
  for (const char* name : {"lengths", "logits"})
    file.tensors[name] = file.tensors[name].narrow(0, 0, 1);
  file.tensors["tokens"] = file.tensors["tokens"].narrow(0, 0, 4);
  EXPECT_THAT(refusal_of(file),
              testing::HasSubstr("'lengths' are of 1 sequences, the state is of 2"));
}

TEST(SessionFile, AFileOfVersion01GoesOnOnceItHasReadAToken) {
  const test::TemporaryFolder folder;
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(4, 1)});
  session.save(folder / "new.safetensors");
  TensorFile file = TensorFile::load(folder / "new.safetensors");
  file.tensors.erase("logits");
  file.metadata.erase("parameters");
  save_tensors(folder / "old.safetensors", NamedTensors(file.tensors.begin(), file.tensors.end()),
               file.metadata);
  StreamingSession loaded = StreamingSession::load(*model, folder / "old.safetensors");
  EXPECT_THROW(loaded.logits(), UsageError);
  loaded.select({0, 0});
  const at::Tensor next = session.step({3});
  EXPECT_TRUE(test::largest_difference(loaded.step({3, 3})[1], next[0]) < 1e-5);
}

}  // namespace
}  // namespace tessera
