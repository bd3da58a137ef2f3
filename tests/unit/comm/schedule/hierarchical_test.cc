#include "comm/schedule/hierarchical.h"

#include "comm/schedule/ring.h"
#include "tests/unit/comm/schedule/schedule_game.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Labels of hosts with these numbers of ranks, host by host.
std::vector<int> filled(const std::vector<int>& sizes) {
  std::vector<int> labels;
  for (size_t host = 0; host < sizes.size(); ++host)
    labels.insert(labels.end(), static_cast<size_t>(sizes[host]), static_cast<int>(host));
  return labels;
}

/// Labels of ranks that are dealt to the hosts in turn.
std::vector<int> dealt(int ranks, int hosts) {
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank)
    labels.push_back(rank % hosts);
  return labels;
}

const std::vector<std::vector<int>>& layouts() {
  static const std::vector<std::vector<int>> all = {
      filled({1}),       filled({4}),       filled({1, 1, 1}),    filled({2, 2}),
      filled({2, 3}),    filled({3, 2}),    filled({1, 4}),       filled({3, 1, 2}),
      filled({4, 4, 4}), filled({5, 2, 4}), filled({2, 2, 2, 2}), dealt(4, 2),
      dealt(5, 2),       dealt(11, 3),      {0, 1, 1, 0, 2, 1},   dealt(16, 5)};
  return all;
}

constexpr std::array kinds = {OperationKind::all_reduce, OperationKind::reduce_scatter,
                              OperationKind::all_gather, OperationKind::broadcast};

struct Case {
  const HostMap& hosts;
  CollectiveShape shape;
  int size;
  bool gathers() const { return shape.kind == OperationKind::all_gather; }
  bool scatters() const { return shape.kind == OperationKind::reduce_scatter; }
};

Game execute(const Case& c, Game::Operation operation = Game::add) {
  const auto ranks = static_cast<size_t>(c.size);
  Game game(
      c.size,
      [&](Group group) {
        group.hosts = &c.hosts;
        return *steps_of(group, c.shape, Algorithm::hierarchical);
      },
      operation);
  for (int rank = 0; rank < c.size; ++rank) {
    game.input(rank) = elements(rank, c.shape.count * (c.scatters() ? ranks : 1));
    game.output(rank).resize(c.shape.count * (c.gathers() ? ranks : 1));
  }
  if (c.shape.in_place) game.in_place();
  REQUIRE(game.execute());
  return game;
}

Element sum_at(int size, size_t index) {
  Element sum = 0;
  for (int rank = 0; rank < size; ++rank)
    sum += element(rank, index);
  return sum;
}

void check_output(const Case& c, const std::function<Elements&(int rank)>& output) {
  CAPTURE(static_cast<int>(c.shape.kind));
  CAPTURE(c.size);
  CAPTURE(c.shape.count);
  CAPTURE(c.shape.root);
  CAPTURE(c.shape.in_place);
  const size_t count = c.shape.count;
  for (int rank = 0; rank < c.size; ++rank) {
    const size_t length = c.gathers() ? count * static_cast<size_t>(c.size) : count;
    const size_t own = c.scatters() ? static_cast<size_t>(rank) * count : 0;
    for (size_t i = 0; i < length; ++i) {
      const Element got = output(rank)[i];
      if (c.gathers()) {
        REQUIRE(got == element(static_cast<int>(i / count), i % count));
      } else if (c.shape.kind == OperationKind::broadcast) {
        REQUIRE(got == element(c.shape.root, i));
      } else {
        REQUIRE(got == sum_at(c.size, own + i));
      }
    }
  }
}

void check_result(const Case& c) {
  Game game = execute(c);
  check_output(c, [&](int rank) -> Elements& { return game.output(rank); });
}

TEST_CASE("every layout of hosts gives each element of the result, in and out of place") {
  for (const std::vector<int>& labels : layouts()) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    CAPTURE(hosts.hosts());
    for (const OperationKind kind : kinds) {
      for (const size_t count : {0, 1, 2, 3, 7, 40}) {
        const int roots = kind == OperationKind::broadcast ? size : 1;
        for (int root = 0; root < roots; ++root)
          for (const bool in_place : {false, true})
            check_result(
                {hosts, {.kind = kind, .count = count, .root = root, .in_place = in_place}, size});
      }
    }
  }
}

