#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/collective/operation.h"
#include "comm/driver/driver.h"
#include "rendezvous/store/wire.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A call of a rank that makes a group.
struct GroupCall {
  std::string name = {};
  std::vector<int> ranks = {};  ///< of the job, in the order of the group
  Duration timeout = {};        ///< zero: no limit
  std::string split = {};       ///< the split that makes the group; empty: its members call alone
};

/// This rank's calls that make groups. The members of a group agree on its number through the job's
/// store, so other ranks have no part in it.
///
///   each member:  sets its proposal, counts its arrival ─ the last one ▶ compares all, decides
///                     └─ waits ─ the decision is there ▶ the group | the failure
///                          └─ its time ends, or a missing member is gone ▶ decides on a failure
///
/// A decision is a key that is set once, and its first value counts. So all members have the group,
/// or none. They remove the keys when all have read it, after a failure at the latest with their
/// contexts.
///
/// One thread at a time, because a number must stay new until the members have agreed.
class GroupAgreement {
 public:
  /// Requires that the driver outlives this object. `rank` is that of the job.
  GroupAgreement(Driver& driver, int rank, uint32_t generation);

  /// Creates the group in the engine, and returns its number.
  Result<uint32_t> make(const GroupCall& call);

  /// How often this rank has split the group, the last call included.
  uint32_t& splits(uint32_t group) { return splits_[group]; }
  /// Returns what names the last split of a group on all ranks of one color.
  std::string split_key(uint32_t group, std::span<const int> job_ranks, int color);
  /// The group of that split is not made, because this rank does not know its members.
  void refuse(const std::string& split, const Error& why);
  /// Called at the end of the context: a later one of this task counts from zero again.
  void erase_failed();

 private:
  struct Proposal;
  struct Decision;
  struct Round;

  uint32_t next_number();
  void release_place(int place);
  Result<uint32_t> make_alone();
  Result<uint32_t> agree(const GroupCall& call);
  Result<uint32_t> end(const Round& round, const Decision& decision);
  Result<Decision> await(const Round& round);
  Result<std::vector<int>> decide(const Round& round);
  std::optional<OperationFailure> reason_to_end(const Round& round, std::span<const int> missing);
  std::string name_of(int rank);
  OperationFailure missing_failure(const Round& round, std::span<const int> missing);
  Result<> settle(const std::string& id, const Decision& decision);
  void acknowledge(const Round& round);
  Result<> erase(const std::string& id);

  Round next_round(const GroupCall& call);
  Result<Reply> ask(const Request& request);
  Result<Reply> post(const Request& request, Duration wait);

  Driver& driver_;
  int rank_;
  std::string prefix_;
  std::map<uint64_t, uint32_t> calls_;    ///< how many, by the set of members
  std::map<uint32_t, uint32_t> splits_;   ///< by the group
  std::vector<std::string> failed_ = {};  ///< calls whose keys may still be there
};

}  // namespace dt
