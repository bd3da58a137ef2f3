#include "base/io/log.h"

#include "base/bytes.h"
#include "base/color.h"
#include "base/io/fd.h"
#include "base/text.h"

#include <unistd.h>

#include <utility>

namespace dt {

namespace {

/// The length of \xNN. Where each byte takes this length, printable() cuts no line.
constexpr size_t printed_bytes_a_byte = 4;

}  // namespace

void Log::line(Kind kind, const std::string& text) {
  const bool error = kind == Kind::error;
  const std::string name = colored_ && error ? painted("dtrain:", "31") : "dtrain:";
  std::string mark;
  if (kind == Kind::warning) mark = (colored_ ? painted("warning:", "33") : "warning:") + " ";
  std::string all;
  for (const std::string_view part : split(text, '\n')) {
    all += name;
    all += ' ';
    all += std::exchange(mark, {});
    all += printable(part, part.size() * printed_bytes_a_byte);
    all += '\n';
  }
  sink_(all);
}

void write_to_stderr(std::string_view line) {
  // A failure of stderr itself cannot be reported.
  if (const auto written = write_all(STDERR_FILENO, as_bytes(line)); !written) return;
}

}  // namespace dt
