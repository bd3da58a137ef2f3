#pragma once

#include "base/kernels/float8.h"
#include "base/kernels/half.h"
#include "comm/collective/reduce.h"
#include "comm/engine/engine.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// One call: a collective of a group's ranks, or a message between two of them. All ranks are those
/// in the group.
struct Call {
  size_t group = 0;  ///< its index in the plan
  OperationKind kind = OperationKind::barrier;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  int root = 0;  ///< of collectives that have one
  int from = 0;  ///< message
  int to = 0;    ///< message
  size_t count = 0;
  std::string name = {};
  bool by_name = false;      ///< it matches by its name
  bool odd_by_name = false;  ///< the odd rank may give another name
  int odd_rank = -1;   ///< this rank makes the call differently; for a message, its receiver does
  size_t salt = 0;     ///< of the values
  bool rough = false;  ///< sums are rounded: the test only checks that all ranks have equal bits
  Compression compression = Compression::none;  ///< the results stay exact, unless they are rough
  int exponent = 0;  ///< floating inputs of sums, minima and maxima are scaled by this power of 2
  double prescale = 1;   ///< powers of 2: the results stay exact
  double postscale = 1;  ///< as prescale
  int priority = 0;      ///< of calls by name; plus the rank, so that it differs between the ranks
  size_t tensors = 0;    ///< an all_reduce by name of so many tensors behind each other; 0: of one

  /// The members that make the call. The others have joined, or will.
  std::vector<int> callers = {};  ///< empty: all
  bool average_active = false;    ///< the average is over the callers

  bool is_message() const { return kind == OperationKind::send; }
  bool is_made_by(int rank) const {
    return callers.empty() || std::ranges::find(callers, rank) != callers.end();
  }
  /// True when the members that do not make the call are needed.
  bool needs_joined() const {
    if (callers.empty()) return false;
    return !reduces(kind) || (is_rooted(kind) && !is_made_by(root));
  }
};

/// The calls of a run, and the actions of each rank, in order.
struct Program {
  struct Action {
    bool creates = false;  ///< a group; otherwise it makes a call
    size_t index = 0;      ///< of the group or the call
  };
  std::vector<Call> calls;
  std::vector<std::vector<Action>> by_rank;
};

inline void store(ElementType type, std::byte* at, double value) {
  const auto put = [&](auto element) { std::memcpy(at, &element, sizeof element); };
  const auto put_small = [&](auto element) {
    from_float(static_cast<float>(value), element);
    put(element);
  };
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
      return put(static_cast<uint8_t>(value));
    case ElementType::boolean:
      return put(static_cast<uint8_t>(value != 0 ? 1 : 0));
    case ElementType::int16:
    case ElementType::uint16:
      return put(static_cast<uint16_t>(value));
    case ElementType::int32:
    case ElementType::uint32:
      return put(static_cast<uint32_t>(value));
    case ElementType::int64:
    case ElementType::uint64:
      return put(static_cast<uint64_t>(value));
    case ElementType::float16:
      return put_small(Float16());
    case ElementType::bfloat16:
      return put_small(BFloat16());
    case ElementType::float32:
      return put(static_cast<float>(value));
    case ElementType::float64:
      return put(value);
    case ElementType::float8_e4m3:
      return put_small(Float8E4M3());
    case ElementType::float8_e5m2:
      return put_small(Float8E5M2());
  }
}

/// False for the average of booleans.
inline bool has_reduction(ElementType type, ReduceOp reduce) {
  return type != ElementType::boolean || reduce != ReduceOp::average;
}

/// Returns an element of a rank's input: a small whole number, unless the call is rough. Every type
/// holds their sums (up to 8 in 8 bits) and products. Numbers that are moved differ in most calls.
inline double input_value(const Call& call, int rank, size_t i) {
  if (!reduces(call.kind))
    return static_cast<double>((i * 7 + static_cast<size_t>(rank) * 13 + call.salt) % 101);
  size_t mixed = (i * 7 + static_cast<size_t>(rank) * 13 + call.count) % 4;
  if (is_floating(call.type) && element_bytes(call.type) == 1) mixed = rank < 8 ? mixed % 2 : 0;
  // A product of twos would be true everywhere.
  if (call.type == ElementType::boolean) return mixed < 2 ? 1.0 : 0.0;
  if (call.rough) return 1.0 / static_cast<double>(mixed * 3 + static_cast<size_t>(rank) + 1);
  if (call.reduce != ReduceOp::product)
    return std::ldexp(static_cast<double>(mixed), is_floating(call.type) ? call.exponent : 0);
  return rank < 3 && mixed % 2 == 1 ? 2.0 : 1.0;
}

