#include "cmd/bench/explain.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_options.h"

#include <vector>

namespace dt {

namespace {

std::string padded(std::string_view text, size_t width) {
  std::string line(text);
  line.resize(std::max(width, line.size()), ' ');
  return line;
}

std::string row(std::string_view operation, std::string_view bytes, std::string_view algorithm) {
  return format("{} {} {}\n", padded(operation, 18), padded(bytes, 22), algorithm);
}

}  // namespace

std::string explain_text(std::string_view algorithms, ExplainedJob job) {
  std::string text =
      format("# libdtrain's algorithms for {} rank(s) on {} host(s)\n", job.ranks, job.hosts);
  text += row("# operation", "bytes of count", "algorithm");
  for (const std::string_view part : split(algorithms, ',')) {
    const size_t equals = part.find('=');
    const std::string_view operation = part.substr(0, equals);
    const std::vector<std::string_view> words = split(part.substr(equals + 1), ':');
    std::string above = "0";
    for (size_t i = 0; i < words.size(); i += 2) {
      const bool last = i + 1 >= words.size();
      if (last) {
        text += row(operation, words.size() == 1 ? "any" : format("above {}", above), words[i]);
      } else {
        above = format("{}", parse_size(words[i + 1]).value_or(0));
        text += row(operation, format("up to {}", above), words[i]);
      }
    }
  }
  return text;
}

}  // namespace dt
