#include "comm/include/dtrain/dtrain_algorithm.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" int star_algorithm(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user);

namespace dt {
namespace {

std::string algorithms_of(dtrain_context* context) {
  std::string text(dtrain_algorithms(context, nullptr, 0), '\0');
  dtrain_algorithms(context, text.data(), text.size() + 1);
  return text;
}

TEST_CASE("a program can read the algorithms of its ranks and hosts") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& ranks) {
    CHECK(algorithms_of(ranks.get()) ==
          "all_reduce=hierarchical,broadcast=hierarchical,all_gather=hierarchical,"
          "reduce_scatter=hierarchical,reduce=tree:32k:ring,gather=tree:8k:direct,"
          "scatter=tree:8k:direct,all_to_all=pairwise,"
          "all_to_all_v=pairwise,all_gather_v=ring,barrier=dissemination");
  }));
}

/// Returns the parts by rank, behind each other.
template <class Part>
std::vector<int> joined(int size, const Part& part_of) {
  std::vector<int> all;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<int> part = part_of(rank);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Makes the calls whose results have a part by rank, or at one rank. The part of rank `from` for
/// rank `to` has so many times the number 100 * from + to.
void check_parts(dtrain::Context& ranks, size_t count) {
  const int size = ranks.size();
  const int self = ranks.rank();
  const auto part = [count](int from, int to) { return std::vector<int>(count, 100 * from + to); };
  const std::vector<int> mine = joined(size, [&](int to) { return part(self, to); });
  const int sum_of_firsts = 100 * size * (size - 1) / 2;
  std::vector<int> all(mine.size());
  ranks.all_to_all(mine, all);
  CHECK(all == joined(size, [&](int from) { return part(from, self); }));
  std::vector<int> one = part(self, 0);
  ranks.all_gather(one, all);
  CHECK(all == joined(size, [&](int from) { return part(from, 0); }));
  ranks.scatter(mine, one, 1);
  CHECK(one == part(1, self));
  ranks.reduce_scatter(mine, one);
  CHECK(one == std::vector<int>(count, sum_of_firsts + size * self));
  one = part(self, 7);
  ranks.gather(one, all, 2);
  if (self == 2) CHECK(all == joined(size, [&](int from) { return part(from, 7); }));
  one = part(self, 0);
  ranks.reduce(one, 3);
  if (self == 3) CHECK(one == std::vector<int>(count, sum_of_firsts));
}

TEST_CASE("the job's table of algorithms holds on every rank, and the results are the same") {
  for (const char* table :
       {"ring,reduce=ring,gather=direct,scatter=direct",
        "tree:100:halving_doubling,all_gather=ring,all_to_all=pairwise",
        "recursive_doubling:8k:ring,all_gather=bruck,all_to_all=bruck",
        "hierarchical,broadcast=hierarchical,all_gather=hierarchical,reduce_scatter=hierarchical",
        "ring,broadcast=tree,reduce=tree,gather=tree,scatter=tree"}) {
    CAPTURE(table);
    World world({.size = 5, .per_host = 2, .algorithms = table});
    const std::string named = std::string("all_reduce=") + table;
    const std::string all_reduce = named.substr(0, named.find(','));
    check_all_well(world.run([&](dtrain::Context& ranks) {
      CHECK(algorithms_of(ranks.get()).starts_with(all_reduce + ","));
      for (const size_t count : {size_t{3}, size_t{5000}}) {
        std::vector<double> values(count, ranks.rank() + 1);
        ranks.all_reduce(values, dtrain::Op::sum);
        CHECK(values == std::vector<double>(count, 15));
        ranks.broadcast(values, 3);
        check_parts(ranks, count);
      }
    }));
  }
}

TEST_CASE("collectives in shared memory are shown as shm, others of the same ranks are not") {
  World world({.size = 2, .per_host = 2, .algorithms = "tree"});
  check_all_well(world.run([](dtrain::Context& ranks) {
    CHECK(algorithms_of(ranks.get()).starts_with("all_reduce=shm,"));
  }));
}

TEST_CASE("a table that this libdtrain does not know fails the join with the table's fault") {
  World world({.size = 1, .per_host = 1, .algorithms = "star"});
  const auto outcomes = world.run([](dtrain::Context&) {});
  CHECK(outcomes[0].code == DTRAIN_ERROR_INPUT);
  CHECK(contains(outcomes[0].text, "the job's --algorithms \"star\": column 1: expected an "));
  CHECK(contains(outcomes[0].text, "does this libdtrain have the version of dtrain run?"));
}

TEST_CASE("the text of the algorithms is cut to its buffer, and always ended") {
  CHECK(dtrain_algorithms(nullptr, nullptr, 0) == 0);
  const Alone alone;
  std::vector<char> text(12, 'x');
  const size_t length = dtrain_algorithms(alone.context, text.data(), 11);
  CHECK(length > 100);
  CHECK(std::strcmp(text.data(), "all_reduce") == 0);
  CHECK(text[11] == 'x');
}

int register_star(const dtrain::Context& ranks, const char* name, int* calls) {
  dtrain_error error = new_error();
  const int status = dtrain_register_algorithm(ranks.get(), name, star_algorithm, calls, &error);
  if (status != DTRAIN_OK) throw dtrain::Error(error);
  return status;
}

TEST_CASE("an algorithm of a C program executes the operations that the job's table gives it") {
  World world({.size = 5, .per_host = 2, .algorithms = "@star:100:ring"});
  check_all_well(world.run([](dtrain::Context& ranks) {
    int calls = 0;
    register_star(ranks, "star", &calls);
    CHECK(algorithms_of(ranks.get()).starts_with("all_reduce=@star:100:ring,"));
    for (const size_t count : {size_t{0}, size_t{12}, size_t{13}}) {
      std::vector<double> values(count, ranks.rank() + 1);
      ranks.all_reduce(values, dtrain::Op::sum);
      CHECK(values == std::vector<double>(count, 15));
    }
    CHECK(calls == 2);
    ranks.barrier();
  }));
}

TEST_CASE("a table's algorithm that is not registered is named by the call") {
  World world({.size = 2, .per_host = 1, .algorithms = "@star"});
  for (const RankOutcome& outcome : world.run([](dtrain::Context& ranks) {
         std::vector<double> values(3);
         ranks.all_reduce(values, dtrain::Op::sum);
       })) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK(outcome.text ==
          "all_reduce: --algorithms names @star, which is not registered; call "
          "dtrain_register_algorithm on every rank first");
  }
}

