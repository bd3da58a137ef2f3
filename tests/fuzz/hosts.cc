// -H lists and hostfiles: any text parses to a list of usable hosts, or to a readable error.

#include "launcher/config/hosts/hosts.h"

#include "tests/fuzz/fuzz.h"

namespace dt {
namespace {

void check_host(const Host& host) {
  assert(!host.name.empty());
  assert(!host.name.starts_with('-') && !host.user.starts_with('-'));
  assert(host.slots >= 0 && host.slots <= slots_max);
  static_cast<void>(is_local(host, {"here", "10.0.0.1"}));
  assert(host.max_slots == 0 || host.max_slots >= host.slots);
  // Messages show hosts in a form that -H accepts; only max_slots gets lost.
  const Result<HostList> again = parse_host_list(host.text(), "-H");
  Host shown = host;
  shown.max_slots = 0;
  shown.counted = false;
  assert(again && again->hosts == std::vector<Host>{shown});
}

void check(const Result<HostList>& list) {
  if (!list) return check_message(list.error());
  assert(!list->hosts.empty() && list->hosts.size() <= hosts_max);
  // A short range makes thousands of hosts: checking the first and the last of them is enough.
  constexpr size_t checked_max = 32;
  const std::span<const Host> hosts = list->hosts;
  const size_t checked = std::min(checked_max, hosts.size());
  std::ranges::for_each(hosts.first(checked), check_host);
  std::ranges::for_each(hosts.last(checked), check_host);
  for (const std::string& warning : list->warnings)
    check_message({Errc::input, warning});
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  check(parse_host_list(as_text(bytes), "-H", [](const std::string& path) -> Result<std::string> {
    if (path.starts_with('/')) return fail(Errc::not_found, "No such file or directory");
    return std::string("a slots=2\nnode[1-2]:2\n");
  }));
  check(parse_hostfile(as_text(bytes), "hosts"));
}

}  // namespace dt
