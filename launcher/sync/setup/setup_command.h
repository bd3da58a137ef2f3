#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One command of a setup.
struct SetupCommand {
  std::string line;                           ///< a shell's line
  std::vector<std::string> environment = {};  ///< NAME=value
  std::string folder = {};                    ///< where it runs
  Time deadline = Time::max();                ///< the end of --setup-timeout
  int connection = -1;                        ///< as in SetupEvents
  Duration timeout = {};                      ///< its value, for the message
};

/// The last lines of an output, for a message.
class LastLines {
 public:
  static constexpr size_t lines_max = 10;

  void add(std::string_view output);
  /// Returns the lines as they can be shown, each in its last state if it was written over.
  std::vector<std::string> lines() const;

 private:
  std::string end_;
};

/// Runs the command with /bin/sh, without input, and passes on what it prints until its end. Then,
/// and when the deadline passes, `output` fails or the connection hangs up, ends all processes that
/// it has left: SIGTERM, 2 s, SIGKILL. They are all descendants of this process, which must have no
/// others.
///
/// Fails with Errc::input, the command and its last lines when it ends with another status than 0,
/// by a signal or by the deadline. Fails with the error of `output`.
Result<> run_setup_command(const SetupCommand& command,
                           const std::function<Result<>(std::string_view)>& output);

}  // namespace dt
