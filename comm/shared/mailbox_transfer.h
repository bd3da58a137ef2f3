#pragma once

#include "comm/memory/shared_area.h"
#include "comm/schedule/operation_request.h"
#include "comm/shared/part_layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// The part of a collective that passes through the mailboxes of a SharedArea. It consists of the
/// counts of members that have their own, and inputs where all are small. Each member makes its own
/// result from all small inputs, in the order of the members. So a result has the same bits
/// everywhere.
class MailboxTransfer {
 public:
  /// lay_out() sets `layout` for all kinds that only move data.
  MailboxTransfer(const SharedArea& area, PartLayout& layout);

  /// False where the counts of a member do not fit into a mailbox.
  static bool runs(OperationKind kind, int members) {
    return kind != OperationKind::all_to_all_v ||
           static_cast<size_t>(members) <= Mailbox::input_bytes_max / sizeof(size_t);
  }

  /// Begins an operation that it runs, whose `round` numbers the mailboxes. Requires that
  /// `request` lives until its end.
  void start(const OperationRequest& request, MailboxRound round);
  /// Writes this member's counts into its mailbox, and its input where that is small.
  void post() const;
  /// Begins to fetch the input of a member that may have made its call. So it arrives together with
  /// the announcement.
  void prefetch(int member) const;
  /// The size of this member's input, or of the input of each member that has one.
  size_t input_bytes() const { return input_bytes_; }
  /// True when this member's input is small. Equal on all members whose counts are.
  bool small() const { return counts_bytes_ + input_bytes_ <= small_bytes_max_; }
  /// False when the inputs of all members are small.
  bool may_be_large() const { return has_counts() || !small(); }
  /// Finds out which bytes the members get of each other, and allocates the result of members with
  /// own counts. Returns true when all inputs lie in the mailboxes; the same on all members.
  /// Requires that all members have made the same call.
  bool lay_out();
  /// Writes this member's result. Requires that lay_out() returned true.
  void receive();

 private:
  bool has_counts() const { return counts_bytes_ > 0; }
  const std::byte* posted(int member) const;
  bool read_counts();
  void copy();
  void reduce();

  const SharedArea& area_;
  PartLayout& layout_;
  const OperationRequest* request_ = nullptr;
  MailboxRound round_ = {};
  size_t small_bytes_max_;   ///< of an input and its counts
  size_t counts_bytes_ = 0;  ///< of each member's own counts
  size_t input_bytes_ = 0;   ///< of this member, or of each member that has an input
  std::vector<const std::byte*> sources_;
  std::vector<size_t> held_counts_;    ///< copies, since a member may change what it has posted
  std::vector<const size_t*> counts_;  ///< by member
};

}  // namespace dt
