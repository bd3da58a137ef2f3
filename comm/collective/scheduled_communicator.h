#pragma once

#include "base/bytes.h"
#include "comm/collective/communicator.h"
#include "comm/collective/early_frames.h"
#include "comm/collective/reduce.h"
#include "comm/collective/work_memory.h"
#include "comm/schedule/schedule.h"
#include "comm/schedule/step_cache.h"
#include "comm/transport/message_link.h"

#include <functional>
#include <vector>

namespace dt {

/// Runs schedules over MessageLinks. Data moves directly between the links and the user's buffers.
/// Only data to be reduced goes through a scratch buffer, one frame at a time. If the ranks have
/// counts of their own, a first schedule exchanges the counts.
class ScheduledCommunicator final : public Communicator {
 public:
  /// Asked before the first data of a step goes to that rank, and again in each step() until true.
  using MaySend = std::function<bool(int to)>;

  /// Requires `links` by rank, null for this rank, that outlive this object.
  ScheduledCommunicator(Group group, std::vector<MessageLink*> links, MaySend may_send = {});

  void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
             Time now) override;
  bool step(Time now) override;
  State state() const override { return done_ ? State::done : State::running; }
  int waits_for() const override;
  uint64_t progress() const override;
  void cancel() override;

  /// Starts an operation with the caller's steps, which live as long as it. It sends nothing, and
  /// writes no buffer, before release(). The operation has so many elements of work memory at
  /// least. Sums are not divided for an average.
  void start_held(const OperationRequest& request, uint32_t stream, const Steps& steps,
                  size_t work_elements);
  void release() { held_ = false; }
  /// Returns the address of the range's first element in the running operation.
  std::byte* at(const Range& range) const { return at(range, 0); }

  /// Returns the ranks that send to this one in the running operation.
  std::vector<int> senders() const;

  /// For the data frames of the running operation. The sender may be some steps ahead of this rank.
  /// `hold` takes such a frame into memory of its own; without it, the frame waits in the link.
  Result<PayloadTarget> place(const Message& message, bool hold);
  /// The most bytes that a rank may send of an operation that this rank has not started.
  static constexpr size_t next_bytes_max = size_t{128} << 10;
  /// Takes a data frame of the next operation into memory, where start() finds it.
  Result<PayloadTarget> place_next(const Message& message);
  Result<> arrived(const Message& message);
  /// Drops the data of an operation that is not started, and never will be.
  void drop_next(uint32_t stream);
  /// Aborts the operation, and drops the data of the next one. Nothing may be started afterwards.
  void close();

 private:
  /// The memory that the places of a schedule refer to.
  struct Buffers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* work = nullptr;
  };

  const Steps& equal_steps();
  void run_own(Steps steps, Buffers buffers, size_t element_bytes);
  void run(const Steps& steps, Buffers buffers, size_t element_bytes, size_t elements_min = 0);
  void begin(const OperationRequest& request, uint32_t stream);
  Buffers buffers_of(const OperationRequest& request) const;
  const Steps& steps() const { return *steps_; }
  void exchange_counts();
  void exchange_parts();
  std::byte* at(const Range& range, size_t offset) const;
  void run_here(const Step& step) const;
  void reduce_here(const Step& step) const;
  void fold(const Step& step, const std::byte* received, size_t elements);
  bool sent() const;
  bool received() const;
  void end_schedule();
  Result<PayloadTarget> hold_early(const Message& message);
  size_t early_bytes_max(int sender) const;
  bool take_early();
  void divide() const;

  Group group_;
  std::vector<MessageLink*> links_;
  MaySend may_send_;
  const OperationRequest* request_ = nullptr;
  uint32_t stream_ = 0;
  StepCache cache_;
  Steps own_steps_;                   ///< of a call whose steps are in no cache
  const Steps* steps_ = &own_steps_;  ///< of the running operation
  size_t next_ = 0;                   ///< the current step
  bool send_started_ = false;         ///< of that step
  size_t received_elements_ = 0;      ///< of that step
  bool exchanges_counts_ = false;     ///< the schedule is followed by another one
  bool done_ = true;
  bool held_ = false;    ///< until release()
  bool divides_ = true;  ///< for an average, at the end
  Buffers buffers_;
  size_t element_bytes_ = 1;
  WorkMemory work_;
  Bytes scratch_;  ///< one frame, before it is reduced
  EarlyFrames early_;
};

}  // namespace dt
