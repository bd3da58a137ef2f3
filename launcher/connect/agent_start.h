#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/agent/agent_binary.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Whether a copy that a host has kept may be run as it is. One that did not become an agent is
/// looked at more closely, and sent again.
enum class CachedExecutable : uint8_t { trust, distrust };

/// What a login shell of any kind is asked to run: a POSIX shell with a script that starts
/// ~/.cache/dtrain/SHA256/dtrain agent, and asks for the executable first where it is not there.
/// Where that folder cannot hold or run it: $XDG_RUNTIME_DIR/dtrain, /tmp/dtrain-UID, and last a
/// file in memory, which is gone afterwards. Nothing of the job or the user is in it, and no
/// character that bash, dash, zsh, tcsh or fish read differently between quotes.
std::string agent_command(const AgentBinary& binary,
                          CachedExecutable kept = CachedExecutable::trust);
/// The same as a line for a POSIX shell that reads from its input, and ends there.
std::string agent_script(const AgentBinary& binary,
                         CachedExecutable kept = CachedExecutable::trust);

/// What comes from a host before its agent speaks frames, as it came:
///
///   noise of login shells ─┬─▶ "dtrain-push ARCH" ─▶ (we send the executable) ─┐
///          ▲               │                                                   │
///          ├───────────────┼──◀── "dtrain-cannot PLACE: WHY" ◀─────────────────┤
///          │               └─▶ "dtrain-run FILE" ◀─────────────────────────────┤
///          └─(it is broken)──────────┴─▶ the agent's magic line ◀──────────────┘
///
/// Pure: bytes in, what to do out.
class AgentStart {
 public:
  enum class Step : uint8_t {
    wait,    ///< for more bytes
    push,    ///< send the executable, then go on
    agent,   ///< the rest are frames
    failed,  ///< see why()
  };
  struct Taken {
    Step step = Step::wait;
    size_t used = 0;
  };
  /// `architecture`: what uname -m says here; another one cannot run what we would send.
  explicit AgentStart(std::string architecture) : architecture_(std::move(architecture)) {}

  Taken take(ByteSpan bytes);
  /// For `failed`, and for a host whose connection ended before its agent spoke: what it said
  /// instead, in at most ten lines that are safe to print.
  std::string why() const;
  /// It has said nothing at all.
  bool silent() const { return failure_.empty() && cannot_.empty() && noise_.empty(); }
  /// What the host has kept of an earlier start was run; if that came to nothing, it is broken.
  bool ran_kept_copy() const { return ran_kept_copy_; }

 private:
  Step take_line(std::string_view line);
  Step take_push(std::string_view architecture);
  Step take_noise(std::string_view text);

  std::string architecture_;
  std::deque<std::string> noise_;    ///< the fronts of the last lines that were not ours
  std::vector<std::string> cannot_;  ///< places that could not be used, and why
  std::string failure_;
  size_t noise_bytes_ = 0;
  int pushes_ = 0;
  bool ran_kept_copy_ = false;
};

}  // namespace dt
