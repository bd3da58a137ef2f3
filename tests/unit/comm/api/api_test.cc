#include "comm/api/api_support.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

extern "C" int api_from_c(char text[512]);

namespace dt {
namespace {

TEST_CASE("a C99 program can use the library") {
  char text[512] = {};
  CHECK_MESSAGE(api_from_c(text) == 0, text);
}

TEST_CASE("a status has the kind of failure that it reports") {
  for (const Errc code : {Errc::input, Errc::os, Errc::unreachable, Errc::refused, Errc::closed,
                          Errc::timeout, Errc::protocol, Errc::mismatch, Errc::peer_lost}) {
    dtrain_error error = {};
    CHECK(errc_of(report(&error, {code, "text", 2})) == code);
    CHECK(error.rank == 2);
  }
  CHECK(errc_of(77) == Errc::os);
}

TEST_CASE("a process that dtrain did not start is rank 0 of 1") {
  const Alone alone;
  CHECK(dtrain_rank(alone.context) == 0);
  CHECK(dtrain_size(alone.context) == 1);
  CHECK(dtrain_local_rank(alone.context) == 0);
  CHECK(dtrain_local_size(alone.context) == 1);
  CHECK(dtrain_cross_rank(alone.context) == 0);
  CHECK(dtrain_cross_size(alone.context) == 1);
  CHECK(std::string(dtrain_host(alone.context)).size() > 0);
  CHECK(std::string(dtrain_version()) == dtrain::version());
}

TEST_CASE("null handles are answered, not dereferenced") {
  CHECK(dtrain_rank(nullptr) == -1);
  CHECK(dtrain_size(nullptr) == -1);
  CHECK(dtrain_host(nullptr) == nullptr);
  CHECK(dtrain_work_done(nullptr) == 1);
  CHECK(dtrain_work_wait(nullptr, 0, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_barrier(nullptr, nullptr, nullptr) == DTRAIN_ERROR_INPUT);
  dtrain_error error = new_error();
  CHECK(dtrain_barrier_async(nullptr, nullptr, &error) == nullptr);
  CHECK(error.code == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "NULL"));
  dtrain_work_free(nullptr);
  dtrain_finalize(nullptr);
}

TEST_CASE("wrong options are named") {
  const Alone alone;
  dtrain_error error = new_error();
  dtrain_op_options options = {};
  CHECK(dtrain_barrier(alone.context, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "struct_size is 0"));
  options = {.struct_size = sizeof options, .name = nullptr, .timeout_ms = -1};
  CHECK(dtrain_barrier(alone.context, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "timeout_ms is negative"));

  dtrain_init_options init = {};
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "dtrain_init_options.struct_size"));
  init.struct_size = sizeof init;
  init.transport = 3;
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "dtrain_init_options.transport is 3, no dtrain_transport"));
  init.transport = 0;
  init.timeout_ms = -5;
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "timeout_ms is negative"));
  init.timeout_ms = 0;
  init.dead_after_ms = -5;
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "dead_after_ms is negative"));
  init.dead_after_ms = 0;
  init.role = "worker";
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "token"));
  init.task_index = -1;
  CHECK(dtrain_init(&init, &error) == nullptr);
  CHECK(contains(error.text, "task index is negative"));
}

TEST_CASE("options of an older header lack fields, of a newer one may have none that count") {
  const Alone alone;
  struct Newer {
    dtrain_op_options known;
    size_t unknown;
  };
  static_assert(std::is_standard_layout_v<Newer>);
  dtrain_op_options older = {.struct_size = offsetof(dtrain_op_options, timeout_ms),
                             .name = "g",
                             .timeout_ms = -1};  // beyond its end: not read
  CHECK(dtrain_barrier(alone.context, &older, nullptr) == DTRAIN_OK);
  Newer newer = {{.struct_size = sizeof newer, .name = nullptr, .timeout_ms = 0}, 0};
  CHECK(dtrain_barrier(alone.context, &newer.known, nullptr) == DTRAIN_OK);
  newer.unknown = 1;
  dtrain_error error = new_error();
  CHECK(dtrain_barrier(alone.context, &newer.known, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "does not know"));
}

TEST_CASE("an error is written only as far as the caller's struct goes, and is always ended") {
  const Alone alone;
  dtrain_error error = {};
  std::memset(&error, 'x', sizeof error);
  error.struct_size = offsetof(dtrain_error, text);
  CHECK(dtrain_barrier(nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(error.text[0] == 'x');
  error.struct_size = offsetof(dtrain_error, text) + 8;
  CHECK(dtrain_barrier(nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(std::string(error.text) == "barrier");
  CHECK(error.text[8] == 'x');
  CHECK(dtrain_barrier(alone.context, nullptr, &error) == DTRAIN_OK);
  CHECK(error.code == DTRAIN_OK);
  CHECK(std::string(error.text).empty());
}

TEST_CASE("an error that is {0} gets the reason: size 0 is that of the first version") {
  dtrain_error error = {};
  CHECK(dtrain_barrier(nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(error.code == DTRAIN_ERROR_INPUT);
  CHECK(std::string(error.text) ==
        "barrier: the context is NULL: it was finalized or moved from, or dtrain_init has failed");
  CHECK(error.struct_size == 0);
}

TEST_CASE("a forked child that uses its parent's context gets an error that says why") {
  const Alone alone;
  dtrain_work* work = dtrain_barrier_async(alone.context, nullptr, nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dtrain_error error = new_error();
    const bool refused = dtrain_barrier(alone.context, nullptr, &error) == DTRAIN_ERROR_INPUT &&
                         contains(error.text, "fork") &&
                         dtrain_barrier_async(alone.context, nullptr, nullptr) == nullptr &&
                         dtrain_work_wait(work, -1, nullptr) == DTRAIN_ERROR_INPUT &&
                         dtrain_work_done(work) == 1;
    dtrain_work_free(work);
    dtrain_finalize(alone.context);
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
  dtrain_work_free(work);
}

}  // namespace
}  // namespace dt
