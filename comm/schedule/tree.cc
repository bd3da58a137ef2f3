#include "comm/schedule/tree.h"

#include <algorithm>

namespace dt {

namespace {

/// A group whose ranks are counted from the root, which has number 0.
class Turned {
 public:
  Turned(Group group, int root)
      : size(group.size), self((group.rank - root + group.size) % group.size), root_(root) {}

  int rank_of(int number) const { return (number + root_) % size; }
  /// The lowest set bit of this number; for the root, the first power of two from `size`.
  int low_bit() const {
    int bit = 1;
    while (bit < size && (self & bit) == 0)
      bit *= 2;
    return bit;
  }

  int size;
  int self;

 private:
  int root_;
};

/// Copies a range from number 0 to all others.
Steps broadcast_from(const Turned& turned, Range all) {
  Steps steps;
  if (all.count() == 0) return steps;
  int bit = turned.low_bit();
  if (turned.self != 0)
    steps.push_back({.receive_from = turned.rank_of(turned.self - bit), .receive = all});
  for (bit /= 2; bit > 0; bit /= 2) {
    if (turned.self + bit < turned.size)
      steps.push_back({.send_to = turned.rank_of(turned.self + bit), .send = all});
  }
  return steps;
}

/// Reduces to number 0. Ranks with children keep their sums in `sums`.
Steps reduce_to_root(const Turned& turned, size_t count, Place sums) {
  Steps steps;
  if (count == 0) return steps;
  const int low = turned.low_bit();
  Range own{0, count, Place::input};
  for (int bit = 1; bit < low && turned.self + bit < turned.size; bit *= 2) {
    steps.push_back({.receive_from = turned.rank_of(turned.self + bit),
                     .receive = own.in(sums),
                     .fold = Fold::operand_first,
                     .operand = own});
    own.place = sums;
  }
  if (turned.self != 0)
    steps.push_back({.send_to = turned.rank_of(turned.self - low), .send = own});
  return steps;
}

/// The parts of ranks [begin, end), counted from the root.
struct Subtree {
  int begin = 0;
  int end = 0;
  int count() const { return end - begin; }
};

/// The transfer of a subtree's parts between the root and a child of it. The root has the parts by
/// rank, so they are in one or two pieces. The child has them in one piece.
struct Piece {
  Range at_root;
  Range at_child;
};

std::vector<Piece> pieces_of(const Turned& turned, Subtree tree, size_t count) {
  const int first = turned.rank_of(tree.begin);
  const int before_wrap = std::min(tree.count(), turned.size - first);
  const auto parts = [&](int begin, int end) {
    return Range{static_cast<size_t>(begin) * count, static_cast<size_t>(end) * count};
  };
  std::vector<Piece> pieces = {{parts(first, first + before_wrap), parts(0, before_wrap)}};
  if (before_wrap < tree.count())
    pieces.push_back({parts(0, tree.count() - before_wrap), parts(before_wrap, tree.count())});
  return pieces;
}

/// A rank's view of a gather or scatter: its own subtree, and the subtree of each child.
struct Branch {
  Branch(Group group, int root, size_t count_of_part)
      : turned(group, root), count(count_of_part), low(turned.low_bit()) {
    own = {turned.self, std::min(turned.self + low, turned.size)};
    for (int bit = 1; bit < low && turned.self + bit < turned.size; bit *= 2)
      children.push_back({turned.self + bit, std::min(turned.self + 2 * bit, turned.size)});
  }

  bool is_root() const { return turned.self == 0; }
  bool parent_is_root() const { return turned.self == low; }
  int parent() const { return turned.rank_of(turned.self - low); }
  int rank_of(const Subtree& child) const { return turned.rank_of(child.begin); }
  /// The memory of this rank, which is not the root, for the parts of a subtree.
  Range work(const Subtree& tree) const {
    const auto begin = static_cast<size_t>(tree.begin - turned.self);
    return {begin * count, (begin + static_cast<size_t>(tree.count())) * count, Place::work};
  }

