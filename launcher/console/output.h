#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// ConnectLimiter one stream of a task into what the console shows: whole lines, each with its tag.
/// The tag starts anew after \n and after \r (progress bars); \r\n is one line end. A line over
/// line_bytes_max is cut into pieces that end in " …". Any bytes go; no tag can be forged. A time,
/// if there is one, stands before the tag. For a terminal each line passes through terminal_line.
class LineTagger {
 public:
  static constexpr size_t line_bytes_max = size_t{64} << 10;

  /// "[3]<stdout>:", or empty for none.
  explicit LineTagger(std::string tag, bool for_terminal = false)
      : tag_(std::move(tag)), for_terminal_(for_terminal) {}

  /// Appends to `out` the lines that `bytes` complete.
  void add(std::string_view bytes, std::string& out, std::string_view time = {});
  /// The stream is over: what is left becomes a line.
  void end(std::string& out, std::string_view time = {});

 private:
  void emit(std::string_view piece, std::string& out, std::string_view time);

  std::string tag_;
  bool for_terminal_;
  std::string partial_;
  bool after_return_ = false;  ///< the last line ended in \r: a \n that follows belongs to it
};

/// Bytes of a task's output that reached the launcher, and those of them that did not reach every
/// place where they belong (a disk was full, a reader went away).
struct OutputCount {
  uint64_t stdout_bytes = 0;
  uint64_t stderr_bytes = 0;
  uint64_t lost_bytes = 0;
  bool operator==(const OutputCount&) const = default;
};

/// The last lines of a stream, for the report of a failure.
class Tail {
 public:
  static constexpr size_t bytes_max = 4096;
  static constexpr size_t lines_max = 8;

  void add(std::string_view bytes);
  /// At most lines_max lines, printable, without line ends.
  std::vector<std::string> lines() const;

 private:
  std::string kept_;
};

/// For terminals: control characters and escape sequences that could do more than colour text are
/// shown as \xNN. Tab, newline, carriage return and SGR colours pass. A sequence that is cut at the
/// end of `text` is treated as harmless only when it is whole, so callers pass whole lines.
std::string neutralise_escapes(std::string_view text);
/// A worker's line, without its end, in the form that a terminal may receive. Escapes are
/// neutralised. Backspaces are carried out here, since a terminal would also go back into the tag.
/// Colours end with the line.
std::string terminal_line(std::string_view line);

}  // namespace dt
