#include "launcher/config/hosts/host_merger.h"

#include "base/format.h"
#include "base/host_name.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace dt {
namespace {

/// Limit with repeats: a small file with ranges could name too many hosts otherwise.
constexpr size_t mentions_max = size_t{1} << 20;

}  // namespace

Result<> merge_host(Host& into, const Host& host) {
  if (into.user != host.user) {
    return fail(
        Errc::input,
        format("host \"{}\" is given with user \"{}\" and with user \"{}\"; use one of them",
               into.name, into.user, host.user));
  }
  if ((into.slots == 0) != (host.slots == 0)) {
    return fail(Errc::input,
                format("host \"{0}\" is given twice, but not always with slots; write {0}:N once",
                       into.name));
  }
  if ((into.max_slots == 0) != (host.max_slots == 0)) {
    return fail(Errc::input,
                format("host \"{}\" is given twice, but not always with max_slots; write it once",
                       into.name));
  }
  into.counted = into.counted && host.counted;
  into.slots += host.slots;
  into.max_slots += host.max_slots;
  if (into.slots <= slots_max) return {};
  return fail(Errc::input, format("host \"{}\": slots must be 1..{}, got {} in all", into.name,
                                  slots_max, into.slots));
}

Result<> merge_mention(Host& into, Host host) {
  // `counted` slots are a number of mentions, which the user did not give.
  const auto gives_slots = [](const Host& mention) {
    return mention.slots != 0 && !mention.counted;
  };
  // As in Open MPI, a mention without slots is one slot.
  const bool counted = !gives_slots(into) && !gives_slots(host);
  for (Host* const mention : {&into, &host}) {
    mention->slots = std::max(mention->slots, 1);
    mention->counted = counted;
  }
  return merge_host(into, host);
}

Result<> HostMerger::add(HostList named, std::string_view part, const SourceLocation& place) {
  std::ranges::move(named.warnings, std::back_inserter(warnings_));
  mentions_ += named.hosts.size();
  if (mentions_ > mentions_max)
    return place.refuse(part, format("more than {} hosts named", mentions_max));
  for (Host& host : named.hosts) {
    const auto [found, fresh] = by_name_.try_emplace(canonical_host(host.name), list_.size());
    if (fresh) {
      list_.push_back({std::move(host), 1});
      if (list_.size() <= hosts_max) continue;
      return place.refuse(part, format("more than {} hosts", hosts_max));
    }
    Entry& entry = list_[found->second];
    if (++entry.mentions > slots_max) {
      return place.refuse(
          part, format("host \"{}\" is given more than {} times", entry.host.name, slots_max));
    }
    if (const Result<> merged = merge_mention(entry.host, std::move(host)); !merged) {
      return place.refuse(part, merged.error().message);
    }
  }
  return {};
}

HostList HostMerger::finish(std::string_view source) && {
  HostList result{.hosts = {}, .warnings = std::move(warnings_)};
  for (Entry& entry : list_) {
    if (entry.mentions > 1) {
      const std::string times = entry.mentions == 2 ? "twice" : format("{} times", entry.mentions);
      result.warnings.push_back(format("{}: host \"{}\" given {}; merged to {} slots", source,
                                       entry.host.name, times, entry.host.slots));
    }
    result.hosts.push_back(std::move(entry.host));
  }
  constexpr size_t warnings_max = 4;
  if (result.warnings.size() > warnings_max) {
    const size_t more = result.warnings.size() - warnings_max + 1;
    result.warnings.resize(warnings_max - 1);
    result.warnings.push_back(format("{}: and {} more such warnings", source, more));
  }
  return result;
}

}  // namespace dt
