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

/// Whether a host may run its cached executable as it is. A copy that did not become an agent is
/// untrusted. The host asks for the executable again, and compares contents before it runs one.
/// With `unused`, the host touches no copy, asks for the executable, and keeps none.
enum class CachedExecutable : uint8_t { trusted, untrusted, unused };

/// Returns the processor of this machine, as uname -m prints it.
std::string own_architecture();

/// Returns the command that starts an agent, for a login shell of any kind: /bin/sh with a script.
/// The script runs ~/.cache/dtrain/SHA256/dtrain, and asks for the executable first if it is not
/// there. The script also tries $XDG_RUNTIME_DIR/dtrain, then /tmp/dtrain-UID, if a folder cannot
/// hold or run the executable. Its last resort is a file in memory, which lives as long as the
/// agent.
///
/// The command contains nothing of the job or the user. It has no character that bash, dash, zsh,
/// tcsh or fish read differently between quotes.
std::string agent_command(const AgentBinary& binary,
                          CachedExecutable cached = CachedExecutable::trusted);
/// Returns the same script as one line for the input of a POSIX shell, which exits after it.
std::string agent_script(const AgentBinary& binary,
                         CachedExecutable cached = CachedExecutable::trusted);

/// Parses the output of a host before its agent sends frames:
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
    wait,    ///< read more bytes
    push,    ///< send the executable, then read more bytes
    agent,   ///< the agent runs; all later bytes are frames
    failed,  ///< see why()
  };
  struct Taken {
    Step step = Step::wait;
    size_t used = 0;
  };
  /// Takes the output of uname -m on this machine. Only hosts with the same one can run our
  /// executable.
  explicit AgentStart(std::string architecture) : architecture_(std::move(architecture)) {}

  /// Consumes bytes up to the next step. Requires that the unused ones are passed again, with more.
  Taken take(ByteSpan bytes);
  /// Returns why no agent runs, with at most ten lines of the host's output, safe to print. For
  /// Step::failed, and for a connection that ended before the magic line.
  std::string why() const;
  /// True while the host has sent nothing but empty lines.
  bool silent() const { return failure_.empty() && cannot_.empty() && noise_.empty(); }
  /// True if the host ran the copy of an earlier start. If no agent came of that, the copy is
  /// broken.
  bool ran_cached_copy() const { return ran_cached_copy_; }

 private:
  Step take_line(std::string_view line);
  Step take_push(std::string_view architecture);
  Step take_noise(std::string_view text);

  std::string architecture_;
  std::deque<std::string> noise_;    ///< the fronts of the last lines that are not of the script
  std::vector<std::string> cannot_;  ///< folders that could not be used, and why
  std::string failure_;
  size_t noise_bytes_ = 0;
  int pushes_ = 0;
  bool ran_cached_copy_ = false;
};

}  // namespace dt
