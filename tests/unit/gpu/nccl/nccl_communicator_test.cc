#include "gpu/nccl/nccl_communicator.h"

#include "tests/unit/gpu/nccl/fake_ranks.h"
#include "tests/unit/temporary_folder.h"

#include <thread>
#include <vector>

namespace dt {
namespace {

/// Returns the sum over all ranks of (rank + 1).
Result<> sum_ranks(NcclCommunicator& communicator, float& result, const NcclWait& wait) {
  const float mine = static_cast<float>(communicator.rank() + 1);
  float sum = 0;
  auto done = communicator.run({.count = 1, .from = &mine, .to = &sum}, wait);
  result = sum;
  return done;
}

TEST_CASE("ranks join by one id, and reduce again and again") {
  const FakeRanks ranks("");
  std::vector<float> sums(4);
  const auto joined = ranks.run(4, [&](NcclCommunicator& communicator) {
    for (int i = 0; i < 20; ++i) {
      float& sum = sums[static_cast<size_t>(communicator.rank())];
      CHECK(sum_ranks(communicator, sum, FakeRanks::later()).has_value());
    }
  });
  for (const auto& result : joined)
    CHECK(result.has_value());
  CHECK(sums == std::vector<float>(4, 10));
}

TEST_CASE("a rank that finds no driver fails with NCCL's texts") {
  const FakeRanks ranks("no_driver");
  for (const auto& joined : ranks.run(2, [](NcclCommunicator&) {})) {
    REQUIRE_FALSE(joined.has_value());
    CHECK(joined.error() ==
          Error{Errc::os,
                "ncclCommInitRankConfig: unhandled cuda error (CUDA driver version is "
                "insufficient)"});
  }
}

TEST_CASE("a rank that waits for peers that never join fails at its deadline") {
  const FakeRanks ranks("hang=ncclCommInitRankConfig");
  const NcclUniqueId id = make_nccl_id(ranks.nccl).value();
  const auto joined =
      NcclCommunicator::join(ranks.nccl, {.id = id, .size = 2}, {.deadline = Clock::now()});
  REQUIRE_FALSE(joined.has_value());
  CHECK(joined.error() ==
        Error{Errc::timeout, "ncclCommInitRankConfig: NCCL has not completed it in time"});
}

TEST_CASE("a call that fails makes the communicator unusable") {
  const FakeRanks ranks("fail=ncclAllReduce:2");
  ranks.run(1, [&](NcclCommunicator& communicator) {
    float sum = 0;
    CHECK(sum_ranks(communicator, sum, FakeRanks::later()).has_value());
    const auto failed = sum_ranks(communicator, sum, FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == Error{Errc::os, "ncclAllReduce: internal error"});
    const auto later = sum_ranks(communicator, sum, FakeRanks::later());
    REQUIRE_FALSE(later.has_value());
    CHECK(later.error() ==
          Error{Errc::closed, "ncclAllReduce: the communicator has failed, and is unusable"});
  });
}

TEST_CASE("stop ends calls that NCCL would never end, at every rank, and communicators are freed") {
  const FakeRanks ranks("hang=ncclAllReduce");
  ranks.run(3, [&](NcclCommunicator& communicator) {
    std::thread notice(
        [&] { communicator.stop({Errc::peer_lost, "rank 2 on node07 was killed"}); });
    float sum = 0;
    const auto failed = sum_ranks(communicator, sum, FakeRanks::later());
    notice.join();
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == Error{Errc::peer_lost, "rank 2 on node07 was killed"});
  });
}

TEST_CASE("a call past its deadline fails, and the communicator can be aborted") {
  const FakeRanks ranks("hang=ncclAllReduce");
  ranks.run(2, [&](NcclCommunicator& communicator) {
    float sum = 0;
    const auto failed = sum_ranks(communicator, sum, {.deadline = Clock::now()});
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == Errc::timeout);
  });
}

TEST_CASE("the end of a communicator asks whether its kernels have begun, until it is over") {
  const TemporaryFolder folder;
  const std::string words = "hang=ncclAllReduce abort_waits_for=" + folder.path() + "/go";
  const FakeRanks ranks(words.c_str());
  int asked = 0;
  ranks.run(1, [&](NcclCommunicator& communicator) {
    float sum = 0;
    CHECK(!sum_ranks(communicator, sum, {.deadline = Clock::now()}));
    communicator.end_after([&] {
      if (++asked == 3) folder.write("go", "");
      return false;
    });
  });
  CHECK(asked >= 3);
}

TEST_CASE("the status of a communicator is that of its work, and a failure is final") {
  const FakeRanks ranks("fail=ncclAllReduce:1 status");
  ranks.run(1, [](NcclCommunicator& communicator) {
    CHECK(communicator.status(FakeRanks::later()).has_value());
    float sum = 0;
    CHECK_FALSE(sum_ranks(communicator, sum, FakeRanks::later()).has_value());
    CHECK(communicator.status(FakeRanks::later()).error().code == Errc::closed);
  });
}

using Kind = NcclCall::Kind;