TEST_CASE("hosts with many ranks, 1,024 in all, give each element of the result") {
  const std::vector<std::vector<int>> many = {filled(std::vector<int>(128, 8)), dealt(1024, 32),
                                              dealt(1000, 3), filled({200, 57})};
  for (const std::vector<int>& labels : many) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    check_result({hosts, {.kind = OperationKind::all_reduce, .count = 70}, size});
    check_result({hosts, {.kind = OperationKind::broadcast, .count = 3, .root = 200}, size});
  }
  for (const std::vector<int>& labels : {filled(std::vector<int>(25, 4)), dealt(130, 4)}) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    check_result({hosts, {.kind = OperationKind::all_gather, .count = 1}, size});
    check_result({hosts, {.kind = OperationKind::reduce_scatter, .count = 1}, size});
  }
}

TEST_CASE("all ranks of all hosts compute one expression, whatever its order and grouping") {
  const auto operation = [](Element a, Element b) { return a * 31 + b * 17 + 7; };
  for (const std::vector<int>& labels : layouts()) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    // Small and large lanes have different algorithms between hosts.
    for (const size_t element_bytes : {1, 4096, 1 << 20}) {
      const CollectiveShape shape{
          .kind = OperationKind::all_reduce, .count = 40, .element_bytes = element_bytes};
      Game game = execute({hosts, shape, size}, operation);
      for (int rank = 1; rank < size; ++rank)
        REQUIRE(game.output(rank) == game.output(0));
    }
  }
}

TEST_CASE("without a map of hosts, all ranks count as being on one") {
  const CollectiveShape shape{.kind = OperationKind::all_reduce, .count = 40};
  const HostMap one(std::vector<int>(6));
  for (int rank = 0; rank < 6; ++rank) {
    CHECK(steps_of({rank, 6}, shape, Algorithm::hierarchical) ==
          steps_of({rank, 6, &one}, shape, Algorithm::hierarchical));
  }
}

Steps steps_on(const HostMap& hosts, int rank, int size, const CollectiveShape& shape) {
  return steps_of({rank, size, &hosts}, shape, Algorithm::hierarchical).value();
}

/// The elements of buffers that the ranks of a host send to other hosts. Tokens lie in work memory.
size_t sent_abroad(const HostMap& hosts, int host, const CollectiveShape& shape, int size) {
  const bool has_tokens = is_rooted(shape.kind);
  size_t sent = 0;
  for (const int rank : hosts.ranks_of(host)) {
    for (const Step& step : steps_on(hosts, rank, size, shape)) {
      if (has_tokens && step.send.place == Place::work) continue;
      if (step.send_to >= 0 && hosts.host_of(step.send_to) != host) sent += step.send.count();
    }
  }
  return sent;
}

TEST_CASE("each host sends the textbook's number of elements to other hosts") {
  const std::vector<std::vector<int>> even = {filled({2, 2}), filled({4, 4, 4}), dealt(1024, 16),
                                              filled(std::vector<int>(64, 8))};
  for (const std::vector<int>& labels : even) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    CAPTURE(size);
    const auto h = static_cast<size_t>(hosts.hosts());
    const size_t local = labels.size() / h;
    const size_t part = 3;
    // Lanes of this size are reduced by a ring or by halving and doubling.
    const CollectiveShape all_reduce{.kind = OperationKind::all_reduce,
                                     .count = part * labels.size(),
                                     .element_bytes = size_t{1} << 20};
    for (const int host : {0, hosts.hosts() - 1}) {
      CHECK(sent_abroad(hosts, host, all_reduce, size) == 2 * (h - 1) * local * part);
      for (const OperationKind kind : {OperationKind::all_gather, OperationKind::reduce_scatter}) {
        CHECK(sent_abroad(hosts, host, {.kind = kind, .count = part}, size) ==
              local * (h - 1) * part);
      }
    }
    size_t cast = 0;
    for (int host = 0; host < hosts.hosts(); ++host)
      cast += sent_abroad(hosts, host,
                          {.kind = OperationKind::broadcast, .count = part, .root = size / 2 + 1},
                          size);
    CHECK(cast == (h - 1) * part);
  }
}

