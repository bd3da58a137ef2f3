#include "launcher/console/status_line.h"

#include "base/format.h"
#include "launcher/console/foreground.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace dt {
namespace {

constexpr Duration redraw_every = milliseconds(100);
constexpr std::string_view erase_line = "\r\x1b[K";

size_t terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string StartProgress::line(Time now, size_t columns) const {
  if (ended() || now < shown_from_ || connected_.all == 0) return "";
  const bool starting = started_.all > 0;
  const Count& count = starting ? started_ : connected_;
  const std::string text = format("dtrain: {} of {} {}", count.done, count.all,
                                  starting ? "ranks started" : "hosts connected");
  // The last column stays free: some terminals would wrap to the next line.
  const size_t room = columns == 0 ? 80 : columns - 1;
  if (room == 0) return "";
  return text.substr(0, std::min(text.size(), room - 1)) + "…";
}

StatusLine::StatusLine(Loop& loop, Screen screen, bool wanted)
    : loop_(loop), screen_(screen), wanted_(wanted), progress_(loop.now()) {
  if (!wanted_) return;
  screen_.out.before_text([this] { erase(); });
  screen_.err.before_text([this] { erase(); });
  draw_later(StartProgress::patience);
}

StatusLine::~StatusLine() {
  end();
  screen_.out.before_text({});
  screen_.err.before_text({});
}

void StatusLine::ranks(size_t started, size_t all) {
  progress_.ranks(started, all);
  if (progress_.ended()) end();
}

void StatusLine::end() {
  progress_.end();
  timer_ = Timer();
  erase();
}

void StatusLine::draw_later(Duration delay) {
  timer_ = loop_.after(delay, [this] {
    draw();
    draw_later(redraw_every);
  });
}

void StatusLine::draw() {
  // A slow terminal would get many old lines late.
  if (!screen_.err.drained() || in_background(STDERR_FILENO)) return;
  std::string line = progress_.line(loop_.now(), terminal_columns());
  if (line == shown_) return;
  const bool instead = !std::exchange(shown_, {}).empty();
  screen_.err.write((instead ? std::string(erase_line) : "") + line, {});
  shown_ = std::move(line);
}

void StatusLine::erase() {
  if (shown_.empty()) return;
  shown_.clear();
  screen_.err.write(std::string(erase_line), {});
}

bool wants_status_line(const Sink& err, bool quiet, const Environment& environment) {
  const auto value_of = [&environment](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string terminal = value_of("TERM");
  return err.terminal() && !quiet && !terminal.empty() && terminal != "dumb" &&
         value_of("CI").empty();
}

}  // namespace dt
