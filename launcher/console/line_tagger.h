#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Turns one stream of a task into the console's lines: whole lines, each behind a tag. \n, \r
/// (progress bars) and \r\n end a line. A line over line_bytes_max is cut into pieces that end in "
/// …". All bytes are accepted, and none of them can forge a tag. The time, if there is one, is
/// before the tag. Lines for a terminal pass through terminal_line.
///
/// Without a tag, bytes pass as they are. A long line comes in pieces without a mark, and no line
/// end is added. So a program that reads them gets the worker's own output.
class LineTagger {
 public:
  static constexpr size_t line_bytes_max = size_t{64} << 10;

  /// Takes the tag: "[3]<stdout>:", or empty for none.
  explicit LineTagger(std::string tag, bool for_terminal = false)
      : tag_(std::move(tag)), for_terminal_(for_terminal) {}

  /// Appends to `out` the lines that `bytes` complete.
  void add(std::string_view bytes, std::string& out, std::string_view time = {});
  /// Appends an unfinished line, with a line end if there is a tag. Call it at the end of the
  /// stream.
  void end(std::string& out, std::string_view time = {});
  /// Appends the unfinished line so far, without a line end, for a prompt. Later bytes continue
  /// it. Where there is a tag or a terminal, an unfinished character waits for its last byte.
  void flush(std::string& out, std::string_view time = {});
  /// True when bytes wait for the end of their line.
  bool waits() const { return !partial_.empty(); }
  /// True when the text returned so far ends within a line. A \r ends a line of a terminal only:
  /// elsewhere, text of others would stand behind it.
  bool in_line() const { return in_line_ || (after_return_ && !for_terminal_); }
  /// Other text has begun a new line: the rest of this one gets a tag of its own.
  void interrupted() {
    in_line_ = false;
    if (!for_terminal_) after_return_ = false;
  }

 private:
  void emit(std::string_view piece, std::string& out, std::string_view time);

  std::string tag_;
  bool for_terminal_;
  std::string partial_;
  bool in_line_ = false;
  bool after_return_ = false;  ///< the last line ended in \r; a \n that follows belongs to it
};

/// Makes text safe for a terminal: control characters, and escape sequences that could do more than
/// colour text, become \xNN. Tab, newline, carriage return and SGR colours pass. Only whole
/// sequences pass, so callers must not cut one: they pass whole lines.
std::string neutralise_escapes(std::string_view text);
/// Returns a task's line, without its line end, in a form that is safe for a terminal. Escapes are
/// neutralised. Backspaces are applied here, since a terminal would apply them to the tag, too.
/// Colours end with the line.
std::string terminal_line(std::string_view line);

}  // namespace dt
