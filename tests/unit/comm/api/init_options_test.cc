#include "comm/api/init_options.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

namespace dt {
namespace {

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

Result<std::optional<InitOptions>> read(const Variables& variables) {
  return init_options_from([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

TEST_CASE(
    "a process that another launcher has started as one of several is not alone by accident") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const auto refused = read({{name, "3"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::input);
    CHECK(contains(refused.error().message, format("{}=3 shows that another launcher", name)));
    CHECK(contains(refused.error().message, "dtrain run -np 3"));
    CHECK_FALSE(read({{name, "1"}}).value());
    CHECK_FALSE(read({{name, "3"}, {"DTRAIN_ALONE", "1"}}).value());
  }
  CHECK_FALSE(read({{"WORLD_SIZE", "4"}, {"RANK", "1"}}));
  // One of the two may be the user's own.
  CHECK_FALSE(read({{"WORLD_SIZE", "4"}}).value());
  // The allocation has this one.
  CHECK_FALSE(read({{"SLURM_NTASKS", "4"}}).value());
  Variables joined = complete();
  joined["WORLD_SIZE"] = "8";
  joined["RANK"] = "7";
  CHECK(read(joined).value());
}

TEST_CASE("the environment of a task has its identity and its rendezvous") {
  const InitOptions options = read(complete()).value().value();
  CHECK(options.claim.self == TaskId{"worker", 3});
  CHECK(options.claim.job == "job");
  CHECK(options.claim.generation == 1);
  CHECK(options.claim.token.text() == token_text);
  CHECK(options.rendezvous.text() == "127.0.0.1:4000");
  CHECK(options.rank == 3);
  CHECK(options.size == 4);
}

TEST_CASE("the environment may name the port to listen at") {
  CHECK(read(complete()).value()->port == 0);
  Variables with_port = complete();
  with_port["DTRAIN_PORT"] = "5001";
  CHECK(read(with_port).value()->port == 5001);
  with_port["DTRAIN_PORT"] = "65536";
  CHECK(
      contains(read(with_port).error().message, "DTRAIN_PORT: expected a number from 0 to 65535"));
}

TEST_CASE("a caller that passes its identity listens at the port of the environment, too") {
  const Identity identity = {.role = "worker",
                             .task_index = 3,
                             .rendezvous = "127.0.0.1:4000",
                             .token = token_text,
                             .job = "job",
                             .generation = 1};
  const auto port_in = [&](Variables variables) {
    return init_options_from(identity, [&](const char* name) -> const char* {
      const auto at = variables.find(name);
      return at == variables.end() ? nullptr : at->second.c_str();
    });
  };
  CHECK(port_in({}).value().port == 0);
  CHECK(port_in({{"DTRAIN_PORT", "5001"}}).value().port == 5001);
  CHECK(port_in({{"DTRAIN_PORT", "5001"}, {"DTRAIN_ROLE", "worker"}, {"DTRAIN_TASK_INDEX", "3"}})
            .value()
            .port == 5001);
  CHECK(port_in({}).value().claim.attempt == first_attempt);
  CHECK(port_in({{"DTRAIN_ATTEMPT", "3"}}).value().claim.attempt == 3);
  CHECK(port_in({{"DTRAIN_ATTEMPT", "3"}, {"DTRAIN_ROLE", "ps"}}).value().claim.attempt ==
        first_attempt);
  CHECK(contains(port_in({{"DTRAIN_ATTEMPT", "x"}}).error().message,
                 "DTRAIN_ATTEMPT: expected a number"));
  // The port of another task is held for that one.
  CHECK(port_in({{"DTRAIN_PORT", "5001"}, {"DTRAIN_TASK_INDEX", "4"}}).value().port == 0);
  CHECK(port_in({{"DTRAIN_PORT", "5001"}, {"DTRAIN_ROLE", "ps"}}).value().port == 0);
  CHECK(
      contains(port_in({{"DTRAIN_PORT", "x"}}).error().message, "DTRAIN_PORT: expected a number"));
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
  CHECK(all_but_rank.error().message ==
        "DTRAIN_RANK is set, but DTRAIN_ROLE, DTRAIN_TASK_INDEX, DTRAIN_JOB_ID, DTRAIN_GENERATION, "
        "DTRAIN_RENDEZVOUS, DTRAIN_TOKEN are not: start the program by dtrain run, or unset "
        "DTRAIN_RANK");
}

TEST_CASE("a task of a partial job gets the reason why it has no rendezvous") {
  Variables part = complete();
  for (const char* name : {"DTRAIN_GENERATION", "DTRAIN_RENDEZVOUS", "DTRAIN_TOKEN"})
    part.erase(name);
  CHECK(contains(read(part).error().message, "--cluster-spec"));
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

}  // namespace
}  // namespace dt
