#include "launcher/plan/host_shares.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dt {
namespace {

/// A host whose share of the tasks is not settled yet.
struct OpenHost {
  size_t place = 0;
  TaskRoom room;
  int64_t share = 0;
};

/// `count` by slots; what rounding leaves over goes to the largest remainders.
void set_shares(std::vector<OpenHost>& open, int64_t count) {
  int64_t slots = 0;
  for (const OpenHost& one : open)
    slots += one.room.slots;
  if (slots == 0) return;  // nobody is left
  int64_t left = count;
  std::vector<OpenHost*> by_remainder;
  for (OpenHost& one : open) {
    one.share = count * one.room.slots / slots;
    left -= one.share;
    by_remainder.push_back(&one);
  }
  const auto remainder = [&](const OpenHost* one) { return count * one->room.slots % slots; };
  std::ranges::stable_sort(by_remainder, std::ranges::greater(), remainder);
  for (size_t i = 0; i < static_cast<size_t>(left); ++i)
    ++by_remainder[i]->share;
}

int64_t within_bounds(const OpenHost& one) {
  return std::clamp(one.share, one.room.used, one.room.limit);
}

/// Settles hosts whose share is out of bounds, and takes them and what they get from the rest:
/// those below their bound when the bounds together ask for more than there is, those above it when
/// for less, all when for just that; so the rest always finds room. It is how CSS resolves flexible
/// lengths. Whether there was any.
bool settle(std::vector<OpenHost>& open, int64_t& count, std::vector<int64_t>& totals) {
  int64_t excess = -count;
  for (const OpenHost& one : open)
    excess += within_bounds(one);
  const size_t before = open.size();
  std::erase_if(open, [&](const OpenHost& one) {
    const int64_t bound = within_bounds(one);
    const bool of_now = excess > 0 ? one.share < bound : excess < 0 ? one.share > bound : true;
    if (!of_now || one.share == bound) return false;
    totals[one.place] = bound;
    count -= bound;
    return true;
  });
  return open.size() < before;
}

std::vector<int> in_proportion(const std::vector<TaskRoom>& rooms, int64_t count) {
  std::vector<OpenHost> open;
  for (size_t i = 0; i < rooms.size(); ++i) {
    open.push_back({.place = i, .room = rooms[i]});
    count += rooms[i].used;
  }
  std::vector<int64_t> totals(rooms.size());
  do {
    set_shares(open, count);
  } while (settle(open, count, totals));
  for (const OpenHost& one : open)
    totals[one.place] = one.share;
  std::vector<int> shares;
  for (size_t i = 0; i < rooms.size(); ++i)
    shares.push_back(static_cast<int>(totals[i] - rooms[i].used));
  return shares;
}

}  // namespace

std::vector<size_t> deal(const std::vector<int>& rooms, int count, MapBy by) {
  std::vector<size_t> dealt;
  std::vector<size_t> open(rooms.size());
  std::iota(open.begin(), open.end(), size_t{0});
  const auto left = [&] { return static_cast<size_t>(count) - dealt.size(); };
  for (int round = 0; left() > 0; ++round) {
    std::erase_if(open, [&](size_t place) { return rooms[place] <= round; });
    for (const size_t place : open) {
      const size_t share = by == MapBy::node ? 1 : static_cast<size_t>(rooms[place]);
      dealt.insert(dealt.end(), std::min(share, left()), place);
    }
  }
  return dealt;
}

std::vector<int> share_out(const std::vector<TaskRoom>& rooms, int count, MapBy by) {
  std::vector<int> free;
  int64_t all_free = 0;
  for (const TaskRoom& room : rooms) {
    free.push_back(static_cast<int>(room.free()));
    all_free += room.free();
  }
  if (count > all_free) return in_proportion(rooms, count);
  std::vector<int> shares(rooms.size());
  for (const size_t place : deal(free, count, by))
    ++shares[place];
  return shares;
}

}  // namespace dt