TEST_CASE("hosts with different numbers of ranks send the textbook's number of elements, too") {
  const HostMap hosts(filled({2, 3}));
  const CollectiveShape all_reduce{
      .kind = OperationKind::all_reduce, .count = 60, .element_bytes = size_t{1} << 20};
  for (const int host : {0, 1})
    CHECK(sent_abroad(hosts, host, all_reduce, 5) == 60);
  // Each host sends the parts of its own ranks, and the partial sums of the others' parts.
  CHECK(sent_abroad(hosts, 0, {.kind = OperationKind::all_gather, .count = 7}, 5) == 2 * 7);
  CHECK(sent_abroad(hosts, 1, {.kind = OperationKind::all_gather, .count = 7}, 5) == 3 * 7);
  CHECK(sent_abroad(hosts, 0, {.kind = OperationKind::reduce_scatter, .count = 7}, 5) == 3 * 7);
  CHECK(sent_abroad(hosts, 1, {.kind = OperationKind::reduce_scatter, .count = 7}, 5) == 2 * 7);
}

/// The ranks of each host run the phases in its memory.
class HostGame {
 public:
  HostGame(const Case& c, const HostMap& hosts) : hosts_(hosts) {
    for (int rank = 0; rank < c.size; ++rank)
      phases_.push_back(host_phases_of({rank, c.size, &hosts}, hosts, c.shape));
    const auto ranks = static_cast<size_t>(c.size);
    game_ = std::make_unique<Game>(
        c.size, [&](Group group) { return phases_[static_cast<size_t>(group.rank)].across; });
    for (int rank = 0; rank < c.size; ++rank) {
      game_->input(rank) = elements(rank, c.shape.count * (c.scatters() ? ranks : 1));
      game_->output(rank).resize(c.shape.count * (c.gathers() ? ranks : 1));
      if (c.scatters()) game_->of(rank, Place::work).resize(c.shape.count * ranks);
    }
    if (c.shape.in_place) game_->in_place();
    execute_all(&HostPhases::before);
    REQUIRE(game_->execute());
    execute_all(&HostPhases::after);
  }
  Elements& output(int rank) { return game_->output(rank); }

 private:
  void execute_all(std::vector<HostPhase> HostPhases::*list) {
    for (int host = 0; host < hosts_.hosts(); ++host) {
      const std::span<const int> ranks = hosts_.ranks_of(host);
      const size_t count = (phases_[static_cast<size_t>(ranks[0])].*list).size();
      for (const int rank : ranks)
        REQUIRE((phases_[static_cast<size_t>(rank)].*list).size() == count);
      for (size_t i = 0; i < count; ++i)
        execute_phase(ranks,
                      [&](int rank) { return (phases_[static_cast<size_t>(rank)].*list)[i]; });
    }
  }
  /// The values of that rank's range before the phase.
  Elements read(int rank, const Range& range) {
    const auto begin = game_->of(rank, range.place).begin();
    return {begin + static_cast<std::ptrdiff_t>(range.begin),
            begin + static_cast<std::ptrdiff_t>(range.end)};
  }
  void execute_phase(std::span<const int> ranks, const std::function<HostPhase(int rank)>& of) {
    std::vector<Elements> inputs;
    for (const int rank : ranks)
      inputs.push_back(read(rank, of(rank).input));
    for (size_t member = 0; member < ranks.size(); ++member) {
      const HostPhase phase = of(ranks[member]);
      Element* output = game_->of(ranks[member], phase.output.place).data() + phase.output.begin;
      for (size_t from = 0; from < ranks.size(); ++from) {
        const size_t all = inputs[from].size();
        const bool owns = static_cast<int>(from) < phase.lanes;
        const Range lane = owns ? part_range(all, static_cast<int>(from), phase.lanes) : Range{};
        if (phase.kind == OperationKind::broadcast && static_cast<int>(from) == phase.root)
          std::ranges::copy(inputs[from], output);
        if (phase.kind == OperationKind::all_gather && phase.lanes == 0)
          std::ranges::copy(inputs[from], output + from * all);
        for (size_t i = lane.begin; i < lane.end; ++i) {
          if (phase.kind == OperationKind::all_gather) output[i] = inputs[from][i];
          if (phase.kind == OperationKind::reduce_scatter && from == member) {
            output[i] = 0;
            for (const Elements& input : inputs)
              output[i] += input[i];
          }
        }
      }
    }
  }

