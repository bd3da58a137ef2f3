#include "launcher/plan.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace dt {
namespace {

int64_t total_slots(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), int64_t{0},
                         [](int64_t sum, const Host& host) { return sum + host.slots; });
}

/// The most tasks that a host takes.
int64_t limit_of(const Host& host) {
  return host.max_slots != 0 ? host.max_slots : processes_max;
}

int64_t total_limit(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), int64_t{0},
                         [](int64_t sum, const Host& host) { return sum + limit_of(host); });
}

/// "a:4 b:4", cut after a few.
std::string hosts_text(const std::vector<Host>& hosts) {
  constexpr size_t shown_max = 8;
  std::vector<std::string> shown;
  for (const Host& host : hosts) {
    if (shown.size() == shown_max) {
      shown.push_back(format("and {} more", hosts.size() - shown_max));
      break;
    }
    shown.push_back(host.text());
  }
  return join(shown, " ");
}

Result<int> count_processes(const PlanRequest& request) {
  const int64_t slots = total_slots(request.hosts);
  const int given = task_count(request.roles);
  const int64_t wanted = given != 0 ? int64_t{given} : slots;
  if (wanted < 1 || wanted > processes_max) {
    return fail(Errc::input, format("-np: expected 1..{}, got {}{}", processes_max, wanted,
                                    given != 0 ? "" : " (the sum of all slots)"));
  }
  if (wanted > slots && !request.oversubscribe) {
    return fail(
        Errc::input,
        format("asked for {} processes but hosts offer {} ({}); use -np {} or --oversubscribe",
               wanted, slots, hosts_text(request.hosts), slots));
  }
  if (wanted > total_limit(request.hosts)) {
    return fail(Errc::input,
                format("asked for {0} processes but max_slots of the hosts ({1}) allows {2}; use "
                       "-np {2}",
                       wanted, hosts_text(request.hosts), total_limit(request.hosts)));
  }
  return static_cast<int>(wanted);
}

/// The hosts that `count` things go to, one after the other, when each host takes as many as it has
/// room for. There is room for all.
std::vector<size_t> deal(const std::vector<int>& rooms, int count, DealBy by) {
  std::vector<size_t> dealt;
  std::vector<size_t> open(rooms.size());
  std::iota(open.begin(), open.end(), size_t{0});
  const auto left = [&] { return static_cast<size_t>(count) - dealt.size(); };
  for (int round = 0; left() > 0; ++round) {
    std::erase_if(open, [&](size_t host) { return rooms[host] <= round; });
    for (const size_t host : open) {
      const size_t share = by == DealBy::node ? 1 : static_cast<size_t>(rooms[host]);
      dealt.insert(dealt.end(), std::min(share, left()), host);
    }
  }
  return dealt;
}

/// How many tasks each host gets, when no host gets more than its slots.
std::vector<int> blocks_within_slots(const PlanRequest& request, int count) {
  std::vector<int> slots;
  for (const Host& host : request.hosts)
    slots.push_back(host.slots);
  std::vector<int> blocks(slots.size());
  for (const size_t host : deal(slots, count, request.map_by))
    ++blocks[host];
  return blocks;
}

/// A host that has not got its tasks yet, and its share of those that are left.
struct Open {
  size_t host = 0;
  int64_t slots = 0;
  int64_t limit = 0;
  int64_t share = 0;
};

/// `count` by slots; what rounding leaves over goes to the largest remainders.
void share_out(std::vector<Open>& open, int64_t count) {
  int64_t slots = 0;
  for (const Open& one : open)
    slots += one.slots;
  int64_t left = count;
  std::vector<Open*> by_remainder;
  for (Open& one : open) {
    one.share = count * one.slots / slots;
    left -= one.share;
    by_remainder.push_back(&one);
  }
  const auto remainder = [&](const Open* one) { return count * one->slots % slots; };
  std::ranges::stable_sort(by_remainder, std::ranges::greater(), remainder);
  for (size_t i = 0; i < static_cast<size_t>(left); ++i)
    ++by_remainder[i]->share;
}

/// Hosts whose share is above their limit get that, and the others share what it leaves over, until
/// no share is above a limit. `count` is not above all limits together.
std::vector<int> fill_in_proportion(const std::vector<Host>& hosts, int64_t count) {
  std::vector<int> blocks(hosts.size());
  std::vector<Open> open;
  for (size_t i = 0; i < hosts.size(); ++i)
    open.push_back({.host = i, .slots = hosts[i].slots, .limit = limit_of(hosts[i])});
  for (;;) {
    share_out(open, count);
    // Not std::ranges: clang 14 cannot compile gcc 12's subranges.
    const auto full = std::stable_partition(open.begin(), open.end(),
                                            [](const Open& one) { return one.share <= one.limit; });
    for (const Open& one : open)
      blocks[one.host] = static_cast<int>(std::min(one.share, one.limit));
    if (full == open.end()) return blocks;
    count -= std::accumulate(full, open.end(), int64_t{0},
                             [](int64_t sum, const Open& one) { return sum + one.limit; });
    open.erase(full, open.end());
  }
}

/// The hosts that have tasks, and how many each is to have.
struct Blocks {
  std::vector<Host> hosts;
  std::vector<int> sizes;
};

Blocks blocks_of(const PlanRequest& request, int count) {
  const bool fits = count <= total_slots(request.hosts);
  const std::vector<int> sizes =
      fits ? blocks_within_slots(request, count) : fill_in_proportion(request.hosts, count);
  Blocks blocks;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    blocks.hosts.push_back(request.hosts[i]);
    blocks.sizes.push_back(sizes[i]);
  }
  return blocks;
}

void number_across_hosts(Plan& plan) {
  std::vector<int> hosts_with(plan.tasks.size());
  const auto hosts_of = [&](const Task& task) -> int& {
    return hosts_with[static_cast<size_t>(task.local_rank)];
  };
  for (Task& task : plan.tasks)
    task.cross_rank = hosts_of(task)++;
  for (Task& task : plan.tasks)
    task.cross_size = hosts_of(task);
}

}  // namespace

void Plan::add(Task task) {
  PlannedHost& host = hosts[static_cast<size_t>(task.agent)];
  task.local_index = static_cast<uint32_t>(host.tasks.size());
  host.tasks.push_back(tasks.size());
  host.ranked += task.rank >= 0 ? 1 : 0;
  tasks.push_back(std::move(task));
}

int Plan::rank_digits() const {
  int digits = 1;
  for (int highest = world_size - 1; highest >= 10; highest /= 10)
    ++digits;
  return digits;
}

Result<Plan> make_plan(const PlanRequest& request) {
  assert(!request.hosts.empty());
  assert(std::ranges::all_of(request.hosts, [](const Host& host) { return host.slots > 0; }));
  assert(request.roles.size() == 1);
  Plan plan;
  plan.roles = request.roles;
  Role& workers = plan.roles.front();
  workers.count = TRY(count_processes(request));
  plan.world_size = workers.count;
  const Blocks blocks = blocks_of(request, workers.count);
  for (const Host& host : blocks.hosts)
    plan.hosts.push_back({.host = host});
  for (const size_t host : deal(blocks.sizes, workers.count, request.rank_by)) {
    const int rank = static_cast<int>(plan.tasks.size());
    plan.add({.id = {.role = workers.name, .index = rank},
              .rank = rank,
              .local_rank = plan.hosts[host].task_count(),
              .agent = static_cast<int>(host)});
  }
  number_across_hosts(plan);
  return plan;
}

}  // namespace dt
