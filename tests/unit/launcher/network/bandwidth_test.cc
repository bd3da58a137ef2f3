#include "launcher/network/bandwidth.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <optional>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Token token = Token::random().value();

  Claim claim(int number) const { return {token, "check", 1, {"agent", number}}; }
  std::unique_ptr<BandwidthServer> server(int number, BandwidthBounds bounds) {
    return BandwidthServer::open(*loop, {Address{"127.0.0.1", 0}}, claim(number), bounds);
  }
  Result<Speed> call(const Address& address, const Claim& own, Duration patience = seconds(20)) {
    std::optional<Result<Speed>> result;
    const BandwidthClient client(*loop, {address, {"agent", 1}, Clock::now() + patience}, own,
                                 [&result](Result<Speed> done) { result = std::move(done); });
    run_until(*loop, [&result] { return result.has_value(); });
    return *result;
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "BandwidthClient measures a round trip, and a transfer up to its bytes") {
  const auto there = server(1, {.bytes_max = uint64_t{4} << 20, .time_max = seconds(20)});
  const auto speed = call(there->addresses().at(0), claim(0));
  REQUIRE_MESSAGE(speed.has_value(), speed.error().message);
  CHECK(speed->round_trip > Duration::zero());
  CHECK(speed->bytes >= uint64_t{4} << 20);
  CHECK(speed->elapsed > Duration::zero());
}

TEST_CASE_FIXTURE(Fixture, "BandwidthClient measures a transfer up to its time, several times") {
  const auto there = server(1, {.bytes_max = UINT64_MAX, .time_max = milliseconds(5)});
  for (int i = 0; i < 3; ++i) {
    const auto speed = call(there->addresses().at(0), claim(0));
    REQUIRE_MESSAGE(speed.has_value(), speed.error().message);
    CHECK(speed->bytes > 0);
    CHECK(speed->elapsed >= milliseconds(5));
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "BandwidthClient fails if nobody listens or answers, or with another token") {
  const Address nobody = [] {
    const Fd gone = listen_on({"127.0.0.1", 0}).value();
    return local_address(gone.get()).value();
  }();
  CHECK_FALSE(call(nobody, claim(0)));
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  const auto waited = call(local_address(silent.get()).value(), claim(0), milliseconds(50));
  CHECK(waited.error().code == Errc::timeout);
  const auto there = server(1, {});
  Claim stranger = claim(0);
  stranger.token = Token::random().value();
  CHECK_FALSE(call(there->addresses().at(0), stranger));
  CHECK_FALSE(call({"no address", 1}, claim(0)));
}

TEST_CASE_FIXTURE(Fixture, "BandwidthServer leaves out addresses that this machine does not have") {
  const auto there =
      BandwidthServer::open(*loop, {Address{"192.0.2.1", 0}, Address{"127.0.0.1", 0}}, claim(1));
  REQUIRE(there->addresses().size() == 1);
  CHECK(there->addresses()[0].ip == "127.0.0.1");
}

}  // namespace
}  // namespace dt