inline double unscaled_value(const Call& call, int size, size_t i) {
  const int first = call.callers.empty() ? 0 : call.callers.front();
  double result = input_value(call, first, i);
  for (int rank = first + 1; rank < size; ++rank) {
    if (!call.is_made_by(rank)) continue;
    const double value = input_value(call, rank, i);
    if (call.reduce == ReduceOp::min) result = std::min(result, value);
    if (call.reduce == ReduceOp::max) result = std::max(result, value);
    if (call.reduce == ReduceOp::product) result *= value;
    if (call.reduce == ReduceOp::sum || call.reduce == ReduceOp::average) result += value;
  }
  const bool wide = call.type == ElementType::float64;
  if (call.reduce != ReduceOp::average) return result;
  const bool some = call.average_active && !call.callers.empty();
  const int over = some ? static_cast<int>(call.callers.size()) : size;
  if (!is_floating(call.type)) return std::trunc(result / over);
  return wide ? result / over
              : static_cast<double>(static_cast<float>(result) / static_cast<float>(over));
}

inline double reduced_value(const Call& call, int size, size_t i) {
  return call.prescale * call.postscale * unscaled_value(call, size, i);
}

/// Returns the count of the part that one rank sends another in all_to_all_v.
inline size_t split_count(const Call& call, int from, int to) {
  return static_cast<size_t>(from * 3 + to * 5) % (call.count + 1);
}

/// Returns a rank's own count in all_gather_v.
inline size_t ragged_count(const Call& call, int rank) {
  return static_cast<size_t>(rank * 5 + 1) % (call.count + 1);
}

inline std::vector<size_t> split_counts(const Call& call, int from, int size) {
  std::vector<size_t> counts;
  for (int to = 0; to < size; ++to)
    counts.push_back(split_count(call, from, to));
  return counts;
}

/// Returns the counts of the parts that this rank receives.
inline std::vector<size_t> received_counts(const Call& call, int rank, int size) {
  std::vector<size_t> counts;
  for (int from = 0; from < size; ++from)
    counts.push_back(call.kind == OperationKind::all_to_all_v ? split_count(call, from, rank)
                                                              : ragged_count(call, from));
  return counts;
}

/// Returns the number of elements of this rank's input.
inline size_t input_count(const Call& call, int rank, int size) {
  const std::vector<size_t> splits = split_counts(call, rank, size);
  switch (call.kind) {
    case OperationKind::barrier:
    case OperationKind::join:
      return 0;
    case OperationKind::reduce_scatter:
    case OperationKind::scatter:
    case OperationKind::all_to_all:
      return call.count * static_cast<size_t>(size);
    case OperationKind::all_to_all_v:
      return std::accumulate(splits.begin(), splits.end(), size_t{0});
    case OperationKind::all_gather_v:
      return ragged_count(call, rank);
    default:
      return call.count;
  }
}

/// Returns the number of elements of each rank's output.
inline size_t output_count(const Call& call, int size) {
  const bool parts = call.kind == OperationKind::all_gather || call.kind == OperationKind::gather ||
                     call.kind == OperationKind::all_to_all;
  return call.kind == OperationKind::barrier ? 0
                                             : call.count * static_cast<size_t>(parts ? size : 1);
}

/// Element i of the output that this rank must get.
inline double expected_value(const Call& call, int rank, int size, size_t i) {
  const size_t own = static_cast<size_t>(rank) * call.count;
  switch (call.kind) {
    case OperationKind::send:
      return input_value(call, call.from, i);
    case OperationKind::broadcast:
      return input_value(call, call.root, i);
    case OperationKind::scatter:
      return input_value(call, call.root, own + i);
    case OperationKind::all_gather:
    case OperationKind::gather:
      return input_value(call, static_cast<int>(i / call.count), i % call.count);
    case OperationKind::all_to_all:
      return input_value(call, static_cast<int>(i / call.count), own + i % call.count);
    case OperationKind::reduce_scatter:
      return reduced_value(call, size, own + i);
    default:
      return reduced_value(call, size, i);
  }
}

