#include "lab/learner/babi/question_answerer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"
#include "tests/model/model_checks.h"
#include "tests/support/folders.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::relative_error;
using testing::HasSubstr;

QuestionAnswererConfig small_answerer() {
  return {.vocabulary = 11, .words = 4, .channels = 5, .slots = 3, .width = 6, .hidden = 7};
}

std::shared_ptr<QuestionAnswerer> double_answerer() {
  return test::double_model<QuestionAnswerer>(small_answerer());
}

struct Questions {
  at::Tensor sentences, questions, after;
};

/// 2 stories with 3 questions each; some words are padding.
Questions some_questions(int64_t T = 9) {
  at::manual_seed(11);
  return {at::randint(11, {2, T, 4}, at::kLong), at::randint(11, {2, 3, 4}, at::kLong),
          at::randint(T + 1, {2, 3}, at::kLong)};
}

/// The equations one by one, for one question after one story.
class PlainAnswer {
 public:
  explicit PlainAnswer(QuestionAnswerer& model) : model_(model), cell_(*model.cell) {}

  /// sentences: of W words each; question [W] -> [V].
  at::Tensor operator()(const std::vector<at::Tensor>& sentences, const at::Tensor& question) {
    at::Tensor item = cell_.item->initial, relational = cell_.relational->initial;
    for (const at::Tensor& sentence : sentences) step(encoded(sentence), item, relational);

    const at::Tensor q = encoded(question).view({1, -1});
    auto& inference = *model_.inference;
    at::Tensor found = inference.entity->forward(q)[0], sum = at::zeros_like(found);
    for (int hop = 0; hop < 3; ++hop) {
      const at::Tensor slots = inference.relations[hop]->as<torch::nn::Sequential>()->forward(q)[0];
      const at::Tensor read = at::einsum("s,a,sab->b", {slots, found, relational});
      const at::Tensor centred = read - read.mean();
      found = centred / centred.square().mean().sqrt() * inference.norm_weight[hop] +
              inference.norm_bias[hop];
      sum = sum + found;
    }
    return at::mv(inference.answers->weight, sum);
  }

 private:
  at::Tensor encoded(const at::Tensor& sentence) const {
    at::Tensor sum = at::zeros({model_.configuration().channels}, at::kDouble);
    for (int64_t place = 0; place < sentence.size(0); ++place)
      if (const auto word = sentence[place].item<int64_t>(); word != QuestionAnswerer::kPadding)
        sum = sum + model_.embedding[word] * model_.positions[place];
    return sum;
  }

  void step(const at::Tensor& sentence, at::Tensor& item, at::Tensor& relational) {
    const int64_t N = cell_.options().slots, D = cell_.options().width;
    const at::Tensor x = sentence.view({1, -1});
    const at::Tensor content = cell_.content->forward(x)[0], pattern = cell_.pattern->forward(x)[0];
    const at::Tensor slots = cell_.attention->forward(x)[0].softmax(-1);
    const at::Tensor gates =
        cell_.item->memory_gate->forward(item.tanh()) + cell_.item->input_gate->forward(content);
    const at::Tensor input = (gates.slice(1, 0, D) + cell_.item->input_bias).sigmoid();
    const at::Tensor forget = (gates.slice(1, D) + cell_.item->forget_bias).sigmoid();
    const at::Tensor read = at::einsum("s,a,sab->b", {slots, pattern, relational});
    item = input * at::outer(content, content).tanh() + forget * item;
    const at::Tensor seen = item + cell_.relational->alpha2 * at::outer(read, pattern);
    auto& attention = *cell_.self_attention;
    const at::Tensor all = at::layer_norm(attention.projection->forward(seen), {D, 3 * N},
                                          attention.norm_weight, attention.norm_bias)
                               .t();  // [3N, D]
    const at::Tensor query = all.slice(0, 0, N), key = all.slice(0, N, 2 * N);
    const at::Tensor factors = (query.unsqueeze(0) * key.unsqueeze(1)).tanh();  // [Nk, Nq, D]
    relational = relational + at::einsum("jsa,jb->sab", {factors, all.slice(0, 2 * N)});
  }

  QuestionAnswerer& model_;
  TwoMemoryCellImpl& cell_;
};