  const HostMap& hosts_;
  std::vector<HostPhases> phases_;
  std::unique_ptr<Game> game_;
};

TEST_CASE("with memory on each host, every layout gives each element of the result") {
  for (const std::vector<int>& labels : layouts()) {
    const HostMap hosts(labels);
    const auto size = static_cast<int>(labels.size());
    for (const OperationKind kind : kinds) {
      if (!runs_on_hosts(hosts, kind)) continue;
      for (const size_t element_bytes : {size_t{8}, size_t{1} << 20}) {
        for (const size_t count : {1, 2, 3, 7, 40}) {
          for (const bool in_place : {false, true}) {
            if (in_place && kind != OperationKind::all_reduce) continue;
            const Case c{hosts,
                         {.kind = kind,
                          .count = count,
                          .root = size / 2,
                          .element_bytes = element_bytes,
                          .in_place = in_place},
                         size};
            HostGame game(c, hosts);
            check_output(c, [&](int rank) -> Elements& { return game.output(rank); });
          }
        }
      }
    }
  }
}

TEST_CASE("hosts whose ranks are mixed or whose numbers differ execute fewer kinds in phases") {
  const HostMap mixed(dealt(4, 2));
  const HostMap uneven(filled({2, 3}));
  const HostMap flat(filled({1, 1}));
  CHECK(runs_on_hosts(mixed, OperationKind::all_reduce));
  CHECK(!runs_on_hosts(mixed, OperationKind::all_gather));
  CHECK(!runs_on_hosts(mixed, OperationKind::reduce_scatter));
  CHECK(runs_on_hosts(uneven, OperationKind::all_gather));
  CHECK(!runs_on_hosts(uneven, OperationKind::reduce_scatter));
  CHECK(runs_on_hosts(HostMap(filled({2, 2})), OperationKind::reduce_scatter));
  CHECK(!runs_on_hosts(flat, OperationKind::all_reduce));
  CHECK(!runs_on_hosts(HostMap(filled({4})), OperationKind::all_reduce));
}

TEST_CASE("a small all-reduce has one lane, whose owner alone sends to other hosts") {
  const HostMap hosts(filled({2, 2}));
  const CollectiveShape small{.kind = OperationKind::all_reduce, .count = 4, .element_bytes = 4};
  CollectiveShape large = small;
  large.count = 1 << 20;
  CHECK(!host_phases_of({0, 4}, hosts, small).across.empty());
  CHECK(host_phases_of({1, 4}, hosts, small).across.empty());
  CHECK(!host_phases_of({1, 4}, hosts, large).across.empty());
}

TEST_CASE("between hosts, an all-reduce has the rounds of one rank a host") {
  const HostMap hosts(filled(std::vector<int>(16, 4)));
  const CollectiveShape shape{
      .kind = OperationKind::all_reduce, .count = 64 * 3, .element_bytes = size_t{1} << 20};
  size_t rounds = 0;
  for (const Step& step : steps_on(hosts, 5, 64, shape)) {
    const int other = step.send_to >= 0 ? step.send_to : step.receive_from;
    rounds += hosts.host_of(other) == hosts.host_of(5) ? 0 : 1;
  }
  CHECK(rounds == 2 * 15);
}

}  // namespace
}  // namespace dt
