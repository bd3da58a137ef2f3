#pragma once

#include "comm/collective/communicator.h"
#include "comm/collective/group_peers.h"
#include "comm/collective/scheduled_communicator.h"
#include "comm/collective/shared_communicator.h"
#include "comm/schedule/algorithm.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace dt {

/// Runs collectives of several hosts. The ranks of each host exchange data in shared memory. Each
/// rank then exchanges its share of the host's data with ranks of other hosts over links.
///
///   start ▶ before, in memory ─ each phase is done ▶ across, over links ─ done ▶ after, in memory
///                │                                                                      │ done
///                └─ the calls of the host's ranks differ ▶ mismatch                     ▶ done
///
/// In memory, the ranks of a host compare their calls at each phase. Over links, its user has to.
class HierarchicalCommunicator final : public Communicator {
 public:
  /// `area` is the memory of the members on this rank's host; null if there is no other. `across`
  /// has the links. `released` is called when data from other hosts can be received. Requires that
  /// `peers` and `across` outlive this object.
  HierarchicalCommunicator(const GroupPeers& peers, std::shared_ptr<SharedArea> area,
                           ScheduledCommunicator& across, std::function<void()> released);

  /// True for calls that it runs; the same on all ranks whose calls are equal.
  bool runs(const OperationRequest& request) const;
  void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
             Time now) override;
  bool step(Time now) override;
  State state() const override { return state_; }
  int waits_for() const override;
  bool needs(int rank) const override;
  uint64_t progress() const override;
  void cancel() override;

 private:
  enum class Stage : uint8_t { before, across, after };
  static constexpr size_t calls_max = 8;
  struct Call {
    CollectiveShape shape = {};
    HostPhases phases = {};
    size_t work_elements = 0;
  };

  const Call& call_of(const CollectiveShape& shape);
  const std::vector<HostPhase>& phases() const;
  void begin_next();
  void start_phase(const HostPhase& phase);
  bool step_memory(Time now);
  bool step_across(Time now);
  bool in_memory() const { return state_ == State::running && stage_ != Stage::across; }
  void average() const;

  const GroupPeers& peers_;
  ScheduledCommunicator& across_;
  std::function<void()> released_;
  std::unique_ptr<SharedCommunicator> memory_;  ///< null: this rank is alone on its host
  // Programs make the same few calls over and over.
  std::array<std::optional<Call>, calls_max> calls_ = {};
  size_t oldest_ = 0;
  const Call* call_ = nullptr;
  const OperationRequest* request_ = nullptr;
  uint64_t sequence_ = 0;
  uint64_t hash_ = 0;
  OperationRequest local_;  ///< of the phase that runs in memory
  State state_ = State::idle;
  Stage stage_ = Stage::before;
  size_t next_ = 0;         ///< the phase of the stage
  uint64_t in_memory_ = 0;  ///< phases that were started in memory
};

}  // namespace dt