at::Tensor plain_answers(QuestionAnswerer& model, const Questions& of) {
  PlainAnswer plain(model);
  std::vector<at::Tensor> rows;
  for (int64_t b = 0; b < of.questions.size(0); ++b)
    for (int64_t c = 0; c < of.questions.size(1); ++c) {
      const auto story = of.sentences[b].slice(0, 0, of.after[b][c].item<int64_t>()).unbind();
      rows.push_back(plain(story, of.questions[b][c]));
    }
  return at::stack(rows).view({of.questions.size(0), of.questions.size(1), -1});
}

std::vector<at::Tensor> gradients(QuestionAnswerer& model, const at::Tensor& logits) {
  return torch::autograd::grad({logits.sin().sum()}, model.parameters());
}

// 179 words, 12 a sentence, n_q = 20, d = 90: embedding and positions, f1 and f2, f3, the item
// memory, its projection and norm, the relational memory; then e, r1 to r3, the norms and Z.
TEST(QuestionAnswerer, HasTheNumberOfParametersOfThePapersSizes) {
  const int64_t reading = (179 + 12) * 64 + 2 * (64 * 80 + 80 + 80 * 80 + 80 + 80 * 90 + 90) +
                          (64 * 80 + 80 + 80 * 80 + 80 + 80 * 20 + 20) +
                          (90 * 90 + 2 * (90 * 180 + 180) + 2) + (90 * 60 + 60 + 2 * 90 * 60) +
                          (1 + 20 * 90 * 90);
  const int64_t answering =
      (64 * 80 + 80 + 80 * 90 + 90) + 3 * (64 * 80 + 80 + 80 * 20 + 20) + 3 * 2 * 90 + 90 * 179;
  EXPECT_EQ(QuestionAnswerer({}, std::nullopt).parameter_count(), reading + answering);
  EXPECT_EQ(reading + answering, 332'187);
}

TEST(QuestionAnswerer, PlacesBeginAlikeUnlessTheyAreSpread) {
  QuestionAnswererConfig config = small_answerer();
  config.first_positions = 1;
  EXPECT_TRUE(QuestionAnswerer(config, 1).positions.eq(1).all().item<bool>());
  config.position_spread = 0.5;
  const at::Tensor positions = QuestionAnswerer(config, 1).positions;
  EXPECT_GT(positions.min().item<double>(), 0.5);
  EXPECT_LT(positions.min().item<double>(), 0.75);
  EXPECT_GT(positions.max().item<double>(), 1.25);
  EXPECT_LT(positions.max().item<double>(), 1.5);
}

TEST(QuestionAnswerer, FollowsThePlainEquations) {
  const auto model = double_answerer();
  for (int64_t T : {1, 9, 70}) {
    const Questions of = some_questions(T);
    const at::Tensor logits = model->answer(of.sentences, of.questions, of.after);
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 3, 11}));
    EXPECT_LT(relative_error(logits, plain_answers(*model, of)), 1e-9) << T << " sentences";
  }
}

// Of 70 sentences the relational memory is formed once on the way.
TEST(QuestionAnswerer, HasTheGradientsOfThePlainEquations) {
  const auto model = double_answerer();
  for (int64_t T : {9, 70}) {
    const Questions of = some_questions(T);
    const auto ours = gradients(*model, model->answer(of.sentences, of.questions, of.after));
    const auto plain = gradients(*model, plain_answers(*model, of));
    const auto names = model->named_parameters().keys();
    for (size_t k = 0; k < ours.size(); ++k)
      EXPECT_LT(relative_error(ours[k], plain[k]), 1e-7) << names[k] << ", " << T << " sentences";
  }
}

TEST(QuestionAnswerer, TheFusedLoopsGiveThePlainEquations) {
  const auto reference = double_answerer();
  QuestionAnswerer model(small_answerer(), std::nullopt);
  at::NoGradGuard no_grad;
  for (const auto& item : reference->named_parameters())
    model.named_parameters()[item.key()].copy_(item.value());
  const Questions of = some_questions();
  const at::Tensor logits = model.answer(of.sentences, of.questions, of.after);
  EXPECT_LT(relative_error(logits.to(at::kDouble), plain_answers(*reference, of)), 1e-3);
}

