#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

class HostMap;

/// A buffer of one rank's call. `input` is only read. `work` is memory of the engine.
enum class Place : uint8_t { output, input, work };

/// Elements [begin, end) of one buffer.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  Place place = Place::output;

  size_t count() const { return end - begin; }
  /// The same elements of another buffer.
  Range in(Place other) const { return {begin, end, other}; }
  bool operator==(const Range&) const = default;
};

/// The use of received elements.
enum class Fold : uint8_t {
  replace,         ///< they become the range
  operand_first,   ///< range = operand op received
  received_first,  ///< range = received op operand
  inputs,          ///< in a copy: `send` has several inputs behind each other, each as long as the
                   ///< range. The range becomes their reduction from left to right
};

/// One step of one rank: it sends a range, receives another, or both at once. The next step starts
/// when both are complete. A step that sends to its own rank copies `send` to `receive` there.
struct Step {
  int send_to = -1;  ///< -1: nothing is sent
  Range send = {};
  int receive_from = -1;  ///< -1: nothing is received
  Range receive = {};
  Fold fold = Fold::replace;
  Range operand = {};  ///< unless fold is `replace`: as long as `receive`, and may equal it
  bool operator==(const Step&) const = default;
};

/// A rank's part of a collective. Promises of every schedule in this folder: it ends on every rank
/// even when links buffer no byte. No range is empty. No step writes a range that it sends. Input
/// and output may be the same buffer where the function does not exclude it. Each element of the
/// result has the same bits on every rank. Either one rank computes it, or all apply the operation
/// to the same operands in the same order.
using Steps = std::vector<Step>;

struct Group {
  int rank = 0;
  int size = 1;
  const HostMap* hosts = nullptr;  ///< null: all ranks are on one host
};

/// The part of `count` elements that rank `part` of `size` owns. Parts are in order, and differ by
/// one element at most.
Range part_range(size_t count, int part, int size);
/// Part `part` of parts with `count` elements each.
Range equal_part(size_t count, int part);

/// Appends a copy on this rank; none if the range is empty.
void append_copy(Steps& steps, Group group, Range from, Range to);
/// Appends a step without its empty sides; nothing if both are empty.
void append_transfer(Steps& steps, Step step);

/// Returns how many elements of work memory the steps use.
size_t work_elements(const Steps& steps);

}  // namespace dt
