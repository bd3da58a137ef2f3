#include "comm/schedule/doubling.h"

#include <bit>

namespace dt {

namespace {

/// The ranks that exchange are a power of two, and have numbers of their own in the order of ranks.
/// The first 2 * `paired` ranks are pairs, and the upper one of each exchanges for both.
class Core {
 public:
  explicit Core(Group group)
      : size(static_cast<int>(std::bit_floor(static_cast<unsigned>(group.size)))),
        paired_(group.size - size),
        is_pair(group.rank < 2 * paired_),
        member(!is_pair || group.rank % 2 == 1),
        number(is_pair ? group.rank / 2 : group.rank - paired_) {}

  int rank_of(int of_number) const {
    return of_number < paired_ ? 2 * of_number + 1 : of_number + paired_;
  }

  int size;

 private:
  int paired_;

 public:
  bool is_pair;
  bool member;
  int number;
};

/// The steps of a rank whose neighbour exchanges for it.
Steps outside_core(Group group, Range all) {
  return {{.send_to = group.rank + 1, .send = all.in(Place::input)},
          {.receive_from = group.rank + 1, .receive = all}};
}

/// Adds the input of the lower neighbour to this rank's input.
Step add_neighbour(Group group, Range into) {
  return {.receive_from = group.rank - 1,
          .receive = into,
          .fold = Fold::received_first,
          .operand = into.in(Place::input)};
}

/// The lower number is the left operand on both sides of an exchange.
Fold fold_with(const Core& core, int partner) {
  return core.number < partner ? Fold::operand_first : Fold::received_first;
}

/// Parts [begin, end) of the core's parts, which have one part for each number.
struct Parts {
  int begin = 0;
  int end = 0;
  Range range(size_t count, int size) const {
    return {part_range(count, begin, size).begin, part_range(count, end - 1, size).end};
  }
};

}  // namespace

Steps recursive_doubling_all_reduce(Group group, size_t count, bool in_place) {
  Steps steps;
  const Range all{0, count};
  if (count == 0) return steps;
  if (group.size == 1) append_copy(steps, group, all.in(Place::input), all);
  const Core core(group);
  if (!core.member) return outside_core(group, all);
  // A step must not write the range that it sends. So results alternate between two buffers, and
  // the last one is in the output.
  int writes = std::countr_zero(static_cast<unsigned>(core.size)) + (core.is_pair ? 1 : 0);
  const auto next_place = [&] { return --writes % 2 == 0 ? Place::output : Place::work; };
  Range own = all.in(Place::input);
  if (core.is_pair) {
    own = all.in(next_place());
    steps.push_back(add_neighbour(group, own));
  } else if (in_place && writes % 2 == 1 && group.size > 1) {
    own = all.in(Place::work);
    append_copy(steps, group, all.in(Place::input), own);
  }
  for (int bit = 1; bit < core.size; bit *= 2) {
    const int partner = core.number ^ bit;
    const Range into = all.in(next_place());
    steps.push_back({.send_to = core.rank_of(partner),
                     .send = own,
                     .receive_from = core.rank_of(partner),
                     .receive = into,
                     .fold = fold_with(core, partner),
                     .operand = own});
    own = into;
  }
  if (core.is_pair) steps.push_back({.send_to = group.rank - 1, .send = all});
  return steps;
}

Steps recursive_doubling_of_wholes(Group group, size_t count) {
  Steps steps;
  const Range all{0, count};
  if (count == 0) return steps;
  const Core core(group);
  if (!core.member) return outside_core(group, all);
  // The work memory has the two inputs of a reduction, the lower rank's first.
  const Range both{0, 2 * count, Place::work};
  const auto half = [&](bool upper) {
    return upper ? Range{count, 2 * count, Place::work} : all.in(Place::work);
  };
  const auto place_of_own = [&](int bit) {
    return bit < core.size ? half((core.number & bit) != 0) : all;
  };
  const auto append_reduction = [&](Range to) {
    steps.push_back({.send_to = group.rank,
                     .send = both,
                     .receive_from = group.rank,
                     .receive = to,
                     .fold = Fold::inputs});
  };
  append_copy(steps, group, all.in(Place::input), core.is_pair ? half(true) : place_of_own(1));
  if (core.is_pair) {
    steps.push_back({.receive_from = group.rank - 1, .receive = half(false)});
    append_reduction(place_of_own(1));
  }
  for (int bit = 1; bit < core.size; bit *= 2) {
    const int partner = core.rank_of(core.number ^ bit);
    const bool is_upper = (core.number & bit) != 0;
    steps.push_back({.send_to = partner,
                     .send = half(is_upper),
                     .receive_from = partner,
                     .receive = half(!is_upper)});
    append_reduction(place_of_own(2 * bit));
  }
  if (core.is_pair) steps.push_back({.send_to = group.rank - 1, .send = all});
  return steps;
}

Steps halving_doubling_all_reduce(Group group, size_t count) {
  Steps steps;
  const Range all{0, count};
  if (count == 0) return steps;
  if (group.size == 1) append_copy(steps, group, all.in(Place::input), all);
  const Core core(group);
  if (!core.member) return outside_core(group, all);
  if (core.is_pair) steps.push_back(add_neighbour(group, all));
  Place place = core.is_pair ? Place::output : Place::input;
  Parts own{0, core.size};
  for (int bit = core.size / 2; bit > 0; bit /= 2) {
    const int partner = core.number ^ bit;
    const int middle = own.begin + bit;
    const Parts lower{own.begin, middle};
    const Parts upper{middle, own.end};
    own = core.number < partner ? lower : upper;
    const Range kept = own.range(count, core.size);
    const Range given = (core.number < partner ? upper : lower).range(count, core.size);
    append_transfer(steps, {.send_to = core.rank_of(partner),
                            .send = given.in(place),
                            .receive_from = core.rank_of(partner),
                            .receive = kept,
                            .fold = fold_with(core, partner),
                            .operand = kept.in(place)});
    place = Place::output;
  }
  for (int bit = 1; bit < core.size; bit *= 2) {
    const int partner = core.number ^ bit;
    const Parts other{own.begin ^ bit, (own.begin ^ bit) + bit};
    append_transfer(steps, {.send_to = core.rank_of(partner),
                            .send = own.range(count, core.size),
                            .receive_from = core.rank_of(partner),
                            .receive = other.range(count, core.size)});
    own = core.number < partner ? Parts{own.begin, other.end} : Parts{other.begin, own.end};
  }
  if (core.is_pair) steps.push_back({.send_to = group.rank - 1, .send = all});
  return steps;
}

}  // namespace dt
