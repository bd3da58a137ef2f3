#pragma once

#include "comm/schedule/algorithm.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <vector>

namespace dt {

/// A pseudo-random number. Sums of them are equal only when each input is in them once.
using Element = uint64_t;
using Elements = std::vector<Element>;

inline Element element(int rank, size_t index) {
  Element x = (Element{static_cast<unsigned>(rank)} << 32) + index + 1;
  x *= 0x9e3779b97f4a7c15U;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 32);
}

inline Elements elements(int rank, size_t count) {
  Elements values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = element(rank, i);
  return values;
}

/// All ranks over links that buffer nothing. A transfer happens only when its sender and its
/// receiver are both at that step.
class Game {
 public:
  using Schedule = std::function<Steps(Group)>;
  using Operation = Element (*)(Element, Element);
  static Element add(Element a, Element b) { return a + b; }

  Game(int size, const Schedule& schedule, Operation operation = add)
      : operation_(operation), executors_(static_cast<size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) {
      Executor& p = executor(rank);
      p.steps = schedule({rank, size});
      p.buffers[2].resize(work_elements(p.steps));
    }
  }

  Elements& input(int rank) { return buffer(executor(rank), Place::input); }
  Elements& output(int rank) { return buffer(executor(rank), Place::output); }
  /// The memory of a place; of work memory, at least the steps' own.
  Elements& of(int rank, Place place) { return buffer(executor(rank), place); }
  /// Makes the input the beginning of the output, on every rank.
  void in_place() {
    for (Executor& p : executors_) {
      const Elements input = p.buffers[1];
      p.buffers[0].resize(std::max(p.buffers[0].size(), input.size()));
      std::copy(input.begin(), input.end(), p.buffers[0].begin());
      p.aliased = true;
    }
  }

  /// Returns false when no rank can move although some have not reached the end.
  bool execute() {
    for (int rank = 0; rank < static_cast<int>(executors_.size()); ++rank)
      queue_.push_back(rank);
    while (!queue_.empty()) {
      const int rank = queue_.front();
      queue_.pop_front();
      while (advance(rank)) {
      }
    }
    for (const Executor& p : executors_)
      if (p.next < p.steps.size()) return false;
    return true;
  }

 private:
  struct Executor {
    Steps steps;
    size_t next = 0;
    bool sent = false;
    bool received = false;
    bool aliased = false;
    std::array<Elements, 3> buffers;  ///< by place
  };

  /// As REQUIRE, which would take most of the time here.
  static void require(bool holds, const char* otherwise) {
    if (!holds) FAIL(otherwise);
  }

  Executor& executor(int rank) { return executors_[static_cast<size_t>(rank)]; }

  static Elements& buffer(Executor& p, Place place) {
    if (place == Place::input && p.aliased) place = Place::output;
    return p.buffers[static_cast<size_t>(place)];
  }
  static Element* at(Executor& p, const Range& range) {
    Elements& elements = buffer(p, range.place);
    require(range.begin < range.end, "a range is empty");
    require(range.end <= elements.size(), "a range ends behind its buffer");
    return elements.data() + range.begin;
  }

  /// Makes what is possible for the current step of a rank; true when that step is complete.
  bool advance(int rank) {
    Executor& p = executor(rank);
    if (p.next == p.steps.size()) return false;
    const Step& step = p.steps[p.next];
    if (step.send_to == rank) {
      const Elements copy(at(p, step.send), at(p, step.send) + step.send.count());
      step.fold == Fold::inputs ? reduce(p, step, copy) : copy_to(p, step, copy);
      ++p.next;
      return true;
    }
    if (step.send_to >= 0) transfer(rank, step.send_to);
    if (step.receive_from >= 0) transfer(step.receive_from, rank);
    if ((step.send_to >= 0 && !p.sent) || (step.receive_from >= 0 && !p.received)) return false;
    ++p.next;
    p.sent = p.received = false;
    return true;
  }

  static void copy_to(Executor& p, const Step& step, const Elements& copy) {
    require(step.receive.count() == copy.size(), "a copy changes its size");
    std::copy(copy.begin(), copy.end(), at(p, step.receive));
  }

  void reduce(Executor& p, const Step& step, const Elements& inputs) const {
    const size_t count = step.receive.count();
    require(inputs.size() % count == 0, "a reduction has inputs of another size than its result");
    Element* to = at(p, step.receive);
    std::copy_n(inputs.begin(), count, to);
    for (size_t i = count; i < inputs.size(); ++i)
      to[i % count] = operation_(to[i % count], inputs[i]);
  }

  void transfer(int sender, int receiver) {
    Executor& from = executor(sender);
    Executor& to = executor(receiver);
    if (from.next == from.steps.size() || to.next == to.steps.size()) return;
    const Step& send = from.steps[from.next];
    const Step& receive = to.steps[to.next];
    if (send.send_to != receiver || receive.receive_from != sender || from.sent || to.received)
      return;
    require(send.send.count() == receive.receive.count(), "sender and receiver differ");
    check_apart(to, receive);
    const Element* source = at(from, send.send);
    Element* target = at(to, receive.receive);
    const Element* operand = receive.fold == Fold::replace ? nullptr : at(to, receive.operand);
    for (size_t i = 0; i < send.send.count(); ++i)
      target[i] = combined(receive.fold, operand == nullptr ? 0 : operand[i], source[i]);
    from.sent = true;
    to.received = true;
    queue_.push_back(sender);
    queue_.push_back(receiver);
  }

  Element combined(Fold fold, Element operand, Element received) const {
    if (fold == Fold::replace) return received;
    return fold == Fold::operand_first ? operation_(operand, received)
                                       : operation_(received, operand);
  }

  /// The same step may still send when its data arrives.
  static void check_apart(Executor& p, const Step& step) {
    if (step.send_to < 0) return;
    const bool one_buffer = &buffer(p, step.send.place) == &buffer(p, step.receive.place);
    const bool overlap = step.send.begin < step.receive.end && step.receive.begin < step.send.end;
    require(!one_buffer || !overlap, "a step writes what it sends");
  }

  Operation operation_;
  std::vector<Executor> executors_;
  std::deque<int> queue_;  ///< ranks that may be able to move
};

/// Returns the elements that a rank sends to other ranks.
inline size_t elements_sent(int rank, const Steps& steps) {
  size_t sent = 0;
  for (const Step& step : steps)
    if (step.send_to >= 0 && step.send_to != rank) sent += step.send.count();
  return sent;
}

/// Returns the steps with another rank, one after the other.
inline size_t rounds(int rank, const Steps& steps) {
  size_t count = 0;
  for (const Step& step : steps)
    count += step.send_to == rank ? 0 : 1;
  return count;
}

}  // namespace dt