TEST_CASE("a rank that registers another algorithm, or none, is named on every rank") {
  World world({.size = 3, .per_host = 1});
  for (const RankOutcome& outcome : world.run([](dtrain::Context& ranks) {
         int calls = 0;
         register_star(ranks, ranks.rank() == 1 ? "sta" : "star", &calls);
       })) {
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(outcome.rank == 1);
    CHECK(contains(outcome.text, "rank 1"));
    CHECK(contains(outcome.text, "algorithm star"));
  }
  for (const RankOutcome& outcome : world.run([](dtrain::Context& ranks) {
         int calls = 0;
         std::vector<double> values(3);
         if (ranks.rank() == 2) ranks.all_reduce(values, dtrain::Op::sum);
         register_star(ranks, "star", &calls);
       })) {
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(contains(outcome.text, "rank 2"));
  }
}

int fails(const dtrain_algorithm_call*, dtrain_steps*, void*) {
  return 7;
}
int leaves_its_buffers(const dtrain_algorithm_call* call, dtrain_steps* steps, void*) {
  dtrain_step step = {};
  step.send_to = call->size - 1;
  step.receive_from = -1;
  step.send.end = call->count + 1;
  return dtrain_steps_add(steps, step);
}
int has_no_such_place(const dtrain_algorithm_call*, dtrain_steps* steps, void*) {
  dtrain_step step = {};
  step.send.place = 9;
  return dtrain_steps_add(steps, step);
}

TEST_CASE("an algorithm that fails or leaves the buffers fails the call with its name") {
  struct Case {
    dtrain_algorithm algorithm;
    const char* fault;
  };
  for (const Case& c :
       {Case{fails, "it returned 7"},
        {leaves_its_buffers, "step 1: the sent range is empty or outside its buffer"},
        {has_no_such_place, "step 1: place 9 is no dtrain_place"}}) {
    World world({.size = 2, .per_host = 1, .algorithms = "@own"});
    for (const RankOutcome& outcome : world.run([&](dtrain::Context& ranks) {
           dtrain_register_algorithm(ranks.get(), "own", c.algorithm, nullptr, nullptr);
           std::vector<double> values(3);
           ranks.all_reduce(values, dtrain::Op::sum);
         })) {
      CHECK(outcome.code == DTRAIN_ERROR_INPUT);
      CHECK(outcome.text == std::string("all_reduce: the registered algorithm own: ") + c.fault);
    }
  }
}

TEST_CASE("wrong names of algorithms are refused on this rank") {
  const Alone alone;
  const auto error_of = [&](const char* name, dtrain_algorithm algorithm) {
    dtrain_error error = new_error();
    CHECK(dtrain_register_algorithm(alone.context, name, algorithm, nullptr, &error) ==
          DTRAIN_ERROR_INPUT);
    return std::string(error.text);
  };
  const std::string names = "the name of an algorithm has 1 to 63 letters, digits and underscores";
  for (const char* name : {"", "a b", "@a", "a:b"})
    CHECK(error_of(name, fails) == names);
  CHECK(error_of(nullptr, fails) == names);
  CHECK(error_of(std::string(64, 'a').c_str(), fails) == names);
  CHECK(error_of("a", nullptr) == "the algorithm is NULL");
  CHECK(dtrain_register_algorithm(alone.context, "a", fails, nullptr, nullptr) == DTRAIN_OK);
  CHECK(error_of("a", fails) == "an algorithm a is registered already");
}

}  // namespace
}  // namespace dt
