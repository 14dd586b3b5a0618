#include "tessera/train/processes.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tests/support/environment.h"
#include "tests/support/free_port.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/in_processes.h"

namespace tessera {
namespace {

using test::Environment;
using test::in_processes;
using test::message_of;
using testing::HasSubstr;

TEST(Processes, SumAndCopy) {
  in_processes(3, [](Processes& processes) {
    const double own = static_cast<double>(processes.rank() + 1);
    const at::Tensor doubles = at::full({2, 3}, own, at::kDouble);
    const at::Tensor floats = at::full({1}, own, at::kFloat), none = at::empty({0}, at::kFloat);
    processes.sum({doubles, floats, none});
    EXPECT_TRUE(doubles.eq(6).all().item<bool>());
    EXPECT_EQ(floats.item<float>(), 6);
    const at::Tensor strided = at::full({4, 2}, own).t();
    processes.copy_from_leader({strided});
    EXPECT_TRUE(strided.eq(1).all().item<bool>());
    EXPECT_EQ(processes.from_leader({own, 2 * own}), (std::vector<double>{1, 2}));
  });
}

TEST(Processes, ManyTensorsGoInBuckets) {
  in_processes(2, [](Processes& processes) {
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < 5; ++i) tensors.push_back(at::full({1 << 20, 2}, i, at::kFloat));
    processes.sum(tensors);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(tensors[i].eq(2 * i).all().item<bool>()) << i;
  });
}

TEST(Processes, SumInBfloat16) {
  in_processes(3, [](Processes& processes) {
    const auto values = [](int64_t rank) {  // of no short binary form
      return at::sin(at::arange(1000, at::kFloat) + static_cast<double>(rank)).view({10, 100});
    };
    const at::Tensor tensor = values(processes.rank()), all = values(0) + values(1) + values(2);
    processes.start_sum(tensor, WirePrecision::kBFloat16).get();
    // Every number is rounded to 8 bits (by 2^-9 of it at most), and so is the sum.
    const double bound = (3 + 3) * std::pow(2.0, -9);
    EXPECT_LE((tensor - all).abs().max().item<double>(), bound);
    EXPECT_GT((tensor - all).abs().max().item<double>(), 0);
    const at::Tensor of_leader = tensor.clone();
    processes.copy_from_leader({of_leader});
    EXPECT_TRUE(of_leader.equal(tensor));

    const at::Tensor exact = at::arange(5, at::kDouble), none = at::empty({0});
    processes.start_sum(exact, WirePrecision::kBFloat16).get();
    processes.start_sum(none, WirePrecision::kBFloat16).get();
    EXPECT_TRUE(exact.equal(3 * at::arange(5, at::kDouble)));
  });
}

TEST(Processes, CopyFromOneToAllAndToTheLeader) {
  in_processes(3, [](Processes& processes) {
    const double own = static_cast<double>(processes.rank());
    const at::Tensor to_all = at::full({3}, own), to_leader = at::full({2, 2}, own),
                     none = at::empty({0});
    processes.copy_from(2, {to_all, none});
    EXPECT_TRUE(to_all.eq(2).all().item<bool>());
    for (const int64_t from : {0, 1}) processes.copy_to_leader(from, {to_leader, none});
    EXPECT_TRUE(to_leader.eq(processes.leads() ? 1 : own).all().item<bool>());
  });
}

TEST(Processes, NameWhatDiffers) {
  in_processes(2, [](Processes& processes) {
    processes.require_equal("version", "1");
    EXPECT_THAT(message_of<UsageError>(
                    [&] { processes.require_equal("text", processes.leads() ? "a" : "b"); }),
                HasSubstr("another text than process"));
  });
}

TEST(Processes, GiveUpWhereNobodyComes) {
  Rendezvous rendezvous{.rank = 0, .count = 2, .port = test::free_port()};
  rendezvous.limit = std::chrono::seconds(1);
  EXPECT_THAT(message_of<std::runtime_error>([&] { Processes alone(rendezvous); }),
              HasSubstr("process 0 of 2 found no others at 127.0.0.1"));
}

TEST(Processes, SayThatOneIsLost) {
  in_processes(2, [](Processes& processes) {
    if (!processes.leads()) return;  // ends
    EXPECT_THAT(message_of<ProcessLost>([&] {
                  for (int i = 0; i < 100; ++i) processes.sum({at::ones({4})});
                }),
                HasSubstr("process 0 of 2 has lost process 1: it has ended"));
  });
}

TEST(Processes, NameTheOneThatIsLost) {
  for (const int64_t lost : {0, 2})
    in_processes(3, [lost](Processes& processes) {
      if (processes.rank() == lost) return;  // ends
      const auto sum_on = [&] {
        for (int i = 0; i < 100; ++i) processes.sum({at::ones({4})});
      };
      const std::string message = message_of<ProcessLost>(sum_on);
      EXPECT_THAT(message, HasSubstr(fmt::format("has lost process {}: it", lost)));
      EXPECT_EQ(message_of<ProcessLost>(sum_on), message);
    });
}

TEST(Rendezvous, IsWhatTheLauncherSays) {
  EXPECT_EQ(Rendezvous::from_environment().count, 1);
  {
    const Environment torchrun({{"RANK", "3"},
                                {"WORLD_SIZE", "8"},
                                {"LOCAL_WORLD_SIZE", "4"},
                                {"MASTER_ADDR", "node0"},
                                {"MASTER_PORT", "1234"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                {"TORCHELASTIC_RESTART_COUNT", "2"},
                                {"TESSERA_PROCESS_SECONDS", "7"}});
    const Rendezvous found = Rendezvous::from_environment();
    EXPECT_EQ(found.rank, 3);
    EXPECT_EQ(found.count, 8);
    EXPECT_EQ(found.count_here, 4);
    EXPECT_EQ(found.host, "node0");
    EXPECT_EQ(found.port, 1234);
    EXPECT_TRUE(found.hosted);
    EXPECT_EQ(found.attempt, 2);
    EXPECT_EQ(found.limit, std::chrono::seconds(7));
  }
  {
    const Environment mpi({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "localhost"}});
    EXPECT_EQ(Rendezvous::from_environment().rank, 1);
  }
  const Environment slurm(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"MASTER_ADDR", "localhost"}});
  EXPECT_EQ(Rendezvous::from_environment().count, 2);
}

TEST(Rendezvous, KnowsTheOwnAddressOnTheWayToTheOthers) {
  EXPECT_EQ(Rendezvous{.host = "127.0.0.1"}.own_address(), "127.0.0.1");
  EXPECT_THAT(
      message_of<std::runtime_error>([] { Rendezvous{.host = "nowhere.invalid"}.own_address(); }),
      HasSubstr("nowhere.invalid is out of reach"));
}

TEST(Rendezvous, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::map<std::string, std::string>& values) {
    const Environment environment(values);
    return message_of<UsageError>([] { Rendezvous::from_environment(); });
  };
  EXPECT_THAT(refusal({{"WORLD_SIZE", "two"}}), HasSubstr("WORLD_SIZE is 'two'"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}}), HasSubstr("RANK"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}, {"RANK", "2"}}), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}, {"RANK", "1"}}), HasSubstr("MASTER_ADDR"));
}

}  // namespace
}  // namespace tessera
