#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/io/loop.h"
#include "launcher/console/sink.h"

#include <cstddef>
#include <string>

namespace dt {

/// How far the start of a job has come, in words. What happened and when in, a line out.
class StartProgress {
 public:
  /// A start that takes no longer than this shows nothing.
  static constexpr Duration patience = milliseconds(150);

  explicit StartProgress(Time began) : shown_from_(began + patience) {}
  void hosts(size_t connected, size_t all) { connected_ = {connected, all}; }
  void ranks(size_t started, size_t all) { started_ = {started, all}; }
  /// There is nothing to wait for any more, or something better to look at.
  void end() { over_ = true; }
  bool over() const { return over_ || (started_.all > 0 && started_.done == started_.all); }
  /// For a terminal of so many columns (0: not known); empty when nothing shall be seen.
  std::string line(Time now, size_t columns) const;

 private:
  struct Count {
    size_t done = 0;
    size_t all = 0;
  };
  Time shown_from_;
  Count connected_;
  Count started_;
  bool over_ = false;
};

/// The line of a StartProgress at the bottom of the terminal. It is erased before anything else is
/// written there and when this dies, and it comes back until the start is over.
class StatusLine {
 public:
  /// The two streams of a terminal; the line is written to `err`.
  struct Screen {
    Sink& out;
    Sink& err;
  };
  /// Unless `wanted` nothing is ever written.
  StatusLine(Loop& loop, Screen screen, bool wanted);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

  void hosts(size_t connected, size_t all) { progress_.hosts(connected, all); }
  void ranks(size_t started, size_t all);
  void end();

 private:
  void draw_later(Duration delay);
  void draw();
  void erase();

  Loop& loop_;
  Screen screen_;
  bool wanted_;
  StartProgress progress_;
  std::string shown_;
  Timer timer_;
};

/// Whether somebody sits there and wants to see it: stderr is a terminal that can erase, no
/// --quiet, and no continuous integration that only looks like a terminal.
bool wants_status_line(const Sink& err, bool quiet, const Environment& environment);

}  // namespace dt
