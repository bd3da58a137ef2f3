#include "comm/transport/tcp_silence.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Verdict = TcpSilence::Verdict;
constexpr Duration limit = seconds(5);

/// Judges a connection for a minute whose peer has stopped to answer at the beginning. Returns the
/// seconds until it is silent; 0 when it never is.
int silent_after(TcpProgress progress) {
  TcpSilence silence;
  for (int second = 1; second <= 60; ++second) {
    progress.since_answer = seconds(second);
    if (silence.judge(progress, limit) == Verdict::silent) return second;
  }
  return 0;
}

TEST_CASE("a peer that answers neither data nor probes is silent after the limit") {
  CHECK(silent_after({.unacknowledged = 3, .retransmissions = 4}) == 5);
  CHECK(silent_after({.unsent_bytes = 1000, .probes = 3}) == 5);
}

TEST_CASE("a connection on which nothing is due is never silent") {
  CHECK(silent_after({}) == 0);
  CHECK(TcpSilence().judge({.since_answer = seconds(100)}, limit) == Verdict::idle);
}

TEST_CASE("a closed window whose probes are answered is not silence, however rare they are") {
  TcpSilence silence;
  // Probes are up to two minutes apart. Each is answered at once.
  for (int second = 0; second < 600; ++second) {
    const TcpProgress progress = {.unsent_bytes = 1000,
                                  .probes = second % 120 == 0 ? 1U : 0U,
                                  .since_answer = seconds(second % 120)};
    CHECK(silence.judge(progress, limit) == Verdict::waiting);
  }
}

TEST_CASE("one retransmission, or a look just before the answer, is not silence") {
  CHECK(silent_after({.unacknowledged = 3, .retransmissions = 1}) == 0);
  TcpSilence silence;
  const TcpProgress bad = {.unacknowledged = 1, .retransmissions = 2, .since_answer = seconds(9)};
  CHECK(silence.judge(bad, limit) == Verdict::waiting);
  CHECK(silence.judge({.unacknowledged = 1}, limit) == Verdict::waiting);
  CHECK(silence.judge(bad, limit) == Verdict::waiting);
  CHECK(silence.judge(bad, limit) == Verdict::silent);
}

}  // namespace
}  // namespace dt
