#include "comm/device/connection_meeting.h"

#include "tests/unit/comm/device/test_store.h"

#include <doctest/doctest.h>

#include <functional>
#include <thread>
#include <vector>

namespace dt {
namespace {

using Way = ConnectionVerdict::Way;
using MakeId = std::function<Result<NcclUniqueId>()>;

/// Returns the verdicts of all ranks on these offers.
std::vector<ConnectionVerdict> decide_on(const std::vector<ConnectionOffer>& offers,
                                         const MakeId& make_id) {
  TestStore store;
  std::vector<ConnectionVerdict> verdicts(offers.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const ConnectionMeeting meeting(
          {.rank = static_cast<int>(rank), .size = static_cast<int>(offers.size())}, store.use());
      verdicts[rank] = meeting.decide("step", offers[rank], make_id).value();
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return verdicts;
}

TEST_CASE("all ranks have rank 0's verdict and id") {
  const MakeId make_id = [] {
    NcclUniqueId id;
    id.bytes[3] = 9;
    return Result<NcclUniqueId>(id);
  };
  for (const ConnectionVerdict& verdict : decide_on(std::vector<ConnectionOffer>(3), make_id)) {
    CHECK(verdict.way == Way::nccl);
    CHECK(verdict.id.bytes[3] == 9);
  }
  std::vector<ConnectionOffer> offers(3);
  offers[2].failure = "no driver";
  for (const ConnectionVerdict& verdict : decide_on(offers, make_id)) {
    CHECK(verdict.way == Way::staged);
    CHECK(verdict.reason == "rank 2: no driver");
  }
}

TEST_CASE("an id that cannot be made is an obstacle of rank 0") {
  const MakeId make_id = [] { return Result<NcclUniqueId>(fail(Errc::os, "no socket")); };
  for (const ConnectionVerdict& verdict : decide_on(std::vector<ConnectionOffer>(2), make_id)) {
    CHECK(verdict.way == Way::staged);
    CHECK(verdict.reason == "rank 0: no socket");
  }
}

TEST_CASE("rank 0's failure is everybody's verdict, but a death is not") {
  TestStore store;
  const ConnectionMeeting rank_0({.rank = 0, .size = 2}, store.use());
  const ConnectionMeeting rank_1({.rank = 1, .size = 2}, store.use());
  REQUIRE(store.use().set("step/1", Bytes(1)).has_value());
  CHECK(rank_0.decide("step", {}).error().code == Errc::protocol);
  const ConnectionVerdict verdict = rank_1.decide("step", {}).value();
  CHECK(verdict.way == Way::failed);
  CHECK(verdict.reason == "rank 0: offer of a device is cut short");
  store.close();
  CHECK(rank_0.decide("next", {}).error() == Error{Errc::peer_lost, "rank 7 died"});
}

TEST_CASE("the ranks leave together, and know whether all have closed the others' memory") {
  for (const bool closed : {true, false}) {
    TestStore store;
    const ConnectionMeeting rank_0({.rank = 0, .size = 2}, store.use());
    const ConnectionMeeting rank_1({.rank = 1, .size = 2}, store.use());
    Result<bool> heard;
    std::thread other([&] { heard = rank_1.leave("all", closed, Clock::now() + seconds(600)); });
    CHECK(rank_0.leave("all", true, Clock::now() + seconds(600)) == closed);
    other.join();
    CHECK(heard == closed);
  }
  TestStore store;
  const ConnectionMeeting alone({.rank = 0, .size = 2}, store.use());
  CHECK(alone.leave("all", true, Clock::now()).error().code == Errc::timeout);
}

TEST_CASE("a report of a failure reaches ranks that wait elsewhere") {
  TestStore store;
  const ConnectionMeeting teller({.rank = 0, .size = 2}, store.use());
  const ConnectionMeeting listener({.rank = 1, .size = 2}, store.use());
  NcclUniqueId id;
  id.bytes[3] = 9;
  Result<> own;
  const auto check = listener.with_failures(id, [&] { return own; });
  teller.report_failure({});  // of an earlier communicator
  CHECK_FALSE(listener.has_failed(id));
  CHECK(check().has_value());
  teller.report_failure(id);
  CHECK(listener.has_failed(id));
  Result<> heard;
  while (heard)
    heard = check();
  CHECK(heard.error().code == Errc::peer_lost);
  own = fail(Errc::closed, "finalized");
  CHECK(check().error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