// Unlike in the authors' code, where it is a word.
TEST(QuestionAnswerer, PaddingIsNotRead) {
  const auto model = double_answerer();
  Questions of = some_questions();
  const auto logits = [&] { return model->answer(of.sentences, of.questions, of.after); };
  const at::Tensor before = logits();
  const auto padding = gradients(*model, before)[0][QuestionAnswerer::kPadding];
  EXPECT_EQ(padding.abs().max().item<double>(), 0);
  {
    at::NoGradGuard no_grad;
    model->embedding[QuestionAnswerer::kPadding].fill_(3);
  }
  EXPECT_TRUE(logits().equal(before));
  // Nor does it matter what comes behind the sentences that a question is about.
  of.sentences = at::cat({of.sentences, at::randint(11, {2, 5, 4}, at::kLong)}, 1);
  EXPECT_LT(relative_error(logits(), before), 1e-10);
}

TEST(QuestionAnswerer, StoriesSideBySideDoNotMeet) {
  const auto model = double_answerer();
  const Questions of = some_questions();
  const at::Tensor all = model->answer(of.sentences, of.questions, of.after);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t c = 0; c < 3; ++c) {
      const at::Tensor one =
          model->answer(of.sentences.narrow(0, b, 1), of.questions.narrow(0, b, 1).narrow(1, c, 1),
                        of.after.narrow(0, b, 1).narrow(1, c, 1));
      EXPECT_LT(relative_error(one[0][0], all[b][c]), 1e-9);
    }
}

// The authors' code (baselines/sam/qamodel.py): tests/golden/compute_question_answerer.py.
TEST(QuestionAnswerer, AgreesWithTheAuthorsCode) {
  const TensorFile weights = TensorFile::load(test::golden_file("qa_tiny.weights.safetensors"));
  const TensorFile expected = TensorFile::load(test::golden_file("qa_tiny.expected.safetensors"));
  QuestionAnswerer model(
      {.vocabulary = 13, .words = 4, .channels = 6, .slots = 3, .width = 8, .hidden = 7},
      std::nullopt);
  // Our name and theirs, and whether theirs is transposed.
  struct Name {
    std::string ours, theirs;
    bool transposed = false;
    int64_t row = -1;  ///< of our tensor
  };
  std::vector<Name> names = {
      {"embedding", "input_module.word_embed.weight"},
      {"positions", "input_module.pos_embed"},
      {"cell.item.initial", "update_module.item_memory_state_bias"},
      {"cell.item.input_bias", "update_module.input_bias"},
      {"cell.item.forget_bias", "update_module.forget_bias"},
      {"cell.self_attention.norm_weight", "update_module.qkv_layernorm.0.weight"},
      {"cell.self_attention.norm_bias", "update_module.qkv_layernorm.0.bias"},
      {"cell.relational.alpha2", "update_module.alpha20"},
      {"cell.relational.initial", "update_module.rel_memory_state_bias"},
      {"inference.answers.weight", "infer_module.Z", true}};
  const auto add_linear = [&](const std::string& ours, const std::string& theirs) {
    for (const char* part : {".weight", ".bias"}) names.push_back({ours + part, theirs + part});
  };
  add_linear("cell.item.input_gate", "update_module.input_gate_projector");
  add_linear("cell.item.memory_gate", "update_module.memory_gate_projector");
  add_linear("cell.self_attention.projection", "update_module.qkv_projector.0");
  for (const auto& [ours, theirs] :
       {std::pair("content", ""), {"pattern", "2"}, {"attention", "3"}}) {
    const std::string from = fmt::format("update_module.input_projector{}.", theirs);
    add_linear(fmt::format("cell.{}.0", ours), from + "fc1");
    add_linear(fmt::format("cell.{}.1", ours), from + "fc2h.0");
    add_linear(fmt::format("cell.{}.2", ours), from + "fc3");
  }
  for (const auto& [ours, theirs] : {std::pair("entity", "e.0"),
                                     {"relations.0", "r.0"},
                                     {"relations.1", "r.1"},
                                     {"relations.2", "r.2"}})
    for (int layer : {0, 1}) {
      const std::string from = fmt::format("infer_module.{}.", theirs);
      const std::string to = fmt::format("inference.{}.{}.", ours, 2 * layer);
      names.push_back({to + "weight", fmt::format("{}W{}", from, layer + 1), true});
      names.push_back({to + "bias", fmt::format("{}b{}", from, layer + 1)});
    }
  for (int64_t hop : {0, 1, 2}) {
    const std::string from = fmt::format("infer_module.l{}.layer.", hop + 1);
    names.push_back({"inference.norm_weight", from + "gain", false, hop});
    names.push_back({"inference.norm_bias", from + "bias", false, hop});
  }

  const auto parameters = model.named_parameters();
  {
    at::NoGradGuard no_grad;
    for (const auto& [ours, theirs, transposed, row] : names) {
      at::Tensor to = row < 0 ? parameters[ours] : parameters[ours][row];
      const at::Tensor& from = weights.tensors.at(theirs);
      to.copy_(transposed ? from.t() : from);
    }
  }
  const at::Tensor story = expected.tensors.at("story");
  const at::Tensor logits = model
                                .answer(story, expected.tensors.at("query").unsqueeze(1),
                                        at::full({story.size(0), 1}, story.size(1), at::kLong))
                                .squeeze(1);
  EXPECT_LT(relative_error(logits, expected.tensors.at("logits")), 1e-4);
  const at::Tensor loss = at::cross_entropy_loss(logits, expected.tensors.at("answer"));
  EXPECT_NEAR(loss.item<double>(), expected.tensors.at("loss").item<double>(), 1e-4);
  loss.backward();
  for (const auto& [ours, theirs, transposed, row] : names) {
    at::Tensor gradient = row < 0 ? parameters[ours].grad() : parameters[ours].grad()[row];
    if (theirs == "infer_module.Z") {  // which their code keeps as it was drawn; ours learns
      EXPECT_GT(gradient.abs().max().item<double>(), 1e-3);
      continue;
    }
    const at::Tensor& wanted = expected.tensors.at("grad." + theirs);
    EXPECT_LT(relative_error(gradient, transposed ? wanted.t() : wanted), 1e-4) << theirs;
  }
  EXPECT_EQ(names.size(), weights.tensors.size());
}