/// Returns the output that this rank must get.
inline Bytes expected_output(const Call& call, int rank, int size) {
  const size_t bytes = element_bytes(call.type);
  Bytes output(output_count(call, size) * bytes);
  for (size_t i = 0; i * bytes < output.size(); ++i)
    store(call.type, output.data() + i * bytes, expected_value(call, rank, size, i));
  return output;
}

/// Returns the result that this rank must get when the ranks have own counts.
inline Bytes expected_parts(const Call& call, int rank, int size) {
  const size_t bytes = element_bytes(call.type);
  Bytes parts;
  for (int from = 0; from < size; ++from) {
    size_t begin = 0;
    if (call.kind == OperationKind::all_to_all_v)
      for (int to = 0; to < rank; ++to)
        begin += split_count(call, from, to);
    const size_t count = received_counts(call, rank, size)[static_cast<size_t>(from)];
    for (size_t i = 0; i < count; ++i) {
      parts.resize(parts.size() + bytes);
      store(call.type, parts.data() + parts.size() - bytes, input_value(call, from, begin + i));
    }
  }
  return parts;
}

/// Returns the ranges of elements that are tensors of their own, the first ones the smallest.
inline std::vector<std::pair<size_t, size_t>> tensor_ranges(const Call& call) {
  std::vector<std::pair<size_t, size_t>> ranges;
  size_t begin = 0;
  for (size_t i = 1; i <= call.tensors; ++i) {
    const size_t end = call.count * i * i / (call.tensors * call.tensors);
    ranges.emplace_back(begin, end);
    begin = end;
  }
  return ranges;
}

/// Returns the tensors of a call that has some: parts of its buffers.
inline std::vector<TensorOfList> tensors_of(const Call& call, const OperationRequest& request) {
  std::vector<TensorOfList> tensors;
  const size_t bytes = element_bytes(call.type);
  for (const auto& [begin, end] : tensor_ranges(call))
    tensors.push_back({.type = call.type,
                       .count = end - begin,
                       .input = static_cast<const std::byte*>(request.input) + begin * bytes,
                       .output = static_cast<std::byte*>(request.output) + begin * bytes});
  return tensors;
}

/// False for ranks of a rooted collective that get nothing.
inline bool has_output(const Call& call, int rank) {
  if (call.kind == OperationKind::broadcast) return rank != call.root;
  const bool to_root = call.kind == OperationKind::reduce || call.kind == OperationKind::gather;
  return !to_root || rank == call.root;
}

/// Returns a type of the same size that random_call() does not draw, if there is one.
inline ElementType other_of_size(ElementType type) {
  if (type == ElementType::uint8) return ElementType::boolean;
  if (type == ElementType::int8) return ElementType::float8_e4m3;
  if (type == ElementType::float16) return ElementType::int16;
  return type == ElementType::bfloat16 ? ElementType::uint16 : type;
}

inline Call random_call(Random& random, int size, bool large) {
  static constexpr size_t counts[] = {0, 1, 2, 3, 5, 17, 100, 1000, 5000};
  Call call;
  call.kind =
      static_cast<OperationKind>(random.below(static_cast<size_t>(OperationKind::barrier) + 1));
  call.type = static_cast<ElementType>(random.below(10));
  call.reduce = static_cast<ReduceOp>(random.below(5));
  const bool floating = is_floating(call.type);
  if (!reduces(call.kind)) call.reduce = ReduceOp::sum;
  call.rough = reduces(call.kind) && floating && random.percent(30);
  call.root = random.between(0, size - 1);
  call.salt = random.below(101);
  if (!call.rough && call.salt % 2 == 1) call.type = other_of_size(call.type);
  if (!has_reduction(call.type, call.reduce)) call.reduce = ReduceOp::product;
  if (call.rough && call.kind == OperationKind::all_reduce && random.percent(20))
    call.reduce = ReduceOp::adasum;
  const bool wide = call.type == ElementType::float32 || call.type == ElementType::float64;
  const bool exact = call.rough || call.reduce != ReduceOp::average;
  if (reduces(call.kind) && wide && exact && random.percent(25))
    call.compression = static_cast<Compression>(1 + random.below(2));
  call.count = counts[random.below(large ? 9 : 7)];
  if (random.percent(30)) call.name = "t" + std::to_string(random.below(100));
  const bool scales = reduces(call.kind) && floating && call.reduce != ReduceOp::adasum &&
                      call.reduce != ReduceOp::product && is_floating(call.type);
  if (scales && random.percent(30)) {
    call.prescale = std::ldexp(1.0, random.between(-2, 2));
    call.postscale = std::ldexp(1.0, random.between(-2, 2));
  }
  return call;
}

