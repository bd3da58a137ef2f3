#include "comm/schedule/bruck.h"

#include <algorithm>

namespace dt {

namespace {

/// Parts [begin, end) of `count` elements each.
Range parts(size_t count, int begin, int end, Place place) {
  return {static_cast<size_t>(begin) * count, static_cast<size_t>(end) * count, place};
}

/// The parts of an all-to-all whose distance has one bit set. They lie in the work memory in runs,
/// behind each other, and are packed into a second area there. A third area has the parts that
/// arrive.
class Round {
 public:
  Round(int size, size_t count, int bit) : size_(size), count_(count), bit_(bit) {
    for (int begin = bit; begin < size; begin += 2 * bit)
      packed_ += std::min(bit, size - begin);
  }

  Range sent() const { return parts(count_, size_, size_ + packed_, Place::work); }
  Range received() const {
    const int begin = size_ + (size_ + 1) / 2;
    return parts(count_, begin, begin + packed_, Place::work);
  }
  void append_pack(Steps& steps, Group group) const {
    for_each_run([&](Range run, size_t offset) {
      append_copy(steps, group, run, piece(sent(), offset, run.count()));
    });
  }
  void append_unpack(Steps& steps, Group group) const {
    for_each_run([&](Range run, size_t offset) {
      append_copy(steps, group, piece(received(), offset, run.count()), run);
    });
  }

 private:
  static Range piece(Range area, size_t offset, size_t length) {
    return {area.begin + offset, area.begin + offset + length, area.place};
  }
  template <class Action>
  void for_each_run(Action action) const {
    size_t offset = 0;
    for (int begin = bit_; begin < size_; begin += 2 * bit_) {
      const Range run = parts(count_, begin, std::min(begin + bit_, size_), Place::work);
      action(run, offset);
      offset += run.count();
    }
  }

  int size_;
  size_t count_;
  int bit_;
  int packed_ = 0;  ///< parts
};

}  // namespace

Steps bruck_all_gather(Group group, size_t count) {
  const int rank = group.rank;
  const int size = group.size;
  Steps steps;
  // Part i of the work memory is that of the i-th next rank.
  append_copy(steps, group, {0, count, Place::input}, {0, count, Place::work});
  for (int distance = 1; distance < size; distance *= 2) {
    const int moved = std::min(distance, size - distance);
    append_transfer(steps, {.send_to = (rank - distance + size) % size,
                            .send = parts(count, 0, moved, Place::work),
                            .receive_from = (rank + distance) % size,
                            .receive = parts(count, distance, distance + moved, Place::work)});
  }
  append_copy(steps, group, parts(count, 0, size - rank, Place::work),
              parts(count, rank, size, Place::output));
  append_copy(steps, group, parts(count, size - rank, size, Place::work),
              parts(count, 0, rank, Place::output));
  return steps;
}

Steps bruck_all_to_all(Group group, size_t count) {
  const int rank = group.rank;
  const int size = group.size;
  Steps steps;
  if (count == 0) return steps;
  // Part i of the work memory is for the i-th next rank …
  append_copy(steps, group, parts(count, rank, size, Place::input),
              parts(count, 0, size - rank, Place::work));
  append_copy(steps, group, parts(count, 0, rank, Place::input),
              parts(count, size - rank, size, Place::work));
  for (int bit = 1; bit < size; bit *= 2) {
    const Round round(size, count, bit);
    round.append_pack(steps, group);
    steps.push_back({.send_to = (rank + bit) % size,
                     .send = round.sent(),
                     .receive_from = (rank - bit + size) % size,
                     .receive = round.received()});
    round.append_unpack(steps, group);
  }
  // … and in the end from the i-th previous one.
  for (int i = 0; i < size; ++i) {
    const int from = (rank - i + size) % size;
    append_copy(steps, group, parts(count, i, i + 1, Place::work),
                parts(count, from, from + 1, Place::output));
  }
  return steps;
}

}  // namespace dt
