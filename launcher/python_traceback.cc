#include "launcher/python_traceback.h"

#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Of longer lines the start says enough.
constexpr size_t line_bytes_max = 4096;
constexpr std::string_view header = "Traceback (most recent call last):";
/// Of what goes wrong in destructors and while the interpreter ends; the program does not end of
/// it.
constexpr std::string_view ignored = "Exception ignored ";

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

}  // namespace

void PythonTraceback::add(std::string_view bytes, int64_t now_ns) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos;
    if (whole && partial_.empty()) {
      add_line(piece, now_ns);
    } else {
      partial_ += piece.substr(0, line_bytes_max - std::min(line_bytes_max, partial_.size()));
      if (!whole) return;
      add_line(partial_, now_ns);
      partial_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

///   other ──header──▶ frames ──a line that is not indented: the message──▶ other
///     └─"Exception ignored"─▶ ignored ──header, or any other line──▶ other
void PythonTraceback::add_line(std::string_view text, int64_t now_ns) {
  const std::string_view line = without_rank(text);
  is_last_ = false;
  if (line.starts_with(header)) {
    const bool counts = reading_ != Reading::ignored;
    reading_ = counts ? Reading::frames : Reading::other;
    if (counts) open_ = TaskError{.message = {}, .frame = {}, .when_ns = now_ns};
    return;
  }
  if (reading_ != Reading::frames) {
    reading_ = line.starts_with(ignored) ? Reading::ignored : Reading::other;
    return;
  }
  if (line.starts_with(' ')) {
    if (std::string frame = python_frame(line); !frame.empty()) open_.frame = std::move(frame);
    return;
  }
  reading_ = Reading::other;
  open_.message = trim(line).substr(0, line_bytes_max);
  if (open_.message.empty()) return;
  error_ = std::exchange(open_, {});
  is_last_ = true;
}

}  // namespace dt
