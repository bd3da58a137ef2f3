// The variables and files of schedulers: any of them give usable hosts, or a readable error. The
// bytes are lines NAME=VALUE, a blank line, and the text of every file that a variable names.

#include "launcher/config/allocation/allocation.h"

#include "base/host_name.h"
#include "launcher/config/hosts/host_range.h"
#include "tests/fuzz/fuzz.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

Environment variables_of(std::string_view text) {
  std::vector<std::string> entries;
  for (const std::string_view line : split(text, '\n'))
    entries.emplace_back(line);
  return parse_environment(entries);
}

void check_host(const Host& host) {
  assert(!host_name_fault(host.name) || is_ipv6(host.name));
  assert(host.slots >= 0 && host.slots <= slots_max);
  assert(host.slots_without_gpus >= 0 && host.slots_without_gpus <= slots_max);
  assert(host.slots == 0 || host.slots_without_gpus == 0);
}

/// The short form of names stands for the same names.
void check_short_form(std::span<const Host> hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts)
    names.push_back(host.name);
  const std::string list = compress_names(names);
  std::vector<std::string> again;
  for (const std::string_view entry : split_at_commas(list)) {
    auto expanded = expand_ranges(entry, SourceLocation("list", list));
    assert(expanded);
    std::ranges::move(*expanded, std::back_inserter(again));
  }
  assert(again == names);
}

void check(const Result<std::optional<Allocation>>& found) {
  if (!found) return check_message(found.error());
  if (!*found) return;
  const std::vector<Host>& hosts = (*found)->list.hosts;
  assert(!hosts.empty() && hosts.size() <= hosts_max);
  std::ranges::for_each(hosts, check_host);
  constexpr size_t shown_max = 32;
  check_short_form(std::span(hosts).first(std::min(shown_max, hosts.size())));
  check_message({Errc::input, allocation_line((*found)->name, hosts)});
  for (const std::string& warning : (*found)->list.warnings)
    check_message({Errc::input, warning});
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  const std::string_view text = as_text(bytes);
  const size_t blank = text.find("\n\n");
  const Environment environment = variables_of(text.substr(0, blank));
  const std::string file(blank == std::string_view::npos ? "" : text.substr(blank + 2));
  const TextReader read_text = [&file](const std::string& path) -> Result<std::string> {
    if (path.starts_with("/none")) return fail(Errc::not_found, "No such file or directory");
    return file;
  };
  for (const char* choice : {"auto", "slurm", "lsf", "pbs", "sge", "mpijob"})
    check(find_allocation(choice, {environment, read_text}));
  check(find_allocation("slurm", {environment, read_text, 2}));
}

}  // namespace dt
