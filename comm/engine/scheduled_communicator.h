#pragma once

#include "base/bytes.h"
#include "comm/engine/communicator.h"
#include "comm/engine/reduce.h"
#include "comm/schedule/schedule.h"
#include "comm/transport/message_link.h"

#include <vector>

namespace dt {

/// Runs a schedule over MessageLinks. Data moves directly between the links and the user's buffers.
/// Only data to be reduced goes through a scratch buffer, one frame at a time.
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

  /// For the data frames of the running operation.
  Result<PayloadTarget> place(const Message& message);
  Result<> arrived(const Message& message);

 private:
  void prepare();
  std::byte* at(size_t element) const { return buffer_ + element * element_bytes_; }
  bool sent() const;
  bool received() const;
  void finish();

  Group group_;
  std::vector<MessageLink*> links_;
  const OperationRequest* request_ = nullptr;
  uint32_t stream_ = 0;
  Steps steps_;
  size_t next_ = 0;               ///< the current step
  bool send_started_ = false;     ///< of that step
  size_t received_elements_ = 0;  ///< of that step
  bool done_ = true;
  Reduction reduction_;
  size_t element_bytes_ = 1;
  std::byte* buffer_ = nullptr;  ///< the elements that the schedule's ranges refer to
  Bytes own_buffer_;             ///< for operations that the user's buffers cannot hold
  Bytes scratch_;                ///< one frame, before it is reduced
};

}  // namespace dt