/// Lets the call match by its name.
inline void make_named(Random& random, Call& call, std::string name) {
  call.by_name = true;
  call.name = std::move(name);
  if (random.percent(30)) call.priority = random.between(-3, 3);
  if (call.kind == OperationKind::all_reduce && random.percent(30))
    call.tensors = 1 + random.below(4);
}

/// Returns the call as its odd rank makes it.
inline Call odd_call(Call call, size_t index) {
  if (call.kind == OperationKind::barrier) {
    call.kind = OperationKind::broadcast;
    call.count = 3;
  } else if (index % 3 == 0) {
    call.type = call.type == ElementType::float32 ? ElementType::float64 : ElementType::float32;
  } else if (call.odd_by_name && (index % 3 == 1 || has_own_counts(call.kind))) {
    call.name += "odd";
  } else if (has_own_counts(call.kind)) {
    call.kind = OperationKind::barrier;
  } else {
    call.count += 1;
  }
  return call;
}

/// The part of a program that concerns one group: the indices of each member's calls, in order.
using GroupCalls = std::vector<std::vector<size_t>>;

/// The kinds of calls that random_program() draws for a group.
struct CallRange {
  size_t collectives_max = 8;
  size_t messages_max = 9;
  bool large = false;
  bool mismatches = false;
};

inline Call random_message(Random& random, int size, const CallRange& range) {
  Call call = random_call(random, size, range.large);
  call.kind = OperationKind::send;
  call.reduce = ReduceOp::sum;
  call.compression = Compression::none;
  call.prescale = call.postscale = 1;
  call.rough = false;
  call.odd_by_name = true;
  call.from = call.root;
  call.to = (call.from + random.between(1, size - 1)) % size;
  if (range.mismatches && random.percent(20)) call.odd_rank = call.to;
  return call;
}

/// Gives the calls that match by name another order.
inline void mix_named(Random& random, const Program& program, std::vector<size_t>& calls) {
  std::vector<size_t> places;
  for (size_t i = 0; i < calls.size(); ++i)
    if (program.calls[calls[i]].by_name) places.push_back(i);
  for (size_t left = places.size(); left > 1; --left)
    std::swap(calls[places[left - 1]], calls[places[random.below(left)]]);
}

/// Appends named calls that some members make, and then a join of all.
inline void add_joins(Random& random, Program& program, bool large, GroupCalls& by_member) {
  const int size = static_cast<int>(by_member.size());
  const size_t calls = random.below(6);
  for (size_t i = 0; i < calls; ++i) {
    Call call = random_call(random, size, large);
    if (random.percent(60)) call.kind = OperationKind::all_reduce;
    make_named(random, call, "j" + std::to_string(i));
    call.average_active = reduces(call.kind) && call.reduce == ReduceOp::average && i % 2 == 0;
    for (int member = 0; member < size; ++member) {
      if (!random.percent(60)) continue;
      call.callers.push_back(member);
      by_member[static_cast<size_t>(member)].push_back(program.calls.size());
    }
    if (static_cast<int>(call.callers.size()) == size) call.callers.clear();
    program.calls.push_back(call);
  }
  for (auto& member : by_member)
    member.push_back(program.calls.size());
  program.calls.push_back({.kind = OperationKind::join, .by_name = true});
}

