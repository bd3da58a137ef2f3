#include "comm/transport/tcp_silence.h"

namespace dt {

namespace {

/// The first repetition is usual on a busy network.
constexpr uint32_t repetitions_min = 2;

}  // namespace

TcpSilence::Verdict TcpSilence::judge(const TcpProgress& progress, Duration silence_max) {
  const bool retransmits =
      progress.unacknowledged > 0 && progress.retransmissions >= repetitions_min;
  const bool probes = progress.probes >= repetitions_min;
  const bool suspect =
      (retransmits || probes) && progress.since_answer >= silence_max - tcp_judged_every;
  const bool again = suspected_;
  suspected_ = suspect;
  if (suspect && again && progress.since_answer >= silence_max) return Verdict::silent;
  const bool due = progress.unacknowledged > 0 || progress.unsent_bytes > 0 || progress.probes > 0;
  return due ? Verdict::waiting : Verdict::idle;
}

}  // namespace dt
