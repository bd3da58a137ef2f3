#pragma once

#include "comm/schedule/operation_request.h"
#include "comm/transport/shared_area.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// One small collective among the members of a SharedArea. The input of each member lies in its
/// mailbox, and each member makes its own result from all of them, in the order of the members. So
/// a result has the same bits everywhere.
class MailboxTransfer {
 public:
  explicit MailboxTransfer(const SharedArea& area);

  static bool plays(OperationKind kind) {
    return kind <= OperationKind::all_to_all || kind == OperationKind::barrier;
  }

  /// Begins an operation, whose `round` numbers the mailboxes. Returns true when every member's
  /// input fits into its mailbox; the same on all members.
  bool start(const OperationRequest& request, uint64_t round);
  /// Copies this member's input into its mailbox.
  void send() const;
  /// Writes this member's result. Requires that all members have announced their calls.
  void receive();

 private:
  std::byte* output() const { return static_cast<std::byte*>(request_->output); }
  const std::byte* input_of(int member) const;
  bool is_root() const { return request_->peer == area_.self(); }
  void copy_from_root(size_t begin);
  void gather(size_t begin);
  void reduce(size_t begin);

  const SharedArea& area_;
  const OperationRequest* request_ = nullptr;
  uint64_t round_ = 0;
  size_t input_bytes_ = 0;  ///< of each member that has an input
  size_t part_bytes_ = 0;   ///< of `count` elements
  std::vector<const std::byte*> sources_;
};

}  // namespace dt