/// Runs the call at three ranks. Inputs are 1, 2, … at the first, and 10 times as much at each
/// further one. Returns the outputs, which begin as zeros, by rank.
template <class T>
std::vector<std::vector<T>> outputs_of(NcclCall call, size_t inputs, size_t outputs) {
  const FakeRanks ranks("");
  std::vector<std::vector<T>> results(3, std::vector<T>(outputs));
  for (const auto& joined : ranks.run(3, [&](NcclCommunicator& communicator) {
         std::vector<T> mine(inputs);
         T unit = 1;
         for (int i = 0; i < communicator.rank(); ++i)
           unit = static_cast<T>(unit * 10);
         for (size_t i = 0; i < inputs; ++i)
           mine[i] = static_cast<T>(unit * static_cast<T>(i + 1));
         NcclCall own = call;
         own.from = mine.data();
         own.to = results[static_cast<size_t>(communicator.rank())].data();
         CHECK(communicator.run(own, FakeRanks::later()).has_value());
       }))
    CHECK(joined.has_value());
  return results;
}

TEST_CASE("each collective gives each rank its elements") {
  using Lists = std::vector<std::vector<int>>;
  const auto of = [](Kind kind, size_t inputs, size_t outputs) {
    return outputs_of<int>({.kind = kind, .type = NcclType::int32, .peer = 1, .count = 2}, inputs,
                           outputs);
  };
  const std::vector<int> none2(2);
  const std::vector<int> none6(6);
  CHECK(of(Kind::all_reduce, 2, 2) == Lists(3, {111, 222}));
  CHECK(of(Kind::reduce, 2, 2) == Lists{none2, {111, 222}, none2});
  CHECK(of(Kind::broadcast, 2, 2) == Lists(3, {10, 20}));
  CHECK(of(Kind::all_gather, 2, 6) == Lists(3, {1, 2, 10, 20, 100, 200}));
  CHECK(of(Kind::reduce_scatter, 6, 2) == Lists{{111, 222}, {333, 444}, {555, 666}});
  CHECK(of(Kind::all_to_all, 6, 6) ==
        Lists{{1, 2, 10, 20, 100, 200}, {3, 4, 30, 40, 300, 400}, {5, 6, 50, 60, 500, 600}});
  CHECK(of(Kind::gather, 2, 6) == Lists{none6, {1, 2, 10, 20, 100, 200}, none6});
  CHECK(of(Kind::scatter, 6, 2) == Lists{{10, 20}, {30, 40}, {50, 60}});
}

TEST_CASE("each type of NCCL is reduced as such numbers") {
  const auto sum_is = [](NcclType type, auto one, auto sum) {
    using T = decltype(one);
    // 1, 10 and 100 are exact in all these types, and their sum is.
    CHECK(outputs_of<T>({.type = type, .count = 1}, 1, 1) ==
          std::vector<std::vector<T>>(3, {static_cast<T>(sum)}));
  };
  sum_is(NcclType::int8, int8_t{}, 111);
  sum_is(NcclType::uint8, uint8_t{}, 111);
  sum_is(NcclType::int32, int32_t{}, 111);
  sum_is(NcclType::uint32, uint32_t{}, 111);
  sum_is(NcclType::int64, int64_t{}, 111);
  sum_is(NcclType::uint64, uint64_t{}, 111);
  sum_is(NcclType::float32, float{}, 111);
  sum_is(NcclType::float64, double{}, 111);
  CHECK(outputs_of<int>({.type = NcclType::int32, .op = NcclOp::max, .count = 1}, 1, 1)[0][0] ==
        100);
  CHECK(outputs_of<int>({.type = NcclType::int32, .op = NcclOp::min, .count = 1}, 1, 1)[0][0] == 1);
  CHECK(outputs_of<int>({.type = NcclType::int32, .op = NcclOp::product, .count = 1}, 1, 1)[0][0] ==
        1000);
}

/// Returns the sum of two ranks with these bits each.
template <class Bits>
Bits sum_of_bits(NcclType type, Bits bits) {
  const FakeRanks ranks("");
  Bits sum = 0;
  ranks.run(2, [&](NcclCommunicator& communicator) {
    Bits mine = 0;
    const NcclCall call = {.type = type, .count = 1, .from = &bits, .to = &mine};
    CHECK(communicator.run(call, FakeRanks::later()).has_value());
    if (communicator.rank() == 0) sum = mine;
  });
  return sum;
}

TEST_CASE("16-bit and 8-bit floats are reduced by their bits: 1.5 and 1.5 are 3") {
  CHECK(sum_of_bits<uint16_t>(NcclType::float16, 0x3e00) == 0x4200);
  CHECK(sum_of_bits<uint16_t>(NcclType::bfloat16, 0x3fc0) == 0x4040);
  CHECK(sum_of_bits<uint8_t>(NcclType::float8_e4m3, 0x3c) == 0x44);
  CHECK(sum_of_bits<uint8_t>(NcclType::float8_e5m2, 0x3e) == 0x42);
}

