#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/ps/state/inputs.h"
#include "comm/training/ps/state/server_state.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace dt {

/// The servers of a job by number, with the copies of their parts. Part i is the variables that
/// server i has by placement. Its second copy is on the next server, in a ring.
struct PsServers {
  uint32_t count = 1;
  uint32_t copies = 1;  ///< of each part: 1 or 2
  std::set<uint32_t> dead = {};

  uint32_t next(uint32_t server) const { return (server + 1) % count; }
  uint32_t previous(uint32_t server) const { return (server + count - 1) % count; }
  /// Returns the server that takes requests for a part; none when no copy is left.
  std::optional<uint32_t> head(uint32_t part) const;
};

/// One server's copy of a part. The head carries out each input and sends it to the replica. This
/// is chain replication (van Renesse and Schneider, 2004) with two copies. A reply leaves the head
/// when the replica has acknowledged everything before it. No I/O.
///
///   replica ─ take_over() ─▶ head without a replica ◀─ replica_lost() ─ head with a replica
///
/// Promise: when a worker gets the reply to a request, both copies have the effect of the request.
/// Requests that only read are handled by the head alone.
class PartCopy {
 public:
  enum class Role { head, replica };
  PartCopy(PsServerState::Options options, Role role);

  const PsServerState& state() const { return state_; }
  Role role() const { return role_; }

  // The head:

  /// Restores a checkpoint, as PsServerState::load(). Requires a head without a replica.
  Result<> restore(const SavedBytes& checkpoint) { return state_.load(checkpoint); }
  /// Begins to send everything to a replica. `bytes_max` is the limit that both can keep.
  void start_replica(uint64_t bytes_max);
  /// True while some inputs are not acknowledged.
  bool awaits_replica() const { return has_replica_ && acknowledged_ < number_; }
  /// Carries out an input, which is no PsStart.
  void take(const PsInput& input);
  /// Loads a checkpoint, and answers the request for it. A replica gets the values in memory.
  void load(PsFileAnswer answer, const SavedBytes& saved);
  /// As PsServerState::refuse().
  void refuse(uint32_t worker, uint32_t request, std::string why);
  /// Returns the replies that may leave.
  std::vector<PsDelivery> take_deliveries();
  std::vector<PsFileRequest> take_file_requests() { return state_.take_file_requests(); }
  /// Returns the next message for the replica.
  std::optional<MessageParts> take_outgoing();
  /// The replica has carried out the inputs up to `number`. Fails with Errc::protocol for inputs
  /// that it did not get.
  Result<> acknowledged(uint64_t number);
  /// The head continues alone, and all replies may leave.
  void replica_lost();

  // The replica:

  /// Carries out the next message of the head. Fails with Errc::refused after take_over(), and with
  /// Errc::protocol for a message that is not the next one.
  Result<> follow(const std::shared_ptr<const Bytes>& message);
  /// The number of the last input.
  uint64_t number() const { return number_; }
  /// The head is dead: this copy takes its place.
  void take_over();

 private:
  struct Held {
    uint64_t number = 0;  ///< may leave when this is acknowledged
    PsDelivery delivery;
  };
  bool apply(const PsInput& input);
  Result<> start(const PsStart& start);
  void hold_deliveries();

  PsServerState state_;
  Role role_;
  bool has_replica_ = false;
  uint64_t number_ = 0;
  uint64_t acknowledged_ = 0;
  std::deque<MessageParts> outgoing_;
  std::deque<Held> held_;
};

}  // namespace dt
