// The catalogue: every study with what it shows, where, and how long it takes.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "lab/study/benchmarks/studies.h"
#include "lab/study/memo/studies.h"
#include "lab/study/memory_mosaics/studies.h"
#include "lab/study/scaling_laws/studies.h"
#include "lab/study/stm/studies.h"

namespace tessera {
namespace {

/// A paper, whose studies have ids that begin alike.
struct Paper {
  std::vector<Study>& studies;
  std::string_view id;    ///< "scaling-laws"
  std::string_view name;  ///< "Cabannes, Dohmatob, Bietti 2024"

  /// study: "fig1". run: a function of the paper's studies.h.
  void add(std::string_view study, const char* title, const char* figure, StudyCost cost,
           void (*run)(StudyContext&)) const {
    studies.push_back(
        {fmt::format("{}/{}", id, study), title, std::string(name), figure, cost, run});
  }
};

void add_memory_mosaics(std::vector<Study>& studies) {
  using namespace memory_mosaics_study;
  const Paper paper{studies, "memory-mosaics", "Zhang et al. 2024, Memory Mosaics"};
  paper.add("language-model", "A Memory Mosaic beside a GPT of the same size", "figure 7",
            {about(60), took(900)}, language_model);
  paper.add("depth", "Memory Mosaics and GPTs of several depths", "figures 7 and 13",
            {took(30), took(1535)}, depth);
  paper.add("small-budget", "Learning in few steps", "beside figure 7", {about(60), about(2600)},
            small_budget);
  paper.add("out-of-distribution", "Reading a text of another kind", "figure 8",
            {took(18), about(90)}, out_of_distribution);
  paper.add("attention", "What the last position reads", "figures 14 to 16", {took(21), took(630)},
            attention);
  paper.add("three-moons", "Three moons: one memory, or one for each", "figures 3, 4, 5, 10",
            {took(127), took(950)}, three_moons);
  paper.add("stories", "Generated stories beside BabiStories", "table 1", {about(20), about(120)},
            stories);
  paper.add("prompts", "The 24 prompts, and questions about stories", "tables 4 and 5",
            {took(84), took(990)}, prompts);
  paper.add("regbench", "Learning random languages in context", "figure 9, table 3",
            {took(216), took(2330)}, regbench);
}

void add_memo(std::vector<Study>& studies) {
  using namespace memo_study;
  const Paper paper{studies, "memo", "Zanzotto et al. 2025"};
  paper.add("single-layer", "How many pairs one correlation memory holds", "figure 3",
            {about(10), about(300)}, single_layer);
  paper.add("multi-layer", "How much text a memory of several layers recalls", "figure 4",
            {took(14), about(600)}, multi_layer);
  paper.add("nearly-orthogonal", "How many nearly orthogonal vectors a space holds", "appendix A",
            {took(1), about(60)}, nearly_orthogonal);
  paper.add("natural-text", "How much natural text each code recalls", "not in the paper",
            {about(20), about(300)}, natural_text);
  paper.add("forget", "What is left of a document that was forgotten", "not in the paper",
            {about(5), about(60)}, forget);
  Paper{studies, "memo", "Maini et al. 2024"}.add(
      "unlearning", "Unlearning: a store that forgets beside networks that unlearn",
      "not in the paper of MeMo", {about(10), took(533)}, unlearning);
}

void add_stm(std::vector<Study>& studies) {
  using namespace stm_study;
  const Paper paper{studies, "stm", "Le et al. 2020"};
  paper.add("associative-retrieval", "Which digit came with a letter", "table 1 and figure 4",
            {took(34), about(1800)}, associative_retrieval);
  paper.add("nth-farthest", "Which vector is the k-th farthest from another", "table 2",
            {took(75), took(660)}, nth_farthest);
  paper.add("copy", "Repeating random vectors", "figure 2", {took(75), about(10'000)}, copy);
  paper.add("priority-sort", "Returning random vectors by priority", "figure 2",
            {took(61), about(12'000)}, priority_sort);
  paper.add("relational-recall", "Returning the nearest or the farthest item", "figure 2",
            {took(80), about(1700)}, relational_recall);
  paper.add("convex-hull", "Naming the corners of points' convex hull", "table 3, figures 5 and 6",
            {took(26), about(16'000)}, convex_hull);
  paper.add("travelling-salesman", "Naming points in the order of their shortest tour",
            "table 3, figures 5 and 6", {took(25), about(7000)}, travelling_salesman);
  paper.add("shortest-path", "Naming the nodes of the shortest path", "table 3, figures 5 and 6",
            {took(130), about(10'000)}, shortest_path);
  paper.add("spanning-tree", "Naming the edges of the minimum spanning tree",
            "table 3, figures 5 and 6", {took(178), about(16'000)}, spanning_tree);
  paper.add("babi", "Answering questions about stories", "tables 4 and 9", {took(69), took(1084)},
            babi);
  paper.add("pong", "Learning to play Pong", "figure 3", {took(175), took(1906)}, pong);
  paper.add("cost", "What outer-product attention and the models cost", "tables 5 and 6",
            {about(20), about(120)}, cost);
  paper.add("rank", "The numerical rank of the relational distillation", "table 8",
            {about(20), took(74)}, rank);
  paper.add("recipes", "How each model is best trained on a task", "figure 2, table 3",
            {took(10), about(1500)}, recipes);
}

void add_scaling_laws(std::vector<Study>& studies) {
  using namespace scaling_laws;
  const Paper paper{studies, "scaling-laws", "Cabannes, Dohmatob, Bietti 2024"};
  paper.add("fig1", "Error of a thresholded memory against dimension and data", "figure 1",
            {took(1), about(5)}, finite_data_and_memory);
  paper.add("fig2", "How three associations interfere", "figure 2", {took(1), about(1)},
            interference_drawing);
  paper.add("fig3", "Memory schemes against dimension and data", "figure 3", {took(1), about(6)},
            schemes);
  paper.add("fig4", "Stochastic gradient descent and its approximation", "figure 4",
            {took(1), about(8)}, descent_and_approximation);
  paper.add("fig5", "Association weights that step sizes lead to", "figure 5", {took(1), about(1)},
            approximate_schemes);
  paper.add("fig6", "How one update overwrites other associations", "figure 6", {took(1), about(1)},
            interference_while_learning);
  paper.add("fig7", "Step size schedules", "figure 7", {took(1), about(3)}, schedules);
  paper.add("fig8", "Step size, batch size, Adam and layer norm", "figure 8", {took(1), about(20)},
            optimisers);
  paper.add("fig9", "Embeddings learned in two dimensions", "figure 9", {took(2), about(15)},
            learned_embeddings);
  paper.add("fig10", "Memory schemes with a thousand inputs", "figure 10", {took(1), about(5)},
            schemes_with_more_inputs);
  paper.add("fig11", "What the schemes answer with", "figure 11", {took(1), about(1)},
            stored_heatmaps);
  paper.add("fig12", "Learning W beside learning the embeddings", "figure 12", {took(1), about(10)},
            learned_embeddings_error);
  paper.add("fig13", "Descent with large batches and its approximation", "figure 13",
            {took(1), about(3)}, batch_descent_and_approximation);
  paper.add("fig14", "A memory under large steps", "figure 14", {took(1), about(1)},
            memory_under_large_steps);
  paper.add("fig15", "Sign and rescaled gradients", "figure 15", {took(1), about(3)},
            rescaled_gradients);
  paper.add("fig16", "Sign and rescaled gradients, snapshots", "figure 16", {took(1), about(1)},
            rescaled_gradient_snapshots);
  paper.add("table1", "Error rates of two schemes", "table 1", {took(1), about(1)}, error_rates);
  paper.add("theorem1", "The error between its bounds", "theorem 1, equation 9",
            {took(1), about(2)}, theorem1);
  paper.add("theorem2", "The error that no choice of weights can beat", "theorem 2",
            {took(5), about(5)}, theorem2);
  paper.add("proposition2", "Exponents without a threshold", "proposition 2", {took(12), about(97)},
            proposition2);
  paper.add("proposition3", "Exponents with the best threshold", "proposition 3",
            {took(28), about(44)}, proposition3);
  paper.add("proposition4", "Few data and a small memory", "proposition 4", {took(3), about(13)},
            proposition4);
  paper.add("proposition5", "What learned input embeddings hold", "proposition 5",
            {took(9), about(49)}, proposition5);
  paper.add("lemma1", "How many quasi-orthogonal vectors there are", "lemma 1", {took(1), about(8)},
            lemma1);
  paper.add("equation3", "Weights that depend on the output", "equation 3, footnote 2",
            {took(2), about(14)}, general_weights);
  paper.add("equation23", "A rectified lookup beside the linear memory", "equation 23",
            {took(1), about(2)}, rectified_lookup);
  paper.add("compensation", "Interference that helps", "section A.9.1, equations 54 and 55",
            {took(1), about(10)}, compensation);
  paper.add("equation26", "What samples of other laws do not show", "equation 26",
            {took(1), about(2)}, other_laws);
  paper.add("adaptive-step", "A step size that follows the memory's load", "not in the paper",
            {took(2), about(10)}, adaptive_step);
  paper.add("planner", "The capacity planner beside simulation", "not in the paper",
            {about(5), about(35)}, planner_check);
  paper.add("error-per-item", "The predicted error of a stored association beside simulation",
            "not in the paper", {took(6), took(64)}, error_per_item);
  paper.add("decoders", "Likelihood-ratio decoding of frequent outputs", "not in the paper",
            {took(2), about(2)}, decoders);
}

void add_benchmarks(std::vector<Study>& studies) {
  using namespace benchmark_study;
  Paper{studies, "benchmarks", "Arora et al. 2023"}.add(
      "mqar", "Multi-query associative recall: right answers by the size of the state",
      "beside figure 2", {about(100), about(2400)}, mqar);
  Paper{studies, "benchmarks", "Hsieh et al. 2024"}.add(
      "needle", "Needles in stories longer than the training window", "after RULER",
      {took(20), about(2400)}, needle);
  Paper{studies, "benchmarks", "Allen-Zhu & Li 2024"}.add(
      "stored-bits", "Bits that a trained network stores", "after figure 1",
      {took(12), about(1500)}, stored_bits);
}

}  // namespace

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = [] {
    std::vector<Study> all;
    add_memory_mosaics(all);
    add_memo(all);
    add_stm(all);
    add_scaling_laws(all);
    add_benchmarks(all);
    return all;
  }();
  return studies;
}

}  // namespace tessera