TEST(QuestionAnswerer, AsASequenceModelEverySentenceIsAlsoAQuestion) {
  const auto model = double_answerer();
  const at::Tensor sentences = some_questions().sentences;
  const at::Tensor all = model->forward(sentences);
  ASSERT_EQ(all.sizes(), at::IntArrayRef({2, 9, 11}));
  for (int64_t t : {0, 4, 8}) {
    const at::Tensor one =
        model->answer(sentences, sentences.narrow(1, t, 1), at::full({2, 1}, t, at::kLong));
    EXPECT_LT(relative_error(all.narrow(1, t, 1), one), 1e-10);
  }
  EXPECT_LT(relative_error(model->forward(sentences, {}, 7), all.slice(1, 7)), 1e-10);
  EXPECT_EQ(model->forward(sentences, {}, 9).sizes(), at::IntArrayRef({2, 0, 11}));
}

TEST(QuestionAnswerer, ReadingInPiecesIsReadingAtOnce) {
  const auto model = double_answerer();
  const at::Tensor sentences = some_questions().sentences, all = model->forward(sentences);
  SequenceOutput first = model->read(sentences.slice(1, 0, 4), model->empty_state());
  EXPECT_LT(relative_error(first.outputs, all.slice(1, 0, 4)), 1e-9);
  SequenceState loaded = model->state_from(test::through_a_file(first.state), model->empty_state());
  for (SequenceState* state : {&first.state, &loaded}) {
    const SequenceOutput rest = model->read(sentences.slice(1, 4), std::move(*state), 2);
    EXPECT_LT(relative_error(rest.outputs, all.slice(1, 6)), 1e-9);
    EXPECT_EQ(rest.state.rows(), 2);
  }
}

TEST(QuestionAnswerer, AnswersWithoutSentencesAndWithoutQuestions) {
  const auto model = double_answerer();
  const auto zeros = [](at::IntArrayRef sizes) { return at::zeros(sizes, at::kLong); };
  const at::Tensor question = at::ones({1, 1, 4}, at::kLong);
  const at::Tensor untold = model->answer(zeros({1, 0, 4}), question, zeros({1, 1}));
  EXPECT_LT(relative_error(untold[0][0], PlainAnswer(*model)({}, question[0][0])), 1e-10);
  EXPECT_EQ(model->answer(zeros({2, 3, 4}), zeros({2, 0, 4}), zeros({2, 0})).sizes(),
            at::IntArrayRef({2, 0, 11}));
  EXPECT_EQ(model->answer(zeros({0, 3, 4}), zeros({0, 2, 4}), zeros({0, 2})).sizes(),
            at::IntArrayRef({0, 2, 11}));
  EXPECT_EQ(model->forward(zeros({2, 0, 4})).sizes(), at::IntArrayRef({2, 0, 11}));
  const SequenceOutput nothing = model->read(zeros({2, 0, 4}), model->empty_state());
  EXPECT_EQ(nothing.outputs.sizes(), at::IntArrayRef({2, 0, 11}));
  EXPECT_EQ(nothing.state.rows(), 0);
}

