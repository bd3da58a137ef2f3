#include "launcher/config/allocation/allocated_hosts.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"

namespace dt {
namespace {

int usual_slots(const Host& host) {
  return host.slots != 0 ? host.slots : host.slots_without_gpus;
}

}  // namespace

Result<Host*> AllocatedHosts::find_or_add(std::string_view name) {
  if (const auto fault = host_name_fault(name))
    return fail(Errc::input, format("{} (in \"{}\")", fault->message, printable(name)));
  const auto [found, fresh] = by_name_.try_emplace(canonical_host(name), hosts_.size());
  if (!fresh) return &hosts_[found->second];
  if (hosts_.size() == hosts_max) return fail(Errc::input, format("more than {} hosts", hosts_max));
  hosts_.push_back({.name = std::string(name)});
  return &hosts_.back();
}

Result<> AllocatedHosts::count(std::string_view name) {
  Host* const host = TRY(find_or_add(name));
  if (++host->slots <= slots_max) return {};
  return fail(Errc::input,
              format("host \"{}\" is given more than {} times", host->name, slots_max));
}

Result<> AllocatedHosts::add(Host host, const std::string& list) {
  Host* const known = TRY(find_or_add(host.name));
  const auto [mention, fresh] = mentions_.try_emplace({list, canonical_host(host.name)}, host);
  if (!fresh && usual_slots(mention->second) == usual_slots(host)) return {};
  if (!fresh) {
    return fail(Errc::input, format("host \"{}\" is given with {} slots and with {}", host.name,
                                    usual_slots(mention->second), usual_slots(host)));
  }
  const int slots = usual_slots(*known) + usual_slots(host);
  if (slots > slots_max) {
    return fail(Errc::input, format("host \"{}\": slots must be 1..{}, got {} in all", host.name,
                                    slots_max, slots));
  }
  // One list without slots leaves all slots of the host to its agent.
  const bool first = known->slots == 0 && known->slots_without_gpus == 0;
  const bool given = host.slots != 0 && (first || known->slots != 0);
  known->slots = given ? slots : 0;
  known->slots_without_gpus = given ? 0 : slots;
  return {};
}

}  // namespace dt
