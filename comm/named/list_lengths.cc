#include "comm/named/list_lengths.h"

#include <algorithm>

namespace dt {

void ListLengths::add(int rank, const ListPart& part) {
  List& list = lists_[part.name()][part.list];
  list.parts = part.parts;
  list.announced.resize(ranks_);
  ++list.announced[static_cast<size_t>(rank)];
}

std::vector<uint64_t> ListLengths::unequal(const ListPart& part,
                                           const std::vector<int>& joined) const {
  const auto lists = lists_.find(part.name());
  if (lists == lists_.end() || lists->second.size() < 2) return {};
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const bool has_joined = std::ranges::find(joined, static_cast<int>(rank)) != joined.end();
    if (!has_joined && !has_whole_one(lists->second, rank)) return {};
  }
  std::vector<uint64_t> found;
  for (const auto& [hash, list] : lists->second)
    found.push_back(hash);
  return found;
}

void ListLengths::forget(const ListPart& part) {
  const auto lists = lists_.find(part.name());
  if (lists == lists_.end()) return;
  lists->second.erase(part.list);
  if (lists->second.empty()) lists_.erase(lists);
}

size_t ListLengths::entries() const {
  size_t entries = 0;
  for (const auto& [name, lists] : lists_)
    entries += lists.size();
  return entries;
}

bool ListLengths::has_whole_one(const Lists& lists, size_t rank) const {
  return std::ranges::any_of(
      lists, [&](const auto& it) { return it.second.announced[rank] == it.second.parts; });
}

}  // namespace dt
