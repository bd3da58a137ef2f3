#include "launcher/config/words/macros.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/words/macro_words.h"
#include "rendezvous/cluster/cluster_text.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace dt {

namespace {

constexpr std::string_view hosts_prefix = "hosts:";
constexpr std::string_view code_dir_macro = "code_dir";
constexpr uint64_t path_bytes_max = 4096;

using Values = const MacroValues&;

/// Returns host and port of the task itself; empty for a task that is not in the cluster.
std::pair<std::string, std::string> own_address(Values values) {
  const std::string* address = values.cluster.address_of(values.task);
  if (address == nullptr) return {};
  const size_t colon = address->rfind(':');
  return {address->substr(0, colon), address->substr(colon + 1)};
}

std::string spec_text(const ClusterSpec& cluster) {
  ClusterSpec shown = cluster;
  shown.jobs.erase(std::string(evaluator_role));
  return cluster_text(shown);
}

/// Returns the port; unknown_port for 0, before the start of the job decides it.
std::string port_text(uint16_t port) {
  return port == 0 ? std::string(unknown_port) : format("{}", port);
}

enum class Need : uint8_t { nothing, rank, cluster };

struct Macro {
  std::string_view name;
  std::string (*value)(Values);
  Need need = Need::nothing;
};

constexpr Macro known_macros[] = {
    {"cluster_spec", [](Values values) { return spec_text(values.cluster); }, Need::cluster},
    {"role", [](Values values) { return values.task.role; }},
    {"index", [](Values values) { return format("{}", values.task.index); }},
    {"rank", [](Values values) { return format("{}", *values.rank); }, Need::rank},
    {"local_rank", [](Values values) { return format("{}", values.local_rank); }, Need::rank},
    {"world_size", [](Values values) { return format("{}", values.job.world_size); }},
    {"host", [](Values values) { return own_address(values).first; }, Need::cluster},
    {"port", [](Values values) { return own_address(values).second; }, Need::cluster},
    {"master_addr", [](Values values) { return values.job.master_address; }},
    {"master_port", [](Values values) { return port_text(values.job.master_port); }},
    {"job_id", [](Values values) { return values.job.job_id; }},
    {code_dir_macro, [](Values values) { return values.job.code_dir; }},
};

const Macro* find_macro(std::string_view name) {
  const auto* const found = std::ranges::find(known_macros, name, &Macro::name);
  return found == std::end(known_macros) ? nullptr : found;
}

/// Calls `literal` for each part of the text without a {word}, and `braced` for each such word, in
/// order. Words consist of letters, digits and -_: as macros do. A shell's ${word} is literal.
void scan(std::string_view text, const std::function<void(std::string_view)>& literal,
          const std::function<void(std::string_view)>& braced) {
  constexpr std::string_view word_characters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.";
  size_t from = 0;
  for (size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const size_t close = text.find_first_not_of(word_characters, open + 1);
    if (close == std::string_view::npos || text[close] != '}' || close == open + 1) continue;
    if (open > 0 && text[open - 1] == '$') continue;
    literal(text.substr(from, open - from));
    braced(text.substr(open + 1, close - open - 1));
    from = close + 1;
  }
  literal(text.substr(from));
}

std::string hosts_of(std::string_view role, const ClusterSpec& cluster) {
  const auto job = cluster.jobs.find(std::string(role));
  assert(job != cluster.jobs.end());
  std::vector<std::string> addresses;
  for (const auto& [index, address] : job->second)
    addresses.push_back(address);
  return join(addresses, ",");
}

/// True when the words differ by one inserted, removed or changed letter, or by a swap of
/// neighbours.
bool one_edit_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  const std::string_view rest_a(in_a, a.end());
  const std::string_view rest_b(in_b, b.end());
  if (rest_a.empty() || rest_b.empty()) return rest_b.size() <= 1;
  if (a.size() != b.size()) return rest_a == rest_b.substr(1);
  if (rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a.size() > 1 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] &&
         rest_a.substr(2) == rest_b.substr(2);
}

}  // namespace

std::string expand_macros(std::string_view text, const MacroValues& values) {
  std::string expanded;
  const auto literal = [&](std::string_view part) { expanded += part; };
  scan(text, literal, [&](std::string_view word) {
    if (const Macro* macro = find_macro(word)) {
      expanded += macro->value(values);
    } else if (word.starts_with(hosts_prefix)) {
      expanded += hosts_of(word.substr(hosts_prefix.size()), values.cluster);
    } else {
      expanded += format("{{{}}}", word);
    }
  });
  return expanded;
}

MacroNeed macro_need(std::string_view text) {
  MacroNeed need;
  const auto literal = [](std::string_view) {};
  scan(text, literal, [&](std::string_view word) {
    const Macro* macro = find_macro(word);
    const bool hosts = word.starts_with(hosts_prefix);
    need.any |= hosts || macro != nullptr;
    need.code |= word == code_dir_macro;
    need.lists |= hosts || word == "cluster_spec";
    need.cluster |= hosts || (macro != nullptr && macro->need == Need::cluster);
  });
  return need;
}

uint64_t expanded_bytes_max(std::string_view text, const std::map<std::string, int>& tasks_of,
                            uint64_t address_bytes_max) {
  const uint64_t name_bytes_max = std::max(uint64_t{256}, address_bytes_max);
  uint64_t bytes = 0;
  const auto literal = [&](std::string_view part) { bytes += part.size(); };
  scan(text, literal, [&](std::string_view word) {
    bytes += word.size() + (word == code_dir_macro ? path_bytes_max : name_bytes_max);
    for (const auto& [role, tasks] : tasks_of) {
      if (word != "cluster_spec" && word != format("{}{}", hosts_prefix, role)) continue;
      bytes += role.size() + static_cast<uint64_t>(tasks) * (address_bytes_max + sizeof ",");
    }
  });
  return bytes;
}

Result<> check_macros(std::string_view text, std::string_view role, bool ranked,
                      const std::set<std::string>& roles) {
  std::string fault;
  const auto literal = [](std::string_view) {};
  scan(text, literal, [&](std::string_view word) {
    const Macro* macro = find_macro(word);
    if (macro != nullptr && macro->need == Need::rank && !ranked) {
      fault = format("{{{}}}: tasks of role {} have no rank; {{index}} they have", word, role);
    }
    if (!word.starts_with(hosts_prefix)) return;
    const std::string wanted(word.substr(hosts_prefix.size()));
    if (!roles.contains(wanted)) {
      fault = format("{{{}}}: the job has no role {}; it has {}", word, printable(wanted),
                     join(std::vector(roles.begin(), roles.end()), ", "));
    }
  });
  if (!fault.empty()) return fail(Errc::input, std::move(fault));
  return {};
}

std::vector<std::string> misspelt_macros(std::span<const std::string> texts) {
  std::vector<std::string> found;
  const auto literal = [](std::string_view) {};
  const auto braced = [&](std::string_view word) {
    if (find_macro(word) != nullptr || word.starts_with(hosts_prefix)) return;
    for (const Macro& macro : known_macros) {
      if (!one_edit_apart(word, macro.name)) continue;
      std::string message = format("{{{}}} ({{{}}}?)", word, macro.name);
      if (std::ranges::find(found, message) == found.end()) found.push_back(std::move(message));
      return;
    }
  };
  for (const std::string& text : texts)
    scan(text, literal, braced);
  return found;
}

}  // namespace dt
