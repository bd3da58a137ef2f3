#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace dt {

/// The members of a group that is made, in the order of their ranks in it.
struct GroupMembers {
  GroupMembers(std::initializer_list<int> of_job) : GroupMembers(std::vector<int>(of_job)) {}
  explicit GroupMembers(std::vector<int> of_job) : GroupMembers(std::move(of_job), {}) {}
  GroupMembers(std::vector<int> of_job, std::vector<int> reserved)
      : ranks(std::move(of_job)), places(std::move(reserved)) {
    places.resize(ranks.size(), -1);
  }

  std::vector<int> ranks;   ///< of the job
  std::vector<int> places;  ///< of the members' parts in the memory of their hosts; -1: none
};

}  // namespace dt
