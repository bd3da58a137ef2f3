#include "cmd/bench/comparison.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_report.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// The fields of a line that a comparison needs.
struct Line {
  std::string label;
  int ranks = 0;
  std::string bytes;
  double p50_us = 0;
};

std::vector<Line> parse_lines(std::string_view text) {
  constexpr size_t fields = 12;
  std::vector<Line> lines;
  for (const std::string_view one : split(text, '\n')) {
    const std::vector<std::string_view> parts = split(one, '\t');
    if (parts.size() != fields) continue;
    lines.push_back({.label = std::string(parts[0]),
                     .ranks = static_cast<int>(parse_integer(parts[2]).value_or(0)),
                     .bytes = std::string(parts[3]),
                     .p50_us = std::strtod(std::string(parts[6]).c_str(), nullptr)});
  }
  return lines;
}

std::vector<Line> lines_of(std::string_view label, const std::vector<Line>& all) {
  std::vector<Line> lines;
  for (const Line& line : all) {
    if (line.label == label) lines.push_back(line);
  }
  return lines;
}

}  // namespace

int ranks_in_lines(std::string_view lines) {
  const std::vector<Line> parsed = parse_lines(lines);
  return parsed.empty() ? 0 : parsed.front().ranks;
}

Result<std::string> comparison_text(std::string_view lines) {
  const std::vector<Line> all = parse_lines(lines);
  const std::vector<Line> ours = lines_of(dtrain_label, all);
  const std::vector<Line> theirs = lines_of(mpi_label, all);
  if (ours.empty() || ours.size() != theirs.size()) {
    return fail(Errc::not_runnable,
                format("bench: {} sizes of dtrain and {} of Open MPI have results", ours.size(),
                       theirs.size()));
  }
  std::string text = format(
      "# p50 of single calls (us); a ratio below 1: dtrain is faster\n"
      "#{:>11}  {:>9}  {:>9}  {:>6}\n",
      "size", "dtrain", "Open MPI", "ratio");
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].ranks != theirs[i].ranks || ours[i].bytes != theirs[i].bytes) {
      return fail(Errc::not_runnable,
                  format("bench: dtrain had {} ranks and mpirun started {}; --compare needs the "
                         "mpirun of Open MPI",
                         ours[i].ranks, theirs[i].ranks));
    }
    const double ratio = theirs[i].p50_us > 0 ? ours[i].p50_us / theirs[i].p50_us : 0;
    text += format("{:>12}  {:>9}  {:>9}  {:>6}\n", ours[i].bytes, fitted(ours[i].p50_us, 9),
                   fitted(theirs[i].p50_us, 9), fitted(ratio, 6));
  }
  return text;
}

}  // namespace dt
