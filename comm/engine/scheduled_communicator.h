#pragma once

#include "comm/engine/communicator.h"
#include "comm/engine/reduce.h"
#include "comm/engine/work_memory.h"
#include "comm/schedule/schedule.h"
#include "comm/transport/message_link.h"

#include <deque>
#include <vector>

namespace dt {

/// Runs schedules over MessageLinks. Data moves directly between the links and the user's buffers.
/// Only data to be reduced goes through a scratch buffer, one frame at a time. If the ranks have
/// counts of their own, a first schedule exchanges the counts.
class ScheduledCommunicator final : public Communicator {
 public:
  /// Requires `links` by rank, null for this rank, that outlive this object.
  ScheduledCommunicator(Group group, std::vector<MessageLink*> links);

  void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
             Time now) override;
  bool step(Time now) override;
  State state() const override { return done_ ? State::done : State::running; }
  int waits_for() const override;
  void cancel() override;

  /// For the data frames of the running operation. The sender may be some steps ahead of this rank.
  /// `hold` takes such a frame into memory of its own; without it, the frame waits in the link.
  Result<PayloadTarget> place(const Message& message, bool hold);
  Result<> arrived(const Message& message);

  /// The bytes of working memory that are allocated now.
  size_t memory_bytes() const { return work_.bytes() + scratch_.capacity(); }

 private:
  /// The memory that the places of a schedule refer to.
  struct Buffers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* work = nullptr;
  };

  void play(Steps steps, Buffers buffers, size_t element_bytes);
  void exchange_counts();
  void exchange_parts();
  std::byte* at(const Range& range, size_t offset = 0) const;
  void copy_here(const Step& step) const;
  void fold(const Step& step, std::byte* received, size_t elements);
  bool sent() const;
  bool received() const;
  void end_schedule();

  /// A frame of a later step, or what is left of it.
  struct EarlyFrame {
    Bytes bytes;
    size_t used = 0;
    bool complete = false;
  };
  Result<PayloadTarget> hold_early(const Message& message);
  size_t early_bytes_max(int sender) const;
  bool take_early();
  void divide() const;

  Group group_;
  std::vector<MessageLink*> links_;
  const OperationRequest* request_ = nullptr;
  uint32_t stream_ = 0;
  Steps steps_;
  size_t next_ = 0;                ///< the current step
  bool send_started_ = false;      ///< of that step
  size_t received_elements_ = 0;   ///< of that step
  bool exchanges_counts_ = false;  ///< the schedule is followed by another one
  bool done_ = true;
  Buffers buffers_;
  size_t element_bytes_ = 1;
  WorkMemory work_;
  Bytes scratch_;                              ///< one frame, before it is reduced
  std::vector<std::deque<EarlyFrame>> early_;  ///< by sender, in order of arrival
};

}  // namespace dt
