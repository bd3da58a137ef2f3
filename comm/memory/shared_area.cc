#include "comm/memory/shared_area.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace dt {

namespace {

constexpr size_t largest_slot_bytes = size_t{64} << 10;
/// With smaller slots, members would wait for each other between two blocks.
constexpr uint64_t slots_min = 8;
constexpr size_t ring_bytes_max = size_t{2} << 20;
constexpr size_t ring_bytes_min = size_t{32} << 10;
/// The rings of all members take at most this much, down to the smallest rings.
constexpr size_t all_rings_bytes_max = size_t{8} << 20;
/// A slot has a cache line for each member at least.
constexpr size_t line_bytes = 64;

size_t ring_bytes(int members) {
  const size_t share = all_rings_bytes_max / static_cast<size_t>(members);
  return std::max(std::clamp(std::bit_floor(share), ring_bytes_min, ring_bytes_max),
                  slots_min * std::bit_ceil(line_bytes * static_cast<size_t>(members)));
}

}  // namespace

/// A member's part of the memory; its ring of slots follows.
struct SharedArea::Member {
  std::array<Mailbox, 4> mailboxes;
  Progress progress;
};

SharedArea::SharedArea(Options options)
    : options_(std::move(options)),
      slot_bytes_max_(std::min(slot_bytes_max(cut_for()), options_.slot_bytes_max)),
      ring_bytes_(slot_bytes_max_ == options_.slot_bytes_max ? slots_min * slot_bytes_max_
                                                             : ring_bytes(cut_for())) {
  assert(options_.self >= 0 && options_.self < members());
  assert(std::has_single_bit(slot_bytes_max_) && cut_for() >= members());
}

size_t SharedArea::slot_bytes_max(int members) {
  return std::max(std::min(ring_bytes(members) / slots_min, largest_slot_bytes),
                  std::bit_ceil(line_bytes * static_cast<size_t>(members)));
}

size_t SharedArea::part_bytes(int members) {
  return sizeof(Member) + ring_bytes(members);
}

std::vector<std::byte*> SharedArea::parts_in(std::byte* memory, int members) {
  std::vector<std::byte*> parts;
  for (int member = 0; member < members; ++member)
    parts.push_back(memory + static_cast<size_t>(member) * part_bytes(members));
  return parts;
}

void SharedArea::clear(std::byte* part) {
  // The slots need no clearing: blocks are read when they have been announced.
  Member& member = *reinterpret_cast<Member*>(part);
  for (Mailbox& mailbox : member.mailboxes)
    mailbox.round.store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>* position : {&member.progress.sent, &member.progress.reduced,
                                          &member.progress.received, &member.progress.aborted})
    position->store(0, std::memory_order_relaxed);
}

SharedArea::Member& SharedArea::member(int index) const {
  assert(index >= 0 && index < members());
  return *reinterpret_cast<Member*>(options_.parts[static_cast<size_t>(index)]);
}

Mailbox& SharedArea::mailbox(int index, MailboxRound round) const {
  const uint64_t sequence = round.number / MailboxRound::phases_max;
  return member(index).mailboxes[2 * (sequence % 2) + round.number % 2];
}

Progress& SharedArea::progress(int index) const {
  return member(index).progress;
}

std::byte* SharedArea::slot(int index, uint64_t number, size_t slot_bytes) const {
  assert(std::has_single_bit(slot_bytes) && slot_bytes <= slot_bytes_max_);
  return reinterpret_cast<std::byte*>(&member(index) + 1) + number % slots(slot_bytes) * slot_bytes;
}

void SharedArea::wake_others() const {
  if (!options_.wake) return;
  // The load of a sleep flag must follow the store of the position.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  options_.wake();
}

void SharedArea::fetch_mailbox(MailboxRound round, size_t bytes) const {
  // A write fetches a line for writing, and no program waits for its end.
  Mailbox& own = mailbox(self(), round);
  own.call_hash = 0;
  if (bytes <= Mailbox::near_bytes) return;
  const size_t end = std::min(bytes, Mailbox::input_bytes_max);
  for (size_t at = 0; at < end; at += line_bytes)
    own.far[at] = std::byte{0};
}

uint64_t SharedArea::published_by_others() const {
  // All positions only grow, so their sum changes with each of them.
  uint64_t sum = 0;
  for (int index = 0; index < members(); ++index) {
    if (index == options_.self) continue;
    Member& other = member(index);
    for (const Mailbox& mailbox : other.mailboxes)
      sum += mailbox.round.load(std::memory_order_seq_cst);
    sum += other.progress.sent.load(std::memory_order_seq_cst);
    sum += other.progress.reduced.load(std::memory_order_seq_cst);
    sum += other.progress.received.load(std::memory_order_seq_cst);
  }
  return sum;
}

}  // namespace dt
