#include "launcher/console/line_tagger.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Returns the offset of the first \n or \r. Searches a piece at a time by memchr(3). A search for
/// \n in all bytes would scan a long progress bar again for each of its lines.
size_t find_line_end(std::string_view bytes) {
  constexpr size_t piece_bytes = 512;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    const std::string_view piece = bytes.substr(at, piece_bytes);
    const size_t newline = piece.find('\n');
    const size_t end = std::min(newline, piece.substr(0, newline).find('\r'));
    if (end != std::string_view::npos) return at + end;
  }
  return std::string_view::npos;
}

}  // namespace

void LineTagger::emit(std::string_view piece, std::string& out, std::string_view time) {
  if (!in_line_) {
    out += time;
    out += tag_;
  }
  partial_ += piece;
  in_line_ = !partial_.ends_with('\n') && !partial_.ends_with('\r');
  if (for_terminal_) {
    const size_t end = std::min(partial_.find_first_of("\r\n"), partial_.size());
    out += terminal_line(std::string_view(partial_).substr(0, end));
    out += std::string_view(partial_).substr(end);
  } else {
    out += partial_;
  }
  partial_.clear();
}

void LineTagger::add(std::string_view bytes, std::string& out, std::string_view time) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') {
      out += '\n';
      bytes.remove_prefix(1);
      after_return_ = false;
      continue;
    }
    after_return_ = false;
    const size_t room = line_bytes_max - partial_.size();
    const size_t end = find_line_end(bytes.substr(0, room + 1));
    if (end != std::string_view::npos) {
      emit(bytes.substr(0, end + 1), out, time);
      after_return_ = bytes[end] == '\r';
      bytes.remove_prefix(end + 1);
    } else if (bytes.size() > room) {
      partial_ += bytes.substr(0, room);
      bytes.remove_prefix(room);
      flush(out, time);
      if (tag_.empty()) continue;
      out += " …\n";
      in_line_ = false;
    } else {
      partial_ += bytes;
      return;
    }
  }
}

void LineTagger::end(std::string& out, std::string_view time) {
  if (!partial_.empty()) emit("", out, time);
  if (!in_line_ || tag_.empty()) return;
  out += '\n';
  in_line_ = false;
}

void LineTagger::flush(std::string& out, std::string_view time) {
  const bool as_is = tag_.empty() && !for_terminal_;
  const size_t kept = as_is ? 0 : unfinished_character(partial_);
  std::string rest = partial_.substr(partial_.size() - kept);
  partial_.resize(partial_.size() - kept);
  if (!partial_.empty()) emit("", out, time);
  partial_ = std::move(rest);
}

namespace {

/// Returns the length of the colour sequence (ESC [ digits ; … m) at the front, or 0.
size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Returns the length of the front of `text` that is safe for a terminal; 0: not its first byte.
size_t harmless_length(std::string_view text) {
  constexpr std::string_view moves = "\t\n\r";
  if (moves.find(text.front()) != std::string_view::npos) return 1;
  return std::max(colour_length(text), printable_length(text));
}

/// Returns the characters that a terminal would show after all backspaces. Each backspace moves
/// back by one character, but not beyond the first of the line.
std::string without_backspaces(std::string_view line) {
  struct Cell {
    std::string colours;  ///< colour sequences before it
    std::string_view shown;
  };
  std::vector<Cell> cells;
  std::string colours;
  size_t at = 0;
  while (!line.empty()) {
    const size_t colour = colour_length(line);
    const std::string_view part =
        line.substr(0, std::max({size_t{1}, colour, printable_length(line)}));
    line.remove_prefix(part.size());
    if (part == "\b") {
      at -= at > 0 ? 1 : 0;
    } else if (colour > 0) {
      colours += part;
    } else {
      if (at == cells.size()) cells.emplace_back();
      cells[at].colours += std::exchange(colours, {});
      cells[at++].shown = part;
    }
  }
  std::string text;
  for (const Cell& cell : cells) {
    text += cell.colours;
    text += cell.shown;
  }
  return text + colours;
}

/// Requires neutralised text, where each escape begins a colour.
bool leaves_color_open(std::string_view neutralised) {
  const size_t last = neutralised.rfind('\x1b');
  if (last == std::string_view::npos) return false;
  const std::string_view sequence = neutralised.substr(last);
  return !sequence.starts_with("\x1b[m") && !sequence.starts_with("\x1b[0m");
}

}  // namespace

std::string neutralise_escapes(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = harmless_length(text);
    if (length > 0) {
      shown += text.substr(0, length);
    } else {
      shown += format("\\x{:02X}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return shown;
}

std::string terminal_line(std::string_view line) {
  std::string shown = line.find('\b') == std::string_view::npos
                          ? neutralise_escapes(line)
                          : neutralise_escapes(without_backspaces(line));
  if (leaves_color_open(shown)) shown += "\x1b[0m";
  return shown;
}

}  // namespace dt
