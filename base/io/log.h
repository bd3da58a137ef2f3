#pragma once

#include "base/format.h"

#include <functional>
#include <string>
#include <string_view>

namespace dt {

/// Writes dtrain's own lines to one sink (stderr, or a test's string). Each starts with "dtrain: ",
/// with control characters as \xNN. Passed by reference; there is no global log.
class Log {
 public:
  enum class Level { quiet, normal, verbose };
  using Sink = std::function<void(std::string_view line)>;

  Log(Level level, Sink sink) : level_(level), sink_(std::move(sink)) {}
  /// From now on "dtrain:" is red in errors, and "warning:" is yellow.
  void use_color() { colored_ = true; }

  /// For failures: always shown.
  template <class... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) {
    line(Kind::error, dt::format(text, std::forward<Args>(args)...));
  }
  /// For problems in spite of which the job continues: not shown when quiet.
  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    if (level_ != Level::quiet) line(Kind::warning, dt::format(text, std::forward<Args>(args)...));
  }
  /// For information that the user has requested: always shown.
  template <class... Args>
  void print(fmt::format_string<Args...> text, Args&&... args) {
    line(Kind::info, dt::format(text, std::forward<Args>(args)...));
  }
  /// For progress: shown with --verbose.
  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) {
    if (level_ == Level::verbose) line(Kind::info, dt::format(text, std::forward<Args>(args)...));
  }

 private:
  enum class Kind { error, warning, info };
  /// Prefixes each line of `text`.
  void line(Kind kind, const std::string& text);

  Level level_;
  Sink sink_;
  bool colored_ = false;
};

/// The sink of real programs: one write(2) to stderr a call.
void write_to_stderr(std::string_view line);

}  // namespace dt
