#include "cmd/complete_hosts.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"

#include <algorithm>
#include <set>

namespace dt {
namespace {

struct KnownHost {
  std::string name;
  int slots = 0;  ///< 0: unknown
  std::string help;
};

std::string variable(const CompletionReaders& readers, const std::string& name) {
  const auto found = readers.environment.find(name);
  return found == readers.environment.end() ? "" : found->second;
}

/// Expands a leading ~/, because the shell passes words as typed.
std::string expanded(const std::string& path, const CompletionReaders& readers) {
  return path.starts_with("~/") ? variable(readers, "HOME") + path.substr(1) : path;
}

std::vector<KnownHost> hostfile_hosts(const std::optional<std::string>& named,
                                      const CompletionReaders& readers) {
  std::string path = named.value_or(variable(readers, "DTRAIN_OPT_HOSTFILE"));
  if (path.empty()) path = "hostfile";
  const std::optional<std::string> text = readers.text(expanded(path, readers));
  if (!text) return {};
  const Result<HostList> list = parse_hostfile(*text, path);
  if (!list) return {};
  std::vector<KnownHost> known;
  for (const Host& host : list->hosts) {
    known.push_back(
        {host.name, host.slots, host.slots > 0 ? format("{} slots, {}", host.slots, path) : path});
  }
  return known;
}

void read_ssh_config(const std::string& path, const CompletionReaders& readers,
                     std::set<std::string>& visited, std::vector<KnownHost>& known) {
  constexpr size_t files_max = 64;
  if (visited.size() >= files_max || !visited.insert(path).second) return;
  const std::optional<std::string> text = readers.text(path);
  if (!text) return;
  const SshConfig config = parse_ssh_config(*text);
  for (const std::string& name : config.hosts)
    known.push_back({name, 0, "ssh config"});
  for (const std::string& include : config.includes) {
    std::string pattern = expanded(include, readers);
    if (!pattern.starts_with('/')) pattern.insert(0, variable(readers, "HOME") + "/.ssh/");
    for (const std::string& file : readers.paths(pattern))
      read_ssh_config(file, readers, visited, known);
  }
}

std::vector<KnownHost> known_hosts(const std::optional<std::string>& hostfile,
                                   const CompletionReaders& readers) {
  std::vector<KnownHost> all = hostfile_hosts(hostfile, readers);
  all.push_back({"localhost", 0, "this machine"});
  std::set<std::string> visited;
  read_ssh_config(variable(readers, "HOME") + "/.ssh/config", readers, visited, all);
  std::set<std::string> seen;
  std::erase_if(all, [&seen](const KnownHost& host) { return !seen.insert(host.name).second; });
  return all;
}

/// Returns the offset of a list's last entry. A comma in node[1,3] is no separator.
size_t last_entry(std::string_view list) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') ++depth;
    if (list[i] == ']') --depth;
    if (list[i] == ',' && depth <= 0) begin = i + 1;
  }
  return begin;
}

/// Returns the host of an entry "user@host:slots".
std::string_view host_of_entry(std::string_view entry) {
  entry.remove_prefix(entry.find('@') + 1);  // npos + 1 is 0
  return entry.substr(0, entry.find(':'));
}

std::set<std::string_view> hosts_in(std::string_view list) {
  std::set<std::string_view> named;
  for (const std::string_view entry : split(list, ','))
    named.insert(host_of_entry(entry));
  return named;
}

}  // namespace

SshConfig parse_ssh_config(std::string_view text) {
  SshConfig config;
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    std::string plain(line);
    std::ranges::replace_if(plain, [](char c) { return c == '=' || c == '"' || c == '\r'; }, ' ');
    const std::vector<std::string_view> words = split_words(plain);
    if (words.empty()) continue;
    std::string keyword(words[0]);
    std::ranges::transform(keyword, keyword.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    for (const std::string_view word : std::span(words).subspan(1)) {
      const bool pattern = word.find_first_of("*?!") != std::string_view::npos;
      if (keyword == "host" && !pattern) config.hosts.emplace_back(word);
      if (keyword == "include") config.includes.emplace_back(word);
    }
  }
  return config;
}

Completion complete_hosts(std::string_view typed, const std::optional<std::string>& hostfile,
                          const CompletionReaders& readers) {
  const size_t begin = last_entry(typed);
  std::string_view entry = typed.substr(begin);
  Completion completion;
  if (entry.starts_with('@')) {
    completion.kind = Completion::Kind::files;
    completion.kept = typed.substr(0, begin + 1);
    return completion;
  }
  const std::vector<KnownHost> known = known_hosts(hostfile, readers);
  const size_t colon = entry.rfind(':');
  if (colon != std::string_view::npos) {
    completion.kept = typed.substr(0, begin + colon + 1);
    for (const KnownHost& host : known) {
      const std::string slots = format("{}", host.slots);
      if (host.slots > 0 && host.name == host_of_entry(entry) &&
          slots.starts_with(entry.substr(colon + 1))) {
        completion.candidates.push_back({slots, host.help});
      }
    }
    return completion;
  }
  const size_t host_at = begin + (entry.find('@') + 1);
  completion.kept = typed.substr(0, host_at);
  completion.open = true;  // ":4" or ",node2" may follow
  const std::set<std::string_view> named = hosts_in(typed.substr(0, begin));
  for (const KnownHost& host : known) {
    if (host.name.starts_with(typed.substr(host_at)) && !named.contains(host.name)) {
      completion.candidates.push_back({host.name, host.help});
    }
  }
  return completion;
}

}  // namespace dt
