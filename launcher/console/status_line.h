#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/io/loop.h"
#include "launcher/console/sink.h"

#include <cstddef>
#include <string>

namespace dt {

/// The progress of a job's start as one line of text. Pure: events and times in, a line out.
class StartProgress {
 public:
  /// A start that is over within this time shows nothing.
  static constexpr Duration patience = milliseconds(150);

  explicit StartProgress(Time began) : shown_from_(began + patience) {}
  void hosts(size_t connected, size_t all) { connected_ = {connected, all}; }
  void ranks(size_t started, size_t all) { started_ = {started, all}; }
  /// Ends the display: the start is over, or output comes.
  void end() { ended_ = true; }
  bool ended() const { return ended_ || (started_.all > 0 && started_.done == started_.all); }
  /// Returns the line for a terminal of so many columns (0: unknown); empty: show nothing.
  std::string line(Time now, size_t columns) const;

 private:
  struct Count {
    size_t done = 0;
    size_t all = 0;
  };
  Time shown_from_;
  Count connected_;
  Count started_;
  bool ended_ = false;
};

/// Shows the line of a StartProgress at the bottom of the terminal. Erases it before other text and
/// in the destructor, and draws it again until the start is over.
class StatusLine {
 public:
  /// The two streams of a terminal; the line is written to `err`.
  struct Screen {
    Sink& out;
    Sink& err;
  };
  /// Writes nothing if `wanted` is false.
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

/// True if a user can see the line and wants it. That needs no --quiet, and a terminal on stderr
/// that can erase. It also needs no CI variable: in continuous integration nobody watches the
/// terminal.
bool wants_status_line(const Sink& err, bool quiet, const Environment& environment);

}  // namespace dt
