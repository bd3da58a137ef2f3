#include "launcher/ssh/failure.h"

#include <algorithm>

namespace dt {

namespace {

/// SplitMix64's mixing function: similar seeds give unrelated results.
uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

std::string_view phase_text(SshPhase phase) {
  switch (phase) {
    case SshPhase::connecting:
      return "connecting";
    case SshPhase::banner:
      return "waiting for the server's banner";
    case SshPhase::key_exchange:
      return "exchanging keys";
    case SshPhase::host_key:
      return "checking the host key";
    case SshPhase::login:
      return "logging in";
    case SshPhase::channel:
      return "opening a session";
    case SshPhase::open:
      return "running the command";
  }
  return "";
}

bool worth_retrying(const SshFailure& failure) {
  switch (failure.phase) {
    case SshPhase::connecting:
      return failure.error.code == Errc::unreachable || failure.error.code == Errc::refused ||
             failure.error.code == Errc::timeout;
    case SshPhase::banner:
    case SshPhase::key_exchange:
      return failure.error.code == Errc::closed;
    default:
      return false;
  }
}

Duration retry_delay(int attempt, uint64_t seed) {
  constexpr int doublings_max = 5;
  constexpr Duration first = milliseconds(100);
  constexpr Duration longest = seconds(2);
  const Duration whole = std::min<Duration>(
      first * (int64_t{1} << std::clamp(attempt - 1, 0, doublings_max)), longest);
  const uint64_t random = mixed(seed ^ mixed(static_cast<uint64_t>(attempt)));
  const auto half = static_cast<uint64_t>(whole.count() / 2);
  return Duration(static_cast<int64_t>(half + random % (half + 1)));
}

}  // namespace dt
