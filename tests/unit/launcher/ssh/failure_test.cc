#include "launcher/ssh/failure.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

TEST_CASE("only what happens before the server has proved itself is worth another try") {
  struct Case {
    SshPhase phase;
    Errc code;
    bool again;
  };
  const Case cases[] = {
      {SshPhase::connecting, Errc::unreachable, true},
      {SshPhase::connecting, Errc::timeout, true},
      {SshPhase::connecting, Errc::refused, true},
      {SshPhase::connecting, Errc::not_found, false},
      {SshPhase::banner, Errc::closed, true},
      {SshPhase::banner, Errc::protocol, false},
      {SshPhase::key_exchange, Errc::closed, true},
      {SshPhase::key_exchange, Errc::unsupported, false},
      {SshPhase::host_key, Errc::refused, false},
      {SshPhase::login, Errc::refused, false},
      {SshPhase::login, Errc::closed, false},
      {SshPhase::channel, Errc::refused, false},
      {SshPhase::open, Errc::closed, false},
  };
  for (const Case& row : cases) {
    CAPTURE(phase_text(row.phase));
    CHECK(worth_retrying({row.phase, {row.code, ""}}) == row.again);
  }
}

TEST_CASE("delays double from 100 ms to 2 s, less up to a half, the same for the same seed") {
  const int64_t whole_ms[] = {100, 200, 400, 800, 1600, 2000, 2000};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (int attempt = 1; attempt <= 7; ++attempt) {
      const Duration delay = retry_delay(attempt, seed);
      CHECK(delay >= milliseconds(whole_ms[attempt - 1]) / 2);
      CHECK(delay <= milliseconds(whole_ms[attempt - 1]));
      CHECK(delay == retry_delay(attempt, seed));
    }
  }
  CHECK(retry_delay(1'000'000, 1) <= seconds(2));
}

TEST_CASE("hosts with similar seeds do not retry together") {
  std::set<int64_t> delays_ms;
  for (uint64_t seed = 0; seed < 64; ++seed)
    delays_ms.insert(retry_delay(3, seed) / milliseconds(10));
  CHECK(delays_ms.size() > 15);  // of 21 pieces of 10 ms
}

}  // namespace
}  // namespace dt
