#include "rendezvous/store/client.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

Time client_test_in(int64_t ms) {
  return Clock::now() + milliseconds(ms);
}

TEST_CASE("a task that joins finds itself and the table in its welcome") {
  const RendezvousFixture server(table_of_workers(3, 2));
  const auto client = server.join_worker(1);
  CHECK(client->self() == server.table().tasks[1]);
  CHECK(client->table() == server.table());
  CHECK(client->local().ip == "127.0.0.1");
  CHECK(!client->next_notice());
}

TEST_CASE("all tasks have the settings of collectives from their welcome") {
  RendezvousServer::Options options;
  options.engine.encrypt_data = true;
  const RendezvousFixture server(table_of_workers(2), std::move(options));
  CHECK(server.join_worker(0)->engine_settings() == EngineSettings{.encrypt_data = true});
  CHECK(server.join_worker(1)->engine_settings() == EngineSettings{.encrypt_data = true});
  const RendezvousFixture other(table_of_workers(1));
  CHECK(other.join_worker(0)->engine_settings() == EngineSettings());
}

TEST_CASE("what one task sets, another gets") {
  const RendezvousFixture server(table_of_workers(2));
  const auto a = server.join_worker(0);
  const auto b = server.join_worker(1);
  CHECK(b->get("k", soon()).value() == std::nullopt);
  CHECK(a->set("k", as_bytes("v"), soon()));
  CHECK(b->get("k", soon()).value() == to_bytes("v"));
}

TEST_CASE("posted requests are replied to, whatever their order") {
  const RendezvousFixture server(table_of_workers(2));
  const auto a = server.join_worker(0);
  const auto b = server.join_worker(1);
  const uint32_t waiting = a->post(WaitRequest{"k", seconds(30)}, Clock::now()).value();
  CHECK(ask(*a, AddRequest{"n", 5}) == Reply{.number = 5});
  CHECK(ask(*b, AddRequest{"n", -7}) == Reply{.number = -2});
  CHECK(!a->take_reply(waiting));
  CHECK(ask(*b, CompareAndSetRequest{"k", std::nullopt, to_bytes("v")}) == Reply{.number = 1});
  std::optional<Reply> reply;
  while (!(reply = a->take_reply(waiting))) {
    pollfd readable{a->fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 10'000) == 1);
    REQUIRE(a->pump());
  }
  CHECK(reply == Reply{});
  CHECK(!a->take_reply(waiting));
  CHECK(ask(*a, EraseRequest{"k"}) == Reply{.number = 1});
}

TEST_CASE("a reply to a request that is forgotten is dropped") {
  const RendezvousFixture server(table_of_workers(1));
  const auto client = server.join_worker(0);
  const uint32_t forgotten = client->post(AddRequest{"n", 1}, Clock::now()).value();
  client->forget(forgotten);
  CHECK(ask(*client, AddRequest{"n", 1}) == Reply{.number = 2});
  CHECK(!client->take_reply(forgotten));
}

TEST_CASE("a query of the server reaches each client, and a report of waits the server") {
  RendezvousFixture server(table_of_workers(2));
  const auto a = server.join_worker(0);
  const auto b = server.join_worker(1);
  std::vector<std::pair<TaskId, WaitReport>> reports;
  server.on_server([&](RendezvousServer& s) {
    s.on_wait_report(
        [&](const TaskId& task, const WaitReport& r) { reports.emplace_back(task, r); });
    CHECK(s.pid_of({"worker", 1}) == getpid());
    CHECK(s.pid_of({"worker", 2}) == 0);
    s.query_waits();
  });
  for (const auto* client : {&a, &b}) {
    pollfd readable{(*client)->fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 10'000) == 1);
    REQUIRE((*client)->pump());
    CHECK((*client)->take_wait_query());
    CHECK(!(*client)->take_wait_query());
  }
  const WaitReport report = {{{.operation = "barrier #1", .awaited = {0}}}};
  CHECK(ask(*b, report) == Reply{});
  server.on_server([&](RendezvousServer& s) { s.on_wait_report({}); });
  CHECK(ask(*a, WaitReport()) == Reply{});
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].first == TaskId{"worker", 1});
  CHECK(reports[0].second == report);
}

