#include "comm/schedule/schedule.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>

namespace dt {
namespace {

constexpr size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 10, 64, 100};

/// An element counts how often each rank's input is in it. Sums of such elements are exact and show
/// each contribution too many or too few.
using Element = uint64_t;  // four bits a rank, up to 16 ranks

Element of_rank(int rank) {
  return Element{1} << (4 * rank);
}

Element of_all(int size) {
  Element sum = 0;
  for (int rank = 0; rank < size; ++rank)
    sum += of_rank(rank);
  return sum;
}

struct Player {
  Steps steps;
  size_t next = 0;
  bool sent = false;
  bool received = false;
  std::vector<Element> buffer;
};

/// All ranks over links that buffer nothing. A transfer happens only when its sender and its
/// receiver are both at that step.
class Game {
 public:
  using Schedule = std::function<Steps(Group)>;
  Game(int size, const Schedule& schedule) : players_(static_cast<size_t>(size)) {
    for (int rank = 0; rank < size; ++rank)
      player(rank).steps = schedule({rank, size});
  }

  std::vector<Element>& buffer(int rank) { return player(rank).buffer; }

  /// False when no rank can move although some have not reached the end.
  bool play() {
    while (move_once()) {
    }
    for (const Player& p : players_)
      if (p.next < p.steps.size()) return false;
    return true;
  }

 private:
  Player& player(int rank) { return players_[static_cast<size_t>(rank)]; }

  bool move_once() {
    bool moved = false;
    for (int rank = 0; rank < static_cast<int>(players_.size()); ++rank)
      moved |= transfer(rank) || finish_step(player(rank));
    return moved;
  }

  bool transfer(int rank) {
    Player& from = player(rank);
    if (from.next == from.steps.size() || from.sent) return false;
    const Step& send = from.steps[from.next];
    if (send.send_to < 0) return false;
    Player& to = player(send.send_to);
    if (to.next == to.steps.size() || to.received) return false;
    const Step& receive = to.steps[to.next];
    if (receive.receive_from != rank) return false;
    REQUIRE(send.send.count() == receive.receive.count());
    REQUIRE(send.send.count() > 0);
    REQUIRE(send.send.end <= from.buffer.size());
    REQUIRE(receive.receive.end <= to.buffer.size());
    for (size_t i = 0; i < send.send.count(); ++i) {
      const Element value = from.buffer[send.send.begin + i];
      Element& into = to.buffer[receive.receive.begin + i];
      into = receive.reduce ? into + value : value;
    }
    from.sent = true;
    to.received = true;
    return true;
  }

  static bool finish_step(Player& p) {
    if (p.next == p.steps.size()) return false;
    const Step& step = p.steps[p.next];
    if ((step.send_to >= 0 && !p.sent) || (step.receive_from >= 0 && !p.received)) return false;
    ++p.next;
    p.sent = p.received = false;
    return true;
  }

  std::vector<Player> players_;
};

void for_each_shape(const std::function<void(int size, size_t count)>& test) {
  for (int size = 1; size <= 9; ++size) {
    for (const size_t count : counts) {
      CAPTURE(size);
      CAPTURE(count);
      test(size, count);
    }
  }
}

void check_all_reduce(Steps (*schedule)(Group, size_t)) {
  for_each_shape([&](int size, size_t count) {
    Game game(size, [&](Group group) { return schedule(group, count); });
    for (int rank = 0; rank < size; ++rank)
      game.buffer(rank).assign(count, of_rank(rank));
    REQUIRE(game.play());
    for (int rank = 0; rank < size; ++rank)
      CHECK(game.buffer(rank) == std::vector<Element>(count, of_all(size)));
  });
}

TEST_CASE("ring_all_reduce ends on every rank with each input in it once") {
  check_all_reduce(ring_all_reduce);
}

TEST_CASE("tree_all_reduce ends on every rank with each input in it once") {
  check_all_reduce(tree_all_reduce);
}

TEST_CASE("binomial_broadcast brings the root's elements to every rank, from every root") {
  for_each_shape([](int size, size_t count) {
    for (int root = 0; root < size; ++root) {
      Game game(size, [&](Group group) { return binomial_broadcast(group, count, root); });
      for (int rank = 0; rank < size; ++rank)
        game.buffer(rank).assign(count, of_rank(rank));
      REQUIRE(game.play());
      for (int rank = 0; rank < size; ++rank)
        CHECK(game.buffer(rank) == std::vector<Element>(count, of_rank(root)));
    }
  });
}

TEST_CASE("ring_all_gather brings every rank's part to every rank") {
  for_each_shape([](int size, size_t count) {
    Game game(size, [&](Group group) { return ring_all_gather(group, count); });
    std::vector<Element> all;
    for (int rank = 0; rank < size; ++rank) {
      game.buffer(rank).assign(count * static_cast<size_t>(size), 0);
      for (size_t i = 0; i < count; ++i)
        game.buffer(rank)[static_cast<size_t>(rank) * count + i] = of_rank(rank);
      all.insert(all.end(), count, of_rank(rank));
    }
    REQUIRE(game.play());
    for (int rank = 0; rank < size; ++rank)
      CHECK(game.buffer(rank) == all);
  });
}

TEST_CASE("ring_reduce_scatter leaves each rank its part, with each input in it once") {
  for_each_shape([](int size, size_t count) {
    Game game(size, [&](Group group) { return ring_reduce_scatter(group, count); });
    for (int rank = 0; rank < size; ++rank)
      game.buffer(rank).assign(count * static_cast<size_t>(size), of_rank(rank));
    REQUIRE(game.play());
    for (int rank = 0; rank < size; ++rank)
      for (size_t i = 0; i < count; ++i)
        CHECK(game.buffer(rank)[static_cast<size_t>(rank) * count + i] == of_all(size));
  });
}

TEST_CASE("nobody leaves a dissemination_barrier before everybody is in it") {
  for (int size = 1; size <= 9; ++size) {
    CAPTURE(size);
    // A token is the set of ranks that its sender knows to be in the barrier; element 0 is sent.
    std::vector<Steps> steps(static_cast<size_t>(size));
    std::vector<Element> heard(steps.size());
    for (size_t rank = 0; rank < steps.size(); ++rank) {
      steps[rank] = dissemination_barrier({static_cast<int>(rank), size});
      heard[rank] = Element{1} << rank;
    }
    for (size_t round = 0; round < steps[0].size(); ++round) {
      const std::vector<Element> before = heard;
      for (int rank = 0; rank < size; ++rank)
        heard[static_cast<size_t>(rank)] |=
            before[static_cast<size_t>(steps[static_cast<size_t>(rank)][round].receive_from)];
    }
    for (const Element who : heard)
      CHECK(who == (Element{1} << size) - 1);
    Game game(size, dissemination_barrier);
    for (int rank = 0; rank < size; ++rank)
      game.buffer(rank).assign(2, 0);
    CHECK(game.play());
  }
}

TEST_CASE("part_range cuts without gaps into parts that differ by one element at most") {
  for_each_shape([](int size, size_t count) {
    size_t end = 0;
    for (int part = 0; part < size; ++part) {
      const Range range = part_range(count, part, size);
      CHECK(range.begin == end);
      CHECK(range.count() - count / static_cast<size_t>(size) <= 1);
      end = range.end;
    }
    CHECK(end == count);
  });
}

}  // namespace
}  // namespace dt
