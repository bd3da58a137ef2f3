#pragma once

#include "base/result.h"
#include "comm/training/ps/state/messages.h"

#include <cstdint>
#include <set>

namespace dt {

/// The knowledge of a worker from the replies of server 0.
struct PsKnowledge {
  PsMode mode = {};
  PsDecision decision = {};  ///< the last one; forwarded with each request
  uint64_t seen_round = 0;   ///< of the values that this worker has
  uint64_t seen_step = 0;

  /// Takes a reply of server 0: older ones have no effect.
  void learn(const PsReply& reply);
};

/// One push of a worker to all servers, with or without a pull. No I/O.
///
///   push ─ asynchronous ─▶ done
///    ▲ └── all servers have it ─▶ commit at server 0 ─▶ pull ─▶ done
///    └──── mode_changed ─────────────┘
///
/// The caller sends the requests of the phase to its servers and takes each reply, in any order.
class PushTurn {
 public:
  enum class Phase : uint8_t { push, commit, pull, done };

  PushTurn(PsKnowledge& knowledge, uint32_t servers, bool pulls);

  Phase phase() const { return phase_; }
  /// The servers whose replies this phase lacks: at its beginning, those to send a request to.
  const std::set<uint32_t>& awaited() const { return awaited_; }
  /// Fills the parts of the requests of this phase that all servers get.
  PushRequest push() const;
  CommitRequest commit() const { return {.mode = mode_, .round = knowledge_.seen_round}; }
  PullRequest pull() const { return {.decision = knowledge_.decision, .pulls = {}}; }
  /// True when the values come in the replies of this phase.
  bool has_values() const;
  /// True when the push counts; false when it came too late for its round. Requires Phase::done.
  bool counted() const { return !stale_; }

  /// Fails with the server's error, which ends the turn.
  Result<> take(uint32_t server, const PsReply& reply);

 private:
  void enter(Phase phase);
  void end_phase();

  PsKnowledge& knowledge_;
  uint32_t servers_;
  bool pulls_;
  Phase phase_ = Phase::push;
  PsMode mode_;  ///< of this push
  std::set<uint32_t> awaited_;
  bool stale_ = false;
  bool changed_ = false;
  uint64_t pulled_round_ = 0;
};

}  // namespace dt
