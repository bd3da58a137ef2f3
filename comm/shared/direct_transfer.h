#pragma once

#include "comm/memory/shared_area.h"
#include "comm/schedule/operation_request.h"
#include "comm/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// One large collective whose buffers lie in the host's SharedHeap. Members read them there, so no
/// byte passes through slots. A member writes its own user's buffers only.
///
/// In all_reduce, a member reduces its part of every block from all inputs into its output. It
/// copies the other parts from the outputs of their members. In reduce_scatter, it reduces its part
/// from all inputs. In all_gather and broadcast, it copies from the inputs of others.
///
/// A member leaves when all that read its buffers are done. One that aborts earlier marks it: what
/// others read from it since then may have changed. They do not end the operation then, but wait
/// for the failure that follows.
class DirectTransfer {
 public:
  explicit DirectTransfer(const SharedArea& area);

  static bool runs(OperationKind kind) {
    return kind == OperationKind::all_reduce || kind == OperationKind::reduce_scatter ||
           kind == OperationKind::all_gather || kind == OperationKind::broadcast;
  }
  /// Writes into the announcement of a large call where its buffers lie.
  void announce(Mailbox::LargeCall& own, const OperationRequest& request) const;
  /// Starts the call of a round if all members' mailboxes permit it; else returns false, equally on
  /// all members. `begin` is the group's number of the first block. Requires that all members have
  /// made the same call.
  bool start(const OperationRequest& request, MailboxRound round, uint64_t begin);
  bool running() const { return request_ != nullptr; }
  /// The number behind the last block.
  uint64_t end() const { return end_; }
  /// Moves at most `bytes_max` bytes; true if anything moved. Requires running().
  bool step(size_t bytes_max);
  /// Returns true, once, when the operation is done.
  bool finish();
  /// Returns a member that this one waits for, or -1.
  int waits_for() const;
  bool needs(int member) const;
  /// Aborts the call of that round. The buffers are not used any more when this returns.
  void cancel(MailboxRound round);

 private:
  /// Elements [begin, begin + count) of a buffer.
  struct Chunk {
    size_t begin = 0;
    size_t count = 0;
  };
  bool find_buffers(MailboxRound round);
  void cut();
  size_t move_block();
  size_t reduce_block();
  size_t copy_block();
  size_t copy_from(const std::byte* from, Chunk part, size_t to) const;
  bool all_reduced(uint64_t block) const;
  Chunk chunk(uint64_t index, int member) const;
  Chunk piece(const Range& of, uint64_t index) const;
  /// True when this member reads buffers of that one, or that one those of this.
  bool reads(int member) const;
  bool is_read_by(int member) const;
  bool aborted(int member) const;
  bool received(int member) const;
  bool lags(int member) const;

  const SharedArea& area_;
  const OperationRequest* request_ = nullptr;
  MailboxRound round_ = {};
  size_t element_bytes_ = 1;
  size_t chunk_elements_ = 1;  ///< of every member and block but the last
  bool past_caches_ = false;   ///< copies larger than the caches
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t reduced_ = 0;
  uint64_t copied_ = 0;
  bool received_ = false;                  ///< this member reads no other's buffers any more
  bool intact_ = false;                    ///< nobody had aborted then
  std::vector<const std::byte*> inputs_;   ///< by member; null where none is read
  std::vector<const std::byte*> outputs_;  ///< by member; null where none is read
  std::vector<const std::byte*> sources_;
};

}  // namespace dt