/// Makes unnamed collectives in one order for all members, and messages between them. Sender and
/// receiver keep the same order of messages, but may call them at different places among the
/// collectives.
inline GroupCalls add_group(Random& random, Program& program, int size, const CallRange& range) {
  GroupCalls by_member(static_cast<size_t>(size));
  const size_t first = program.calls.size();
  const size_t collectives = random.below(range.collectives_max + 1);
  for (size_t i = 0; i < collectives; ++i) {
    Call call = random_call(random, size, range.large);
    const bool odd = size > 1 && range.mismatches && random.percent(25);
    if (odd) call.odd_rank = random.between(0, size - 1);
    if (random.percent(40)) make_named(random, call, "n" + std::to_string(i));
    call.odd_by_name = !call.by_name;
    program.calls.push_back(call);
  }
  const size_t messages = size > 1 ? random.below(range.messages_max + 1) : 0;
  std::vector<size_t> sends(messages);
  std::vector<size_t> receives(messages);
  for (size_t i = 0; i < messages; ++i) {
    sends[i] = random.below(collectives + 1);
    receives[i] = random.below(collectives + 1);
    program.calls.push_back(random_message(random, size, range));
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receives.begin(), receives.end());
  for (size_t place = 0; place <= collectives; ++place) {
    for (size_t i = 0; i < messages; ++i) {
      const size_t index = first + collectives + i;
      const Call& call = program.calls[index];
      if (sends[i] == place) by_member[static_cast<size_t>(call.from)].push_back(index);
      if (receives[i] == place) by_member[static_cast<size_t>(call.to)].push_back(index);
    }
    for (auto& calls : by_member)
      if (place < collectives) calls.push_back(first + place);
  }
  for (auto& calls : by_member)
    mix_named(random, program, calls);
  if (random.percent(30)) add_joins(random, program, range.large, by_member);
  return by_member;
}

/// Mixes the calls of a rank's groups, and creates each group at some time before its first call.
/// `calls` has those of each group of the plan; null for a group without this rank.
inline std::vector<Program::Action> mixed_actions(
    Random& random, const std::vector<const std::vector<size_t>*>& calls) {
  std::vector<Program::Action> actions;
  std::vector<size_t> left;  // groups with further calls, once for each call
  for (size_t group = 0; group < calls.size(); ++group)
    if (calls[group] != nullptr) left.insert(left.end(), calls[group]->size(), group);
  std::vector<size_t> next(calls.size());
  size_t created = 1;
  const auto create_until = [&](size_t end) {
    for (; created < end; ++created)
      if (calls[created] != nullptr) actions.push_back({.creates = true, .index = created});
  };
  while (!left.empty()) {
    const size_t pick = random.below(left.size());
    const size_t group = left[pick];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
    if (random.percent(20)) create_until(std::min(created + 1, calls.size()));
    create_until(group + 1);
    actions.push_back({.creates = false, .index = (*calls[group])[next[group]++]});
  }
  create_until(calls.size());
  return actions;
}

/// The members of a group keep one order of its calls; those of different groups mix differently on
/// each rank.
inline Program random_program(Random& random, const std::vector<SimGroup>& groups,
                              bool mismatches) {
  Program program;
  const bool large = random.percent(20);
  std::vector<GroupCalls> made;
  for (size_t group = 0; group < groups.size(); ++group) {
    const size_t before = program.calls.size();
    made.push_back(add_group(random, program, groups[group].size(),
                             {.collectives_max = group == 0 ? size_t{8} : size_t{5},
                              .messages_max = group == 0 ? size_t{9} : size_t{6},
                              .large = large,
                              .mismatches = mismatches}));
    for (size_t i = before; i < program.calls.size(); ++i)
      program.calls[i].group = group;
  }
  for (int rank = 0; rank < groups[0].size(); ++rank) {
    std::vector<const std::vector<size_t>*> calls;
    for (size_t group = 0; group < groups.size(); ++group) {
      const int member = groups[group].rank_of(rank);
      calls.push_back(member < 0 ? nullptr : &made[group][static_cast<size_t>(member)]);
    }
    program.by_rank.push_back(mixed_actions(random, calls));
  }
  return program;
}

}  // namespace dt
