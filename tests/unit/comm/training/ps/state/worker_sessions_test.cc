#include "comm/training/ps/state/worker_sessions.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

WorkerSessions two_workers(size_t requests_max = 16) {
  return WorkerSessions({{.id = {"worker", 0}, .host = "a"}, {.id = {"worker", 1}, .host = "b"}},
                        requests_max);
}

TEST_CASE("the end of an attempt counts until a later one begins, but no older news do") {
  WorkerSessions sessions = two_workers();
  CHECK(sessions.find({"worker", 1}) == 1U);
  CHECK(sessions.end(1, {Notice::Kind::dead, {"worker", 1}, "exit status 3", 1, true}));
  CHECK_FALSE(sessions.gone(1));
  CHECK(sessions.check_current(1, 1).error().message ==
        "worker:1 on b died: exit status 3, so its requests are refused");
  // The launcher has cancelled the restart.
  CHECK(sessions.end(1, {Notice::Kind::dead, {"worker", 1}, "exit status 3", 1, false}));
  CHECK(sessions.gone(1));
  CHECK_FALSE(sessions.end(1, {Notice::Kind::left, {"worker", 1}, ""}));
  sessions.restart(1, 2);
  CHECK_FALSE(sessions.end(1, {Notice::Kind::left, {"worker", 1}, "", 1}));
  CHECK(sessions.check_current(1, 2));
  CHECK_FALSE(sessions.check_attempt(1, 1));
}

TEST_CASE("a worker that is gone gets no reply") {
  WorkerSessions sessions = two_workers(1);
  sessions.add_request(0);
  CHECK(sessions.check_requests(0));
  CHECK(sessions.take_reply(0));
  CHECK_FALSE(sessions.take_reply(0));
  sessions.add_request(0);
  sessions.add_request(0);
  CHECK(sessions.check_requests(0).error().message ==
        "worker:0 on a has 2 requests under way, more than 1");
  CHECK(sessions.end(0, {Notice::Kind::left, {"worker", 0}, ""}));
  CHECK_FALSE(sessions.take_reply(0));
}

TEST_CASE("only a client that comes back repeats its last change") {
  WorkerSessions sessions = two_workers();
  CHECK(sessions.begin(0, 5));
  sessions.begin_change(0, 7);
  CHECK_FALSE(sessions.repeats(0, 7));
  CHECK_FALSE(sessions.begin(0, 5));
  CHECK(sessions.repeats(0, 7));
  CHECK_FALSE(sessions.repeats(0, 6));
  CHECK(sessions.answer(0) == nullptr);
  sessions.keep_answer(0, 6, {.step = 1});
  CHECK(sessions.answer(0) == nullptr);
  sessions.keep_answer(0, 7, {.step = 2});
  CHECK(sessions.answer(0)->step == 2);
  CHECK(sessions.begin(0, 6));
  CHECK_FALSE(sessions.repeats(0, 7));
}

}  // namespace
}  // namespace dt