TEST_CASE("a value of the greatest size arrives, one byte more is refused by name") {
  const RendezvousFixture server(table_of_workers(1));
  const auto client = server.join_worker(0);
  Bytes value(value_bytes_max);
  for (size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<std::byte>(i * 7);
  CHECK(client->set("big", value, soon()));
  CHECK(client->get("big", soon()).value() == value);
  CHECK(ask(*client, CompareAndSetRequest{"big", value, value}) == Reply{.number = 1});
  value.emplace_back();
  const Result<> refused = client->set("big", value, soon());
  REQUIRE(!refused);
  CHECK(refused.error() == Error{Errc::input,
                                 "the value of 'big' has 1048577 bytes, at most "
                                 "1048576 are allowed"});
}

TEST_CASE("a wait ends at its deadline with an error that names the key") {
  const RendezvousFixture server(table_of_workers(1));
  const auto client = server.join_worker(0);
  const Time before = Clock::now();
  const Reply never = ask(*client, WaitRequest{"listen/worker/7", milliseconds(100)});
  CHECK(never.error == Error{Errc::timeout, "timed out waiting for key 'listen/worker/7'"});
  CHECK(Clock::now() - before >= milliseconds(100));
  CHECK(client->set("still", as_bytes("usable"), soon()));
}

TEST_CASE("a death reaches all who are connected, and later ones with their welcome") {
  RendezvousFixture server(table_of_workers(3));
  const auto first = server.join_worker(0);
  const Notice death{Notice::Kind::dead, {"worker", 2}, "killed by SIGKILL"};
  server.notify(death);
  pollfd readable{first->fd(), POLLIN, 0};
  CHECK(::poll(&readable, 1, 10'000) == 1);
  CHECK(first->pump());
  CHECK(first->next_notice() == death);
  CHECK(!first->next_notice());
  const auto second = server.join_worker(1);
  CHECK(second->next_notice() == death);
}

TEST_CASE("an ephemeral key ends with its client") {
  const RendezvousFixture server(table_of_workers(2));
  const auto other = server.join_worker(0);
  {
    const auto passing = server.join_worker(1);
    CHECK(passing->set("here", as_bytes("x"), soon(), Lifetime::connection));
    CHECK(other->get("here", soon()).value() == to_bytes("x"));
  }
  // The server reads the end of the connection some time later.
  const Time end = soon();
  while (other->get("here", soon()).value())
    REQUIRE(Clock::now() < end);
}

TEST_CASE("a lost launcher ends every request, now and later") {
  RendezvousFixture server(table_of_workers(1));
  const auto client = server.join_worker(0);
  server.stop();
  const Result<> lost = client->set("k", {}, soon());
  REQUIRE(!lost);
  CHECK(lost.error().code == Errc::closed);
  CHECK(lost.error().message.starts_with("rendezvous lost: "));
  CHECK(client->pump().error() == lost.error());
}

TEST_CASE("a client waits for a rendezvous until its deadline and then fails with the attempt") {
  RendezvousClient::Options options;
  {
    // A port that nobody listens on: this one was free a moment ago.
    const Fd held = listen_on({"127.0.0.1", 0}).value();
    options.server = local_address(held.get()).value();
  }
  options.claim.self = {"worker", 0};
  const auto nobody = RendezvousClient::connect(options, client_test_in(50));
  REQUIRE(!nobody);
  CHECK(nobody.error().code == Errc::unreachable);
  CHECK(nobody.error().message == "cannot join the rendezvous at " + options.server.text() +
                                      " as worker:0: cannot connect to " + options.server.text() +
                                      ": Connection refused");
}

TEST_CASE("another token, job or generation is refused, and no error holds a token") {
  const RendezvousFixture server(table_of_workers(1, 1, 7));
  const auto right = server.client_options({"worker", 0});
  auto wrong_token = right;
  wrong_token.claim.token = Token::random().value();
  auto wrong_job = right;
  wrong_job.claim.job = "other-job";
  auto wrong_generation = right;
  wrong_generation.claim.generation = 6;
  for (const auto& options : {wrong_token, wrong_job, wrong_generation}) {
    const auto refused = RendezvousClient::connect(options, soon());
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::refused);
    CHECK(refused.error().message.find(server.token().text()) == std::string::npos);
    CHECK(refused.error().message.find(options.claim.token.text()) == std::string::npos);
  }
  CHECK(RendezvousClient::connect(right, soon()));
}

}  // namespace
}  // namespace dt
