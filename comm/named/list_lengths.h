#pragma once

#include "comm/named/name_messages.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace dt {

/// Finds lists of one name that can never match, because the ranks have made lists of different
/// lengths. It knows the lists that are under way.
class ListLengths {
 public:
  explicit ListLengths(size_t ranks) : ranks_(ranks) {}

  /// Notes that a rank has announced a part.
  void add(int rank, const ListPart& part);
  /// Returns all lists with the name of a part's list when every rank, except those that have
  /// joined, has announced a whole one and their lengths differ; else none. Requires that forget()
  /// was called for the lists that all ranks have made.
  std::vector<uint64_t> unequal(const ListPart& part, const std::vector<int>& joined) const;
  /// Called when a list has ended.
  void forget(const ListPart& part);
  /// Returns how many lists are kept.
  size_t entries() const;

 private:
  struct List {
    uint32_t parts = 0;
    std::vector<uint32_t> announced = {};  ///< by rank
  };
  using Lists = std::map<uint64_t, List>;  ///< by the hash of name and length

  bool has_whole_one(const Lists& lists, size_t rank) const;

  size_t ranks_;
  std::map<uint64_t, Lists> lists_;  ///< by the hash of the name
};

}  // namespace dt