  Turned turned;
  size_t count;
  int low;
  Subtree own;
  std::vector<Subtree> children;  ///< the nearest first
};

}  // namespace

Steps binomial_broadcast(Group group, size_t count, int root) {
  const Place place = group.rank == root ? Place::input : Place::output;
  Steps steps = broadcast_from(Turned(group, root), {0, count, place});
  if (group.rank == root) append_copy(steps, group, {0, count, Place::input}, {0, count});
  return steps;
}

Steps binomial_reduce(Group group, size_t count, int root) {
  Steps steps =
      reduce_to_root(Turned(group, root), count, group.rank == root ? Place::output : Place::work);
  if (group.size == 1) append_copy(steps, group, {0, count, Place::input}, {0, count});
  return steps;
}

Steps tokens_to_root(Group group, int root, size_t work) {
  Steps steps;
  const Turned turned(group, root);
  const int low = turned.low_bit();
  const Range own{work, work + 1, Place::work};
  for (int bit = 1; bit < low && turned.self + bit < turned.size; bit *= 2)
    steps.push_back({.receive_from = turned.rank_of(turned.self + bit),
                     .receive = {work + 1, work + 2, Place::work}});
  if (turned.self != 0)
    steps.push_back({.send_to = turned.rank_of(turned.self - low), .send = own});
  return steps;
}

Steps tokens_from_root(Group group, int root, size_t work) {
  return broadcast_from(Turned(group, root), {work, work + 1, Place::work});
}

Steps tree_all_reduce(Group group, size_t count) {
  const Turned turned(group, 0);
  Steps steps = reduce_to_root(turned, count, Place::output);
  if (group.size == 1) append_copy(steps, group, {0, count, Place::input}, {0, count});
  const Steps down = broadcast_from(turned, {0, count});
  steps.insert(steps.end(), down.begin(), down.end());
  return steps;
}

Steps binomial_gather(Group group, size_t count, int root) {
  Steps steps;
  const Branch branch(group, root, count);
  const Range input{0, count, Place::input};
  if (count == 0) return steps;
  if (branch.is_root()) {
    append_copy(steps, group, input, equal_part(count, root));
    for (const Subtree& child : branch.children)
      for (const Piece& piece : pieces_of(branch.turned, child, count))
        steps.push_back({.receive_from = branch.rank_of(child), .receive = piece.at_root});
    return steps;
  }
  const Place place = branch.children.empty() ? Place::input : Place::work;
  if (place == Place::work) append_copy(steps, group, input, input.in(Place::work));
  for (const Subtree& child : branch.children)
    steps.push_back({.receive_from = branch.rank_of(child), .receive = branch.work(child)});
  if (!branch.parent_is_root()) {
    steps.push_back({.send_to = branch.parent(), .send = branch.work(branch.own).in(place)});
    return steps;
  }
  for (const Piece& piece : pieces_of(branch.turned, branch.own, count))
    steps.push_back({.send_to = root, .send = piece.at_child.in(place)});
  return steps;
}

Steps binomial_scatter(Group group, size_t count, int root) {
  Steps steps;
  Branch branch(group, root, count);
  if (count == 0) return steps;
  // The farthest child has the most parts to forward.
  std::reverse(branch.children.begin(), branch.children.end());
  if (branch.is_root()) {
    for (const Subtree& child : branch.children)
      for (const Piece& piece : pieces_of(branch.turned, child, count))
        steps.push_back({.send_to = branch.rank_of(child), .send = piece.at_root.in(Place::input)});
    append_copy(steps, group, equal_part(count, root).in(Place::input), {0, count});
    return steps;
  }
  const Place place = branch.children.empty() ? Place::output : Place::work;
  if (branch.parent_is_root()) {
    for (const Piece& piece : pieces_of(branch.turned, branch.own, count))
      steps.push_back({.receive_from = root, .receive = piece.at_child.in(place)});
  } else {
    steps.push_back(
        {.receive_from = branch.parent(), .receive = branch.work(branch.own).in(place)});
  }
  for (const Subtree& child : branch.children)
    steps.push_back({.send_to = branch.rank_of(child), .send = branch.work(child)});
  if (place == Place::work) append_copy(steps, group, {0, count, Place::work}, {0, count});
  return steps;
}

}  // namespace dt
