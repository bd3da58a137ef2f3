#include "launcher/plan/host_shares.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dt {
namespace {

/// A host whose share of the tasks is not final yet.
struct OpenHost {
  size_t index = 0;
  HostCapacity capacity;
  int64_t share = 0;
};

/// Divides `count` by slots; the rest from rounding goes to the largest remainders.
void set_shares(std::vector<OpenHost>& open, int64_t count) {
  int64_t slots = 0;
  for (const OpenHost& one : open)
    slots += one.capacity.slots;
  if (slots == 0) return;  // no host is left
  int64_t left = count;
  std::vector<OpenHost*> by_remainder;
  for (OpenHost& one : open) {
    one.share = count * one.capacity.slots / slots;
    left -= one.share;
    by_remainder.push_back(&one);
  }
  const auto remainder = [&](const OpenHost* one) { return count * one->capacity.slots % slots; };
  std::ranges::stable_sort(by_remainder, std::ranges::greater(), remainder);
  for (size_t i = 0; i < static_cast<size_t>(left); ++i)
    ++by_remainder[i]->share;
}

int64_t within_bounds(const OpenHost& one) {
  return std::clamp(one.share, one.capacity.used, one.capacity.limit);
}

/// Fixes the shares of hosts that are out of bounds, and removes these hosts and their tasks from
/// the rest. The sum of all shares, clamped to their bounds, decides which. Above `count` they are
/// the hosts below their bound, under `count` those above it, else both. So the rest always fits.
/// CSS resolves flexible lengths with the same algorithm. Returns false when no host was out of
/// bounds.
bool settle(std::vector<OpenHost>& open, int64_t& count, std::vector<int64_t>& totals) {
  int64_t excess = -count;
  for (const OpenHost& one : open)
    excess += within_bounds(one);
  const size_t before = open.size();
  std::erase_if(open, [&](const OpenHost& one) {
    const int64_t bound = within_bounds(one);
    const bool chosen = excess > 0 ? one.share < bound : excess < 0 ? one.share > bound : true;
    if (!chosen || one.share == bound) return false;
    totals[one.index] = bound;
    count -= bound;
    return true;
  });
  return open.size() < before;
}

std::vector<int> in_proportion(const std::vector<HostCapacity>& capacities, int64_t count) {
  std::vector<OpenHost> open;
  for (size_t i = 0; i < capacities.size(); ++i) {
    open.push_back({.index = i, .capacity = capacities[i]});
    count += capacities[i].used;
  }
  std::vector<int64_t> totals(capacities.size());
  do {
    set_shares(open, count);
  } while (settle(open, count, totals));
  for (const OpenHost& one : open)
    totals[one.index] = one.share;
  std::vector<int> shares;
  for (size_t i = 0; i < capacities.size(); ++i)
    shares.push_back(static_cast<int>(totals[i] - capacities[i].used));
  return shares;
}

}  // namespace

std::vector<size_t> assign_in_order(const std::vector<int>& capacities, int count, MapBy by) {
  std::vector<size_t> assigned;
  std::vector<size_t> open(capacities.size());
  std::iota(open.begin(), open.end(), size_t{0});
  const auto left = [&] { return static_cast<size_t>(count) - assigned.size(); };
  for (int round = 0; left() > 0; ++round) {
    std::erase_if(open, [&](size_t index) { return capacities[index] <= round; });
    for (const size_t index : open) {
      const size_t share = by == MapBy::node ? 1 : static_cast<size_t>(capacities[index]);
      assigned.insert(assigned.end(), std::min(share, left()), index);
    }
  }
  return assigned;
}

std::vector<int> host_shares(const std::vector<HostCapacity>& capacities, int count, MapBy by) {
  std::vector<int> free;
  int64_t all_free = 0;
  for (const HostCapacity& capacity : capacities) {
    free.push_back(static_cast<int>(capacity.free()));
    all_free += capacity.free();
  }
  if (count > all_free) return in_proportion(capacities, count);
  std::vector<int> shares(capacities.size());
  for (const size_t index : assign_in_order(free, count, by))
    ++shares[index];
  return shares;
}

}  // namespace dt
