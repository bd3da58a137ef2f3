#include "launcher/connect/host_failures.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace dt {
namespace {

/// The variable of the loop that joins commands.
constexpr std::string_view variable = "$HOST";

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Puts the variable wherever the host's whole name stands, and omits quotes around it.
std::string without_host(std::string text, const std::string& host) {
  for (size_t at = text.find(host); at != std::string::npos; at = text.find(host, at)) {
    const size_t end = at + host.size();
    const bool whole = (at == 0 || !is_of_a_name(text[at - 1])) &&
                       (end == text.size() || !is_of_a_name(text[end]));
    if (whole) text.replace(at, host.size(), variable);
    at += whole ? variable.size() : 1;
  }
  replace_all(text, format("'{}'", variable), variable);
  return text;
}

/// A text that hosts share, apart from their names.
struct Shared {
  std::string text;   ///< with the variable
  std::string first;  ///< as the first host has it
  std::vector<std::string> hosts = {};
};

Shared& share(std::vector<Shared>& all, const std::string& text, const std::string& host) {
  const std::string common = without_host(text, host);
  auto same = std::ranges::find(all, common, &Shared::text);
  if (same == all.end()) same = all.insert(same, {.text = common, .first = text});
  same->hosts.push_back(host);
  return *same;
}

/// Returns a line for several hosts, with a loop in the place of a command.
std::string line_of_all(std::string line, const std::vector<std::string>& hosts) {
  size_t command = 0;
  for (const std::string_view before : {": ", "then "}) {
    const size_t at = line.rfind(format("{}ssh", before));
    if (at != std::string::npos) command = std::max(command, at + before.size());
  }
  if (command == 0 || line.find(variable, command) == std::string::npos) {
    replace_all(line, variable, "HOST");
    return line;
  }
  std::string front = line.substr(0, command);
  replace_all(front, variable, "HOST");
  std::vector<std::string> names(hosts.size());
  std::ranges::transform(hosts, names.begin(), shell_quote);
  return format("{}for HOST in {}; do {}; done", front, join(names, " "), line.substr(command));
}

std::string text_of(const Shared& shared) {
  if (shared.hosts.size() == 1) return shared.first;
  std::vector<std::string> lines;
  for (const std::string_view line : split(shared.text, '\n'))
    lines.push_back(line_of_all(std::string(line), shared.hosts));
  return join(lines, "\n");
}

}  // namespace

std::string joined_failures(std::span<const HostFailure> failures) {
  std::vector<Shared> advices;
  std::vector<std::vector<Shared>> heads;  // of each advice, which may be empty
  for (const auto& [host, why] : failures) {
    const size_t end = std::min(why.find('\n'), why.size());
    const Shared& advice = share(advices, why.substr(end), host);
    heads.resize(advices.size());
    share(heads[static_cast<size_t>(&advice - advices.data())], why.substr(0, end), host);
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < advices.size(); ++i) {
    for (const Shared& head : heads[i])
      lines.push_back(format("{}: {}", join(head.hosts, ", "), text_of(head)));
    lines.back() += text_of(advices[i]);
  }
  return join(lines, "\n");
}

std::string suspension_text(Duration away, Duration lease) {
  const Duration rounded = away < seconds(10) ? std::chrono::round<milliseconds>(away / 100) * 100
                                              : Duration(std::chrono::round<seconds>(away));
  return format("dtrain was suspended for {}, longer than the lease of {} (--dead-after)",
                duration_text(rounded), duration_text(lease));
}

std::string no_answer(std::string_view what, const std::vector<std::string>& hosts) {
  return format("no {} from the agent{}{} before the start deadline; see --start-timeout", what,
                hosts.empty() ? "" : " on ", join(hosts, ", "));
}

}  // namespace dt
