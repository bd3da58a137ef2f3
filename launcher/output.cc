#include "launcher/output.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>

namespace dt {

namespace {

/// Where the first line ends: at its \n, or at a \r before that. By memchr(3) and a piece at a
/// time, since a long progress bar has no \n at all.
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
  out += time;
  out += tag_;
  out += partial_;
  out += piece;
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
      emit(bytes.substr(0, room), out, time);
      out += " …\n";
      bytes.remove_prefix(room);
    } else {
      partial_ += bytes;
      return;
    }
  }
}

void LineTagger::end(std::string& out, std::string_view time) {
  if (!partial_.empty()) emit("\n", out, time);
}

void Tail::add(std::string_view bytes) {
  if (bytes.size() > bytes_max) bytes.remove_prefix(bytes.size() - bytes_max);
  const size_t all = kept_.size() + bytes.size();
  if (all > bytes_max) kept_.erase(0, all - bytes_max);
  kept_ += bytes;
}

std::vector<std::string> Tail::lines() const {
  std::vector<std::string> all;
  for (const std::string_view part : split(kept_, '\n')) {
    // Of a progress bar only its last state counts.
    std::string_view line = part.ends_with('\r') ? part.substr(0, part.size() - 1) : part;
    line = line.substr(line.rfind('\r') == std::string_view::npos ? 0 : line.rfind('\r') + 1);
    if (!trim(line).empty()) all.push_back(printable(line, 200));
  }
  if (all.size() > lines_max) all.erase(all.begin(), all.end() - lines_max);
  return all;
}

namespace {

/// Length of the colour sequence (ESC [ digits ; … m) at the front, or 0.
size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Length of what may go to a terminal as it is, at the front of `text`; 0: its first byte may not.
size_t harmless_length(std::string_view text) {
  constexpr std::string_view moves = "\t\n\r\b";
  if (moves.find(text.front()) != std::string_view::npos) return 1;
  return std::max(colour_length(text), printable_length(text));
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

}  // namespace dt
