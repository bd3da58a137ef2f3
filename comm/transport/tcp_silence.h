#pragma once

#include "base/clock.h"

#include <cstdint>

namespace dt {

/// The state of a connection's sending direction, from TCP_INFO.
struct TcpProgress {
  uint32_t unacknowledged = 0;   ///< segments under way
  uint32_t unsent_bytes = 0;     ///< wait for the peer's window, or for ours
  uint32_t retransmissions = 0;  ///< of the first segment under way, without an answer
  uint32_t probes = 0;           ///< of a closed window, without an answer
  Duration since_answer = {};    ///< since anything came from the peer's system
};

/// Distinguishes a peer whose system is silent from one that is stopped and reads no data. The
/// system of a stopped peer acknowledges what arrives and answers probes of its closed window.
/// TCP_USER_TIMEOUT ends both connections.
class TcpSilence {
 public:
  enum class Verdict : uint8_t { idle, waiting, silent };
  /// Called about once a second. Returns `silent` when two conditions hold. The peer has answered
  /// nothing for `silence_max`. Repeated requests were without an answer at this call and the last
  /// one. Returns `idle` when no answer is due.
  Verdict judge(const TcpProgress& progress, Duration silence_max);

 private:
  bool suspected_ = false;
};

/// How often a connection with data under way is judged.
inline constexpr Duration tcp_judged_every = seconds(1);

}  // namespace dt
