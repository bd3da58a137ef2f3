#include "comm/memory/shared_area.h"

#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace dt {
namespace {

struct Part {
  const std::byte* begin;
  size_t bytes;
};

TEST_CASE("the parts of an area do not overlap, and lie in its memory") {
  for (const int members : {2, 3, 17, 128}) {
    CAPTURE(members);
    const HeapArea memory(members);
    const auto area = memory.of(0);
    std::vector<Part> parts;
    for (int member = 0; member < members; ++member) {
      for (const MailboxRound round : {MailboxRound::of(1), MailboxRound::of(1, 1),
                                       MailboxRound::of(2), MailboxRound::of(2, 1)})
        parts.push_back(
            {reinterpret_cast<std::byte*>(&area->mailbox(member, round)), sizeof(Mailbox)});
      parts.push_back({reinterpret_cast<std::byte*>(&area->progress(member)), sizeof(Progress)});
      const size_t bytes = area->slot_bytes_max();
      for (uint64_t number = 0; number < area->slots(bytes); ++number)
        parts.push_back({area->slot(member, number, bytes), bytes});
    }
    std::ranges::sort(parts, {}, &Part::begin);
    for (size_t i = 1; i < parts.size(); ++i)
      CHECK(parts[i - 1].begin + parts[i - 1].bytes <= parts[i].begin);
    const Part& last = parts.back();
    CHECK(last.begin + last.bytes <= parts.front().begin + SharedArea::bytes_for(members));
    for (const Part& part : parts)
      CHECK(reinterpret_cast<uintptr_t>(part.begin) % 64 == 0);
  }
}

TEST_CASE("an area grows slowly with its members, and a slot has a line for each of them") {
  for (const int members : {2, 8, 128, 1000}) {
    CAPTURE(members);
    CHECK(SharedArea::slot_bytes_max(members) >= 64 * static_cast<size_t>(members));
    CHECK(SharedArea::slot_bytes_max(members) <= size_t{64} << 10);
  }
  CHECK(SharedArea::bytes_for(128) <= size_t{13} << 20);
}

TEST_CASE(
    "a ring has slots of any size, at least eight, and is larger than common caches of a core") {
  for (const int members : {1, 2, 4}) {
    const HeapArea memory(members);
    const auto area = memory.of(0);
    for (const size_t bytes : {size_t{64}, size_t{4096}, size_t{65536}}) {
      CAPTURE(bytes);
      CHECK(area->slots(bytes) * bytes == size_t{2} << 20);
      CHECK(area->slot(0, 1, bytes) == area->slot(0, 0, bytes) + bytes);
    }
  }
  for (const int members : {17, 128, 1000}) {
    const HeapArea memory(members);
    CHECK(memory.of(0)->slots(memory.of(0)->slot_bytes_max()) >= 8);
  }
}

TEST_CASE("slots are used in turn; collectives and their phases use mailboxes in turn") {
  const HeapArea memory(2);
  const auto area = memory.of(1);
  CHECK(area->slot(0, 5, 4096) == area->slot(0, 5 + area->slots(4096), 4096));
  CHECK(area->slot(0, 5, 4096) != area->slot(0, 6, 4096));
  const auto mailbox = [&](uint64_t sequence, uint64_t phase) {
    return &area->mailbox(0, MailboxRound::of(sequence, phase));
  };
  CHECK(mailbox(5, 0) == mailbox(5, 2));
  CHECK(mailbox(5, 0) == mailbox(7, 0));
  CHECK(mailbox(5, 0) != mailbox(5, 1));
  CHECK(mailbox(5, 0) != mailbox(6, 0));
  CHECK(mailbox(5, 1) != mailbox(6, 0));
  CHECK(mailbox(5, MailboxRound::phases_max - 1) != mailbox(6, 0));
  CHECK(area->slot(1, 0, 64) == memory.of(0)->slot(1, 0, 64));
}

TEST_CASE("every publication of another member shows, and its own wakes the others") {
  const HeapArea memory(3);
  int woken = 0;
  const auto self = memory.of(0);
  const SharedArea waking(
      {.owner = {}, .parts = memory.parts(), .self = 1, .wake = [&woken] { ++woken; }});
  uint64_t seen = self->published_by_others();
  Progress& progress = waking.progress(1);
  for (std::atomic<uint64_t>* position : {&waking.mailbox(1, MailboxRound::of(1)).round,
                                          &waking.mailbox(1, MailboxRound::of(1, 1)).round,
                                          &waking.mailbox(1, MailboxRound::of(2)).round,
                                          &progress.sent, &progress.reduced, &progress.received}) {
    waking.publish(*position, *position + 1);
    CHECK(self->published_by_others() != seen);
    seen = self->published_by_others();
  }
  CHECK(woken == 6);
  CHECK(waking.published_by_others() == 0);
}

TEST_CASE("a store shows at once, and wakes the others only when that is asked for") {
  const HeapArea memory(2);
  int woken = 0;
  const auto other = memory.of(0);
  const auto self = memory.of(1, nullptr, [&woken] { ++woken; });
  SharedArea::store(self->mailbox(1, MailboxRound::of(1)).round, MailboxRound::of(1).number);
  CHECK(other->published_by_others() != 0);
  CHECK(woken == 0);
  self->wake_others();
  CHECK(woken == 1);
  other->wake_others();  // without sleepers
}

TEST_CASE("a mailbox that is fetched keeps its round, and all others their content") {
  constexpr std::byte mark{0x5a};
  const MailboxRound fetched = MailboxRound::of(2);
  const std::vector<MailboxRound> rounds = {MailboxRound::of(1), MailboxRound::of(1, 1), fetched,
                                            MailboxRound::of(2, 1)};
  for (const size_t bytes : {size_t{0}, Mailbox::near_bytes, Mailbox::near_bytes + 1,
                             Mailbox::input_bytes_max, 2 * Mailbox::input_bytes_max}) {
    CAPTURE(bytes);
    const HeapArea memory(2);
    const auto area = memory.of(1);
    for (const int member : {0, 1}) {
      for (const MailboxRound round : rounds) {
        Mailbox& mailbox = area->mailbox(member, round);
        mailbox.round = round.number;
        mailbox.call_hash = 7;
        mailbox.near.fill(mark);
        mailbox.far.fill(mark);
      }
    }
    area->progress(1).sent = 9;
    area->fetch_mailbox(fetched, bytes);
    CHECK(area->progress(1).sent == 9);
    for (const int member : {0, 1}) {
      for (const MailboxRound round : rounds) {
        const Mailbox& mailbox = area->mailbox(member, round);
        CHECK(mailbox.round == round.number);
        if (member == 1 && round == fetched) continue;
        CHECK(mailbox.call_hash == 7);
        CHECK(std::ranges::count(mailbox.near, mark) == std::ssize(mailbox.near));
        CHECK(std::ranges::count(mailbox.far, mark) == std::ssize(mailbox.far));
      }
    }
  }
}

TEST_CASE("a small input shares the line of its announcement") {
  const HeapArea memory(2);
  Mailbox& mailbox = memory.of(0)->mailbox(0, MailboxRound::of(1));
  const auto* begin = reinterpret_cast<std::byte*>(&mailbox);
  CHECK(mailbox.input(Mailbox::near_bytes) + Mailbox::near_bytes <= begin + 64);
  CHECK(mailbox.input(Mailbox::near_bytes + 1) == begin + 64);
}

TEST_CASE("a part that is cleared has no call and no block, and other parts keep theirs") {
  const HeapArea memory(2);
  const auto area = memory.of(0);
  for (const int member : {0, 1}) {
    for (const MailboxRound round :
         {MailboxRound::of(1), MailboxRound::of(1, 1), MailboxRound::of(2), MailboxRound::of(2, 1)})
      area->mailbox(member, round).round = round.number;
    area->progress(member).sent = 4;
    area->progress(member).aborted = MailboxRound::of(1).number;
  }
  SharedArea::clear(memory.parts()[1]);
  CHECK(area->published_by_others() == 0);
  CHECK(area->progress(1).aborted == 0);
  CHECK(area->mailbox(0, MailboxRound::of(2)).round == MailboxRound::of(2).number);
}

}  // namespace
}  // namespace dt
