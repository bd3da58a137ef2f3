#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/collective/engine_options.h"
#include "comm/schedule/operation_request.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class RankGroup;
class Groups;
struct OperationFailure;
struct PendingWait;

/// Makes this rank's steps of a collective. Throws nothing.
using StepMaker = std::function<Result<Steps>(Group group, const CollectiveShape& shape)>;

/// The ranks of one generation, and the links between this rank and the others. A state machine
/// without threads, clocks or waiting; its caller calls step(). Collectives run one at a time in
/// the order of submission in each group. Sends and receives run beside them.
///
/// Promises: every operation ends with a result or a named error on every rank. A mismatch fails
/// that operation on every rank; the engine stays usable. A death fails all operations, now and
/// later.
class Engine {
 public:
  using Peer = EnginePeer;
  using Options = EngineOptions;

  /// `peers` by rank.
  Engine(const Options& options, std::vector<Peer> peers);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const;
  int size() const;
  /// Returns "rank 3 (host b)".
  std::string name_of(int rank) const;

  /// Checks the request (peer in range, average of integers, …) and queues it. An operation with
  /// wrong arguments fails at once, on this rank only.
  std::shared_ptr<Operation> submit(OperationRequest request, Time now);
  /// The same for an operation that the caller has made, and that has its request only.
  void submit(const std::shared_ptr<Operation>& operation, Time now);

  Groups& groups();
  /// Fails the group's pending operations, and those of its other members.
  void leave_group(uint32_t number);

  /// Makes a program's own algorithm known. Every rank does so between the same two collectives.
  /// Fails with Errc::input when there is one of that name.
  Result<> register_algorithm(const std::string& name, const StepMaker& maker);
  /// Returns one rank's steps by a registered algorithm. Fails with Errc::input when there is none
  /// of that name, and when its steps are wrong.
  Result<Steps> registered_steps(const std::string& name, Group ranks,
                                 const CollectiveShape& shape) const;
  /// Returns the algorithms of a group in the form of parse_algorithms(), with "shm" for
  /// collectives in shared memory. Returns nothing for a group that this rank has left.
  std::string algorithms_text(uint32_t group) const;

  /// Moves all data that can move; true if anything moved. Never blocks.
  bool step(Time now);
  /// Moves data of a pending operation, for a thread that spins between two steps. The time is that
  /// of the last step(). True if anything moved. Checks shared memory up to `checks` times, with a
  /// pause after each, and links once.
  bool spin(const Operation& operation, int checks);
  /// The same for an operation of that group that needs_no_frames().
  bool spin(RankGroup& group, const Operation& operation, int checks);
  /// Makes the next step read from the rank that the operation waits for, also when no arrival was
  /// reported. Returns false when it waits for more than data of one rank.
  bool poll(const Operation& operation);
  /// The time at which step() must be called even if nothing arrives: the next deadline, or
  /// Time::max().
  Time next_deadline() const;
  /// True when no operation is pending and no message waits to be sent. A rank that leaves earlier
  /// may lose a verdict that the others need.
  bool idle() const;
  /// True when others may need this rank's steps although nothing of it is pending.
  bool serves() const;

  /// The failure (for example a death) that has aborted the engine; null while it runs.
  const OperationFailure* aborted() const;

  /// Returns why the members of a group may never end work outside the engine, such as that of
  /// NCCL. The reason is that the engine was aborted, that the group's collectives were stopped, or
  /// that a member has left or cannot be reached. With a slot, it can be a failure of the calls by
  /// name. Returns none while all members can. A member that has left may have ended its part
  /// before.
  std::optional<OperationFailure> lost(uint32_t group, bool has_slot = false) const;
  /// Returns which of these ranks has left or cannot be reached; none if all can.
  std::optional<OperationFailure> lost_among(std::span<const int> ranks) const;

  /// Appends the pending operations that are first in their group, or to or from their peer.
  void add_waits(std::vector<PendingWait>& waits) const;
  /// Returns the ranks for which one of these operations waits now, as far as this rank knows.
  std::vector<int> awaited(const Operation& operation) const;
  /// Returns "barrier #11", the collective that ended last here in the group of that collective.
  /// Empty when there is none.
  std::string last_before(const Operation& operation) const;

  /// Called when a task died or left.
  void notice(const Notice& notice, Time now);
  /// Called when the connection to the rendezvous is lost: deaths are no longer reported.
  void launcher_lost(Time now);
  /// Fails all operations with Errc::closed, now and later. Until idle(), step() still sends the
  /// messages that are queued for the others. Connected ranks then know that this one has left.
  void close();
  /// Called when this process cannot continue, for example because memory ran out. Fails all
  /// operations, and informs the other ranks. Throws nothing, also when there is no memory at all.
  void abort(std::string_view why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
