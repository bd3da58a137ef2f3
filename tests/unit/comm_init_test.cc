#include "base/socket.h"
#include "comm/context.h"
#include "comm/join_request.h"
#include "comm/placement.h"
#include "tests/unit/world_fixture.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace dt {
namespace {

using dtrain::Transport;
using std::chrono::milliseconds;
using Variables = std::map<std::string, std::string>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string token_text(64, 'a');

Variables complete() {
  return {{"DTRAIN_ROLE", "worker"},     {"DTRAIN_TASK_INDEX", "3"},
          {"DTRAIN_JOB_ID", "job"},      {"DTRAIN_GENERATION", "1"},
          {"DTRAIN_TOKEN", token_text},  {"DTRAIN_RENDEZVOUS", "127.0.0.1:4000"},
          {"DTRAIN_RANK", "3"},          {"DTRAIN_SIZE", "4"},
          {"DTRAIN_HOSTNAME", "ignored"}};
}

Result<std::optional<JoinRequest>> read(const Variables& variables) {
  return request_from([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

TEST_CASE("the environment of a task says who it is and whom to ask") {
  const JoinRequest request = read(complete()).value().value();
  CHECK(request.claim.self == TaskId{"worker", 3});
  CHECK(request.claim.job == "job");
  CHECK(request.claim.generation == 1);
  CHECK(request.claim.token.text() == token_text);
  CHECK(request.rendezvous.text() == "127.0.0.1:4000");
  CHECK(request.rank == 3);
  CHECK(request.size == 4);
}

TEST_CASE("a process without the variables is alone, and rank and size may be absent") {
  CHECK(read({}).value() == std::nullopt);
  CHECK(read({{"DTRAIN_HOSTNAME", "x"}, {"DTRAIN_OPT_NP", "4"}}).value() == std::nullopt);
  Variables unranked = complete();
  unranked.erase("DTRAIN_RANK");
  unranked.erase("DTRAIN_SIZE");
  CHECK(read(unranked).value()->rank == std::nullopt);
}

TEST_CASE("what is missing from the environment is named") {
  for (const char* name : {"DTRAIN_ROLE", "DTRAIN_TASK_INDEX", "DTRAIN_JOB_ID", "DTRAIN_GENERATION",
                           "DTRAIN_TOKEN", "DTRAIN_RENDEZVOUS"}) {
    CAPTURE(name);
    for (const bool empty : {false, true}) {
      Variables some = complete();
      some.erase(name);
      if (empty) some[name] = "";
      const auto refused = read(some);
      REQUIRE(!refused);
      CHECK(refused.error().code == Errc::input);
      CHECK(contains(refused.error().message, name));
      CHECK(contains(refused.error().message, "dtrain run"));
    }
  }
  const auto all_but_rank = read({{"DTRAIN_RANK", "0"}});
  REQUIRE(!all_but_rank);
  CHECK(contains(all_but_rank.error().message, "DTRAIN_ROLE, DTRAIN_TASK_INDEX, DTRAIN_JOB_ID"));
}

TEST_CASE("a tampered environment is an error that names the variable and its value") {
  struct Case {
    const char* name;
    std::string value;
    const char* shown;
  };
  const Case cases[] = {
      {"DTRAIN_RANK", "x", "DTRAIN_RANK: expected a number from 0 to 2147483647, got 'x'"},
      {"DTRAIN_RANK", "-1", "got '-1'"},
      {"DTRAIN_SIZE", "4 ", "DTRAIN_SIZE"},
      {"DTRAIN_TASK_INDEX", "1e3", "DTRAIN_TASK_INDEX"},
      {"DTRAIN_TASK_INDEX", "99999999999", "DTRAIN_TASK_INDEX"},
      {"DTRAIN_GENERATION", "-1", "DTRAIN_GENERATION"},
      {"DTRAIN_GENERATION", "4294967296", "DTRAIN_GENERATION"},
      {"DTRAIN_TOKEN", "abc", "DTRAIN_TOKEN): expected 64 hex digits, got 3 bytes"},
      {"DTRAIN_TOKEN", std::string(64, 'g'), "DTRAIN_TOKEN"},
      {"DTRAIN_TOKEN", std::string(66, 'a'), "got 66 bytes"},
      {"DTRAIN_RENDEZVOUS", "somewhere:80", "expected IP:PORT, got 'somewhere:80'"},
      {"DTRAIN_RENDEZVOUS", "127.0.0.1", "DTRAIN_RENDEZVOUS"},
      {"DTRAIN_RENDEZVOUS", "127.0.0.1:0", "DTRAIN_RENDEZVOUS"},
      {"DTRAIN_ROLE", std::string(64, 'r'), "role's name has 64 bytes"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    Variables changed = complete();
    changed[c.name] = c.value;
    const auto refused = read(changed);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::input);
    CHECK_MESSAGE(contains(refused.error().message, c.shown), refused.error().message);
  }
}

TEST_CASE("an error about the token never shows it") {
  Variables changed = complete();
  changed["DTRAIN_TOKEN"] = "secret" + token_text;
  CHECK(!contains(read(changed).error().message, "secret"));
}

TEST_CASE("a task's place follows from the table") {
  struct Case {
    int rank;
    Placement place;
  };
  // Hosts with 2, 1 and 2 ranks.
  TaskTable table = table_of_workers(5);
  const int agents[] = {7, 7, 2, 5, 5};
  for (size_t i = 0; i < 5; ++i)
    table.tasks[i].agent = agents[i];
  table.tasks.push_back({.id = {"ps", 0}, .rank = -1, .agent = 7, .host = "h", .addresses = {}});
  const Case cases[] = {{0, {0, 5, 0, 2, 0, 3, "node0"}},
                        {1, {1, 5, 1, 2, 0, 2, "node1"}},
                        {2, {2, 5, 0, 1, 1, 3, "node2"}},
                        {3, {3, 5, 0, 2, 2, 3, "node3"}},
                        {4, {4, 5, 1, 2, 1, 2, "node4"}}};
  for (const Case& c : cases) {
    CAPTURE(c.rank);
    CHECK(place(table, *table.by_rank(c.rank)).value() == c.place);
  }
  const auto unranked = place(table, table.tasks.back());
  REQUIRE(!unranked);
  CHECK(unranked.error().message == "ps:0 has no rank in this job, and collectives need one");
  table.tasks[1].rank = 9;
  CHECK(place(table, table.tasks[0]).error().code == Errc::protocol);
}

TEST_CASE("a rank or size that disagrees with the job is refused") {
  const RendezvousFixture server(table_of_workers(1));
  for (const auto& [rank, size] : {std::pair{1, 1}, std::pair{0, 2}}) {
    int blamed = -1;
    const auto joined = Context::join({.claim = server.claim({"worker", 0}),
                                       .rendezvous = server.address(),
                                       .rank = rank,
                                       .size = size},
                                      &blamed);
    REQUIRE(!joined);
    CHECK(joined.error().code == Errc::input);
    CHECK(contains(joined.error().message, rank == 1 ? "DTRAIN_RANK is 1" : "DTRAIN_SIZE is 2"));
  }
}

TEST_CASE("init names the ranks that have not joined in time") {
  World world({.size = 4, .per_host = 2, .timeout = milliseconds(300)});
  const auto outcomes = world.on_threads([&](int rank) {
    if (rank < 2) dtrain::init(world.init_options(rank));
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    const RankOutcome& outcome = outcomes[rank];
    CHECK(outcome.code == DTRAIN_ERROR_TIMEOUT);
    CHECK_MESSAGE(contains(outcome.text, "rank 2 (worker:2 on node1)"), outcome.text);
    CHECK_MESSAGE(contains(outcome.text, "rank 3 (worker:3 on node1)"), outcome.text);
    CHECK(!contains(outcome.text, "rank 1 ("));
  }
}

TEST_CASE("init fails at once when a rank dies before all have joined") {
  World world({.size = 3, .per_host = 3});
  world.server().notify({Notice::Kind::dead, {"worker", 2}, "exit status 1"});
  const auto outcomes = world.on_threads([&](int rank) {
    if (rank < 2) dtrain::init(world.init_options(rank));
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(outcomes[rank].code == DTRAIN_ERROR_PEER_LOST);
    CHECK(outcomes[rank].rank == 2);
    CHECK(contains(outcomes[rank].text, "rank 2 (worker:2 on node0)"));
    CHECK(contains(outcomes[rank].text, "exit status 1"));
  }
}

TEST_CASE("a rank with another token, job or generation is refused") {
  World world({.size = 1, .per_host = 1, .timeout = milliseconds(3000)});
  dtrain::InitOptions changed[] = {world.init_options(0), world.init_options(0),
                                   world.init_options(0)};
  changed[0].token = token_text;
  changed[1].job = "another";
  changed[2].generation = 9;
  for (const dtrain::InitOptions& options : changed) {
    const RankOutcome outcome = World::outcome_of([&] { dtrain::init(options); });
    CHECK_MESSAGE(outcome.code == DTRAIN_ERROR_REFUSED, outcome.text);
    CHECK(contains(outcome.text, world.server().address().text()));
  }
}

TEST_CASE("a rendezvous that is not there, or is no rendezvous, is named") {
  World world({.size = 1, .per_host = 1, .timeout = milliseconds(300)});
  dtrain::InitOptions options = world.init_options(0);
  options.rendezvous = "127.0.0.1:1";
  const RankOutcome closed = World::outcome_of([&] { dtrain::init(options); });
  CHECK_MESSAGE(closed.code == DTRAIN_ERROR_UNREACHABLE, closed.text);
  CHECK(contains(closed.text, "127.0.0.1:1"));
  CHECK(contains(closed.text, "dtrain run"));
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  options.rendezvous = local_address(silent.get()).value().text();
  const RankOutcome foreign = World::outcome_of([&] { dtrain::init(options); });
  CHECK_MESSAGE(foreign.code == DTRAIN_ERROR_TIMEOUT, foreign.text);
  CHECK(contains(foreign.text, options.rendezvous));
}

TEST_CASE("shared memory alone is refused when ranks are on two hosts") {
  World world({.size = 2, .per_host = 1, .transport = Transport::shm});
  for (const RankOutcome& outcome : world.run([](dtrain::Context&) {})) {
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(outcome.text, "on another host"), outcome.text);
  }
}

TEST_CASE("ranks that were given different transports are told") {
  World world({.size = 2, .per_host = 2, .timeout = milliseconds(500)});
  const auto outcomes = world.on_threads([&](int rank) {
    dtrain::InitOptions options = world.init_options(rank);
    options.transport = rank == 0 ? Transport::tcp : Transport::shm;
    dtrain::init(options);
  });
  CHECK(outcomes[0].code == DTRAIN_ERROR_TIMEOUT);
  CHECK(outcomes[1].code == DTRAIN_ERROR_INPUT);
  CHECK_MESSAGE(contains(outcomes[1].text, "give all ranks the same transport"), outcomes[1].text);
}

TEST_CASE("a task without rank is told that collectives need one") {
  TaskTable table = table_of_workers(1);
  table.tasks.push_back(
      {.id = {"ps", 0}, .rank = -1, .agent = 0, .host = "node0", .addresses = {}});
  const RendezvousFixture server(std::move(table));
  int blamed = -1;
  const auto joined =
      Context::join({.claim = server.claim({"ps", 0}), .rendezvous = server.address()}, &blamed);
  REQUIRE(!joined);
  CHECK(joined.error().code == Errc::input);
  CHECK(contains(joined.error().message, "ps:0 has no rank"));
}

}  // namespace
}  // namespace dt