TEST(QuestionAnswerer, LearnsOneBatchByHeart) {
  QuestionAnswererConfig config = small_answerer();
  config.width = 12;
  QuestionAnswerer model(config, 1);
  at::manual_seed(2);
  const at::Tensor sentences = at::randint(1, 11, {6, 5, 4}, at::kLong);
  const at::Tensor questions = at::randint(1, 11, {6, 2, 4}, at::kLong);
  const at::Tensor after = at::randint(1, 6, {6, 2}, at::kLong);
  const at::Tensor answers = at::randint(1, 11, {12}, at::kLong);
  const auto loss = [&] {
    return at::cross_entropy_loss(model.answer(sentences, questions, after).flatten(0, 1), answers);
  };
  EXPECT_LT(test::loss_after_adam(model.parameters(), loss, 0.05, 300, 0.01), 0.05);
}

TEST(QuestionAnswerer, ItsKindMakesItFromHyperParameters) {
  const QuestionAnswerer model(small_answerer(), 3);
  const ModelKind& kind = model_kind("question_answerer");
  const auto made = kind.make(model.hyper_parameters(), 3, at::kCPU);
  EXPECT_EQ(made->hyper_parameters(), model.hyper_parameters());
  test::expect_equal_parameters(*made, model);
  EXPECT_FALSE(kind.language_model);
  const auto parameters = made->named_parameters();
  const QuestionAnswerer sizes(small_answerer(), std::nullopt, at::kMeta);
  for (const auto& item : sizes.named_parameters()) {
    EXPECT_TRUE(item.value().is_meta()) << item.key();
    EXPECT_EQ(item.value().sizes(), parameters[item.key()].sizes()) << item.key();
  }
}

TEST(QuestionAnswerer, RefusesWhatDoesNotFit) {
  const auto model = double_answerer();
  const Questions good = some_questions();
  const auto answer = [&](const at::Tensor& sentences, const at::Tensor& questions,
                          const at::Tensor& after) {
    EXPECT_THROW(model->answer(sentences, questions, after), UsageError);
  };
  answer(good.sentences.slice(2, 1), good.questions, good.after);
  answer(good.sentences.to(at::kDouble), good.questions, good.after);
  answer(good.sentences + 11, good.questions, good.after);
  answer(good.sentences - 11, good.questions, good.after);
  answer(good.sentences, good.questions.slice(0, 1), good.after);
  answer(good.sentences, good.questions + 11, good.after);
  answer(good.sentences, good.questions, good.after.slice(1, 1));
  answer(good.sentences, good.questions, good.after + 10);
  answer(good.sentences, good.questions, good.after - 10);
  answer(good.sentences, good.questions, good.after.to(at::kDouble));
  EXPECT_THROW(model->forward(good.sentences, {}, 10), UsageError);
  EXPECT_THROW(model->forward(good.sentences[0]), UsageError);
  SequenceState state = model->read(good.sentences, model->empty_state()).state;
  EXPECT_THROW(model->read(good.sentences.slice(0, 1), std::move(state)), UsageError);

  const auto message = [](auto change) {
    QuestionAnswererConfig config = small_answerer();
    change(config);
    return test::message_of<UsageError>([&] { QuestionAnswerer(config, std::nullopt, at::kMeta); });
  };
  EXPECT_THAT(message([](auto& c) { c.vocabulary = 0; }), HasSubstr("model.vocabulary is 0"));
  EXPECT_THAT(message([](auto& c) { c.words = 0; }), HasSubstr("model.words is 0"));
  EXPECT_THAT(message([](auto& c) { c.channels = -1; }), HasSubstr("model.channels is -1"));
  EXPECT_THAT(message([](auto& c) { c.hidden = 0; }), HasSubstr("model.hidden is 0"));
  EXPECT_THAT(message([](auto& c) { c.first_words = -1; }), HasSubstr("model.first_words is -1"));
  EXPECT_THAT(message([](auto& c) { c.first_positions = std::nan(""); }),
              HasSubstr("model.first_positions is nan"));
  EXPECT_THAT(message([](auto& c) { c.position_spread = -1; }),
              HasSubstr("model.position_spread is -1"));
  EXPECT_THAT(message([](auto& c) { c.width = c.slots = kLargestSize; }), HasSubstr("too large"));
}

}  // namespace
}  // namespace tessera