TEST_CASE("sends and receives between the same ranks are one list") {
  const FakeRanks ranks("");
  std::vector<int> got(4);
  ranks.run(4, [&](NcclCommunicator& communicator) {
    const int rank = communicator.rank();
    const int next = (rank + 1) % 4;
    const int last = (rank + 3) % 4;
    const NcclCall send = {
        .kind = Kind::send, .type = NcclType::int32, .peer = next, .count = 1, .from = &rank};
    const NcclCall receive = {.kind = Kind::receive,
                              .type = NcclType::int32,
                              .peer = last,
                              .count = 1,
                              .to = &got[static_cast<size_t>(rank)]};
    CHECK(communicator.run(std::vector{send, receive}, FakeRanks::later()).has_value());
  });
  CHECK(got == std::vector<int>{3, 0, 1, 2});
}

TEST_CASE("several calls begin at once, and each has its result") {
  const FakeRanks ranks("");
  ranks.run(3, [&](NcclCommunicator& communicator) {
    std::vector<float> values = {1, 2, 3};
    std::vector<NcclCall> calls;
    for (float& value : values)
      calls.push_back({.count = 1, .from = &value, .to = &value});
    CHECK(communicator.run(calls, FakeRanks::later()).has_value());
    CHECK(values == std::vector<float>{3, 6, 9});
    CHECK(communicator.run(std::vector<NcclCall>(), FakeRanks::later()).has_value());
  });
}

TEST_CASE("the root of a gather and of a scatter may have its own part in place") {
  const FakeRanks ranks("");
  ranks.run(2, [&](NcclCommunicator& communicator) {
    const bool root = communicator.rank() == 1;
    std::vector<int> all = {0, 7};
    int mine = 5;
    CHECK(communicator
              .run({.kind = Kind::gather,
                    .type = NcclType::int32,
                    .peer = 1,
                    .count = 1,
                    .from = root ? &all[1] : &mine,
                    .to = root ? all.data() : nullptr},
                   FakeRanks::later())
              .has_value());
    CHECK(all == (root ? std::vector<int>{5, 7} : std::vector<int>{0, 7}));
    CHECK(communicator
              .run({.kind = Kind::scatter,
                    .type = NcclType::int32,
                    .peer = 1,
                    .count = 1,
                    .from = root ? all.data() : nullptr,
                    .to = root ? &all[1] : &mine},
                   FakeRanks::later())
              .has_value());
    CHECK(mine == 5);
    CHECK(all[1] == 7);
  });
}

TEST_CASE("wrong calls fail without an effect: the communicator stays usable") {
  const FakeRanks ranks("");
  ranks.run(2, [&](NcclCommunicator& communicator) {
    float value = 1;
    const auto refused =
        communicator.run({.kind = Kind::broadcast, .peer = 2, .count = 1}, FakeRanks::later());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == Error{Errc::input, "broadcast: rank 2 is none of the 2 ranks"});
    CHECK(sum_ranks(communicator, value, FakeRanks::later()).has_value());
    CHECK(value == 3);
  });
}

TEST_CASE("calls that differ between ranks end with NCCL's text") {
  const FakeRanks ranks("");
  ranks.run(2, [&](NcclCommunicator& communicator) {
    std::vector<float> values(2, 1);
    const NcclCall call = {.count = communicator.rank() == 0 ? size_t{1} : size_t{2},
                           .from = values.data(),
                           .to = values.data()};
    const auto failed = communicator.run(call, FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == Error{Errc::os, "ncclAllReduce: invalid usage"});
  });
}

TEST_CASE("a failure within a list has the name of its function") {
  const FakeRanks ranks("fail=ncclSend:1");
  ranks.run(1, [&](NcclCommunicator& communicator) {
    int value = 1;
    int other = 0;
    const NcclCall call = {.kind = Kind::all_to_all,
                           .type = NcclType::int32,
                           .count = 1,
                           .from = &value,
                           .to = &other};
    const auto failed = communicator.run(call, FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == Error{Errc::os, "ncclGroupEnd: internal error"});
  });
  const FakeRanks others("fail=ncclGroupStart:1");
  others.run(1, [&](NcclCommunicator& communicator) {
    float value = 0;
    CHECK(sum_ranks(communicator, value, FakeRanks::later()).error().message ==
          "ncclGroupStart: internal error");
  });
}

TEST_CASE("a watch that fails ends a call in progress, and a join") {
  const FakeRanks ranks("hang=ncclAllReduce");
  const NcclWait wait = {.watch = [] { return Result<>(fail(Errc::peer_lost, "rank 3 died")); }};
  ranks.run(2, [&](NcclCommunicator& communicator) {
    float sum = 0;
    CHECK(sum_ranks(communicator, sum, wait).error() == Error{Errc::peer_lost, "rank 3 died"});
  });
  const auto joined =
      NcclCommunicator::join(ranks.nccl, {.id = make_nccl_id(ranks.nccl).value(), .size = 2}, wait);
  REQUIRE_FALSE(joined.has_value());
  CHECK(joined.error() == Error{Errc::peer_lost, "rank 3 died"});
}

}  // namespace
}  // namespace dt
