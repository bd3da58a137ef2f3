#include "launcher/agent/python_traceback.h"

#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Only the start of a longer line is kept.
constexpr size_t traceback_line_bytes_max = 4096;
constexpr std::string_view traceback_header = "Traceback (most recent call last):";
/// The first line before the traceback of a failed destructor, and of failures while the
/// interpreter ends. These do not end the program.
constexpr std::string_view ignored_opening = "Exception ignored ";

/// PyTorch puts "[rank1]: " before each line.
std::string_view without_rank(std::string_view line) {
  constexpr std::string_view opening = "[rank";
  constexpr std::string_view closing = "]: ";
  if (!line.starts_with(opening)) return line;
  const size_t end = line.find_first_not_of("0123456789", opening.size());
  if (end == opening.size() || end == std::string_view::npos ||
      !line.substr(end).starts_with(closing))
    return line;
  return line.substr(end + closing.size());
}

/// True if the line ends in the header. Text may precede it, since a progress bar does not end its
/// line. If that text ends in a blank, the header is part of a log line or a quotation.
bool is_header(std::string_view line) {
  if (line.starts_with(traceback_header)) return true;
  if (!line.ends_with(traceback_header)) return false;
  return line[line.size() - traceback_header.size() - 1] != ' ';
}

/// Returns the part of the line after the last \r, as a terminal shows it.
std::string_view after_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);
}

}  // namespace

void PythonTraceback::add(std::string_view bytes, int64_t now_ns) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos;
    if (whole && partial_.empty()) {
      add_line(piece, now_ns);
    } else {
      add_piece(piece);
      if (!whole) return;
      add_line(partial_, now_ns);
      partial_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void PythonTraceback::add_piece(std::string_view piece) {
  // Otherwise the first updates of a progress bar would leave no room for the text behind them.
  if (const size_t start = piece.rfind('\r'); start != std::string_view::npos) {
    partial_.clear();
    piece.remove_prefix(start);
  }
  partial_ += piece.substr(
      0, traceback_line_bytes_max - std::min(traceback_line_bytes_max, partial_.size()));
}

///   other ──header──▶ frames ──a line that is not indented: the message──▶ other
///     └─"Exception ignored"─▶ ignored ──header, or any other line──▶ other
void PythonTraceback::add_line(std::string_view text, int64_t now_ns) {
  const std::string_view line = without_rank(after_return(text));
  is_last_ = false;
  if (is_header(line)) {
    const bool counts = reading_ != Reading::ignored;
    reading_ = counts ? Reading::frames : Reading::other;
    if (counts) open_ = TaskError{.message = {}, .frame = {}, .when_ns = now_ns};
    return;
  }
  if (reading_ != Reading::frames) {
    reading_ = line.starts_with(ignored_opening) ? Reading::ignored : Reading::other;
    return;
  }
  if (line.starts_with(' ')) {
    if (std::string frame = python_frame(line); !frame.empty()) open_.frame = std::move(frame);
    return;
  }
  reading_ = Reading::other;
  open_.message = trim(line).substr(0, traceback_line_bytes_max);
  if (open_.message.empty()) return;
  error_ = std::exchange(open_, {});
  is_last_ = true;
}

}  // namespace dt
