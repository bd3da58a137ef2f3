#pragma once

#include "base/bytes.h"
#include "comm/engine/communicator.h"
#include "comm/engine/reduce.h"
#include "comm/schedule/schedule.h"
#include "comm/transport/message_link.h"

#include <vector>

namespace dt {

/// Runs a Schedule over MessageLinks. Data goes from and to the user's buffers; only what has to be
/// reduced lands in scratch first, one frame at a time.
class ScheduledCommunicator final : public Communicator {
 public:
  /// `links` by rank, null for this one; they outlive this.
  ScheduledCommunicator(Group group, std::vector<MessageLink*> links);

  void start(const OperationRequest& request, uint64_t sequence) override;
  bool step(Time now) override;
  bool done() const override { return done_; }
  int waits_for() const override;
  void cancel() override;

  /// Data frames of the operation that is running.
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
  size_t next_ = 0;               ///< the step under way
  bool send_started_ = false;     ///< of that step
  size_t received_elements_ = 0;  ///< of that step
  bool done_ = true;
  Reduction reduction_;
  size_t element_bytes_ = 1;
  std::byte* buffer_ = nullptr;  ///< what the schedule's ranges mean
  Bytes own_buffer_;             ///< where the user's buffers cannot serve
  Bytes scratch_;                ///< one frame, before it is reduced
};

}  // namespace dt
