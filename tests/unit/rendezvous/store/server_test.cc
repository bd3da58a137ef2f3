#include "rendezvous/store/server.h"

#include "rendezvous/secure/channel.h"
#include "rendezvous/secure/dial.h"
#include "tests/unit/connected_to.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Counters = RendezvousServer::Counters;

void send_bytes(int fd, ByteSpan bytes) {
  REQUIRE(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

/// Reads to the end of the connection; false if it does not come within `limit`.
bool ends_within(int fd, Duration limit) {
  const Time deadline = Clock::now() + limit;
  std::array<std::byte, 4096> buffer;
  while (await_readiness(fd, POLLIN, deadline).value()) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

/// A task's connection with direct access to its frames.
struct RawTask {
  Fd connection;
  Channel channel;

  RawTask(const RendezvousFixture& server, int index, uint32_t generation)
      : RawTask(dial(server.address(), server.claim({"worker", index}),
                     {std::string(launcher_role), 0}, seconds(5), soon())
                    .value(),
                generation) {}
  RawTask(Dialed dialed, uint32_t generation)
      : connection(std::move(dialed.connection)),
        channel(std::move(dialed.session), generation, answer_bytes_max) {}
};

struct FakePeer {
  const char* what;
  std::string bytes;
};

std::vector<FakePeer> strangers() {
  std::string random(200, '\0');
  std::mt19937 generator(1);
  for (char& c : random)
    c = static_cast<char>(generator());
  const std::string hello = "dtrain\n\x02";
  return {{"HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
          {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)},
          {"SSH", "SSH-2.0-OpenSSH_9.2p1\r\n"},
          {"random", random},
          {"one zero byte", std::string(1, '\0')},
          {"length 0", hello + std::string(1, '\0')},
          {"length 255", hello + std::string(255, '\xff')},
          {"version 9", std::string("dtrain\n\x09\x20", 9) + std::string(32, 'x')},
          {"a role longer than the hello", hello + '\x20' + std::string(32, '\xff')},
          {"a frame", std::string(16, '\x01')}};
}

TEST_CASE(
    "foreign connections are closed within the handshake deadline, counted, and cost few lines") {
  RendezvousServer::Options options;
  options.handshake_timeout = milliseconds(200);
  RendezvousFixture server(table_of_workers(1), options);
  const std::vector<FakePeer> all = strangers();
  std::vector<Fd> connections;
  connections.reserve(all.size() + 2);
  for (const FakePeer& stranger : all) {
    connections.push_back(connected_to(server.address()));
    send_bytes(connections.back().get(), as_bytes(stranger.bytes));
  }
  // Silent ones, and one that stops in the middle.
  connections.push_back(connected_to(server.address()));
  connections.push_back(connected_to(server.address()));
  send_bytes(connections.back().get(), as_bytes("dtrain\n\x02"));
  for (size_t i = 0; i < connections.size(); ++i) {
    CAPTURE(i);
    CHECK(ends_within(connections[i].get(), seconds(5)));
  }
  CHECK(server.counters().rejected == connections.size());
  CHECK(server.counters().pending == 0);
  const std::string log = server.log_text();
  CHECK(std::ranges::count(log, '\n') <= 2);
  CHECK(log.starts_with("dtrain: warning: rendezvous: authentication failed from 127.0.0.1: "));
  CHECK(server.join_worker(0));
}

TEST_CASE("a check whether the port is open is counted and not logged") {
  RendezvousFixture server(table_of_workers(1));
  connected_to(server.address());
  server.until([](const Counters& counters) { return counters.rejected == 1; });
  CHECK(server.log_text().empty());
}

TEST_CASE("a task that ends during its handshake is counted and not logged") {
  RendezvousFixture server(table_of_workers(1));
  Handshake handshake =
      Handshake::dial(server.claim({"worker", 0}), {std::string(launcher_role), 0}).value();
  const Bytes hello = handshake.take_output();
  for (const size_t sent : {size_t{1}, hello.size() - 1, hello.size()}) {
    const Fd task = connected_to(server.address());
    send_bytes(task.get(), ByteSpan(hello).first(sent));
  }
  server.until([](const Counters& counters) { return counters.rejected == 3; });
  CHECK(server.log_text().empty());
}

TEST_CASE("wrong token, job and generation are counted, and no line holds the token") {
  RendezvousFixture server(table_of_workers(1, 1, 7));
  const auto right = server.client_options({"worker", 0});
  auto wrong_token = right;
  wrong_token.claim.token = Token::random().value();
  auto wrong_job = right;
  wrong_job.claim.job = "other";
  auto old_generation = right;
  old_generation.claim.generation = 6;
  for (const auto& options : {wrong_token, wrong_job, old_generation})
    CHECK(!RendezvousClient::connect(options, soon()));
  server.until([](const Counters& counters) { return counters.rejected == 3; });
  CHECK(
      server.log_text().starts_with("dtrain: warning: rendezvous: authentication failed from "
                                    "127.0.0.1: wrong token, job or generation\n"));
  CHECK(server.log_text().find(server.token().text()) == std::string::npos);
  CHECK(server.log_text().find(wrong_token.claim.token.text()) == std::string::npos);
}

TEST_CASE("a recorded handshake is rejected when it is replayed") {
  RendezvousFixture server(table_of_workers(1));
  Handshake handshake =
      Handshake::dial(server.claim({"worker", 0}), {std::string(launcher_role), 0}).value();
  const Bytes hello = handshake.take_output();
  const auto challenge_after = [&](int fd) {
    send_bytes(fd, hello);
    Bytes challenge(2 * sizeof(Digest));
    size_t got = 0;
    while (got < challenge.size()) {
      REQUIRE(await_readiness(fd, POLLIN, soon()).value());
      const ssize_t n = ::read(fd, challenge.data() + got, challenge.size() - got);
      REQUIRE(n > 0);
      got += static_cast<size_t>(n);
    }
    return challenge;
  };
  const Fd first = connected_to(server.address());
  REQUIRE(handshake.receive(challenge_after(first.get())));
  const Bytes proof = handshake.take_output();
  send_bytes(first.get(), proof);
  server.until([](const Counters& counters) { return counters.joined == 1; });

  const Fd again = connected_to(server.address());
  challenge_after(again.get());
  send_bytes(again.get(), proof);
  CHECK(ends_within(again.get(), seconds(5)));
  CHECK(server.counters().rejected == 1);
  CHECK(server.counters().joined == 1);
}

TEST_CASE("handshakes under way are bounded: the oldest is closed, and a task gets in at once") {
  RendezvousServer::Options options;
  options.pending_max = 3;  // and one for the task
  options.handshake_timeout = seconds(60);
  RendezvousFixture server(table_of_workers(1), options);
  std::vector<Fd> slow;
  slow.reserve(4);
  for (int i = 0; i < 4; ++i)
    slow.push_back(connected_to(server.address()));
  server.until([](const Counters& counters) { return counters.pending == 4; });
  const Fd newest = connected_to(server.address());
  CHECK(ends_within(slow.front().get(), seconds(5)));
  CHECK(server.counters().pending == 4);
  CHECK(server.counters().rejected == 1);
  CHECK(server.log_text() ==
        "dtrain: warning: rendezvous: closed the oldest of 4 unfinished handshakes, from "
        "127.0.0.1\n");
  CHECK(server.join_worker(0));
  CHECK(ends_within(slow[1].get(), seconds(5)));
  CHECK(!await_readiness(newest.get(), POLLIN, Clock::now()).value());
}

TEST_CASE("a second claim of a task is refused by name, and the first continues") {
  RendezvousFixture server(table_of_workers(4));
  const auto first = server.join_worker(3);
  const auto second = RendezvousClient::connect(server.client_options({"worker", 3}), soon());
  REQUIRE(!second);
  CHECK(second.error().code == Errc::refused);
  CHECK(second.error().message.ends_with("worker:3 already joined, with the same pid " +
                                         std::to_string(getpid()) +
                                         "; use the first context of dtrain_init"));
  CHECK(first->set("k", as_bytes("v"), soon()));
  CHECK(server.counters().refused == 1);
}

TEST_CASE("a claim outside the table fails that process only") {
  RendezvousFixture server(table_of_workers(2));
  const auto inside = server.join_worker(0);
  for (const TaskId& task : {TaskId{"worker", 2}, TaskId{"worker", -1}, TaskId{"ps", 0}}) {
    CAPTURE(task.text());
    const auto outside = RendezvousClient::connect(server.client_options(task), soon());
    REQUIRE(!outside);
    CHECK(outside.error().message.ends_with(task.text() +
                                            " is not a task of this job, which has 2 workers"));
  }
  CHECK(inside->get("k", soon()));
  CHECK(server.counters().refused == 3);
}

TEST_CASE("a task whose connection ended may join again, unless it is dead") {
  RendezvousFixture server(table_of_workers(2));
  server.join_worker(0).reset();
  server.until([](const Counters& counters) { return counters.joined == 0; });
  CHECK(server.join_worker(0));
  server.until([](const Counters& counters) { return counters.joined == 0; });
  server.notify({Notice::Kind::dead, {"worker", 0}, "killed by SIGSEGV"});
  const auto dead = RendezvousClient::connect(server.client_options({"worker", 0}), soon());
  REQUIRE(!dead);
  CHECK(dead.error().message.find("worker:0 (host node0) died: killed by SIGSEGV") !=
        std::string::npos);
}

TEST_CASE("a restarted task joins as its next attempt only, and others learn of it") {
  RendezvousFixture server(table_of_workers(2));
  const auto other = server.join_worker(0);
  server.notify({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL", 1, true});
  server.notify({Notice::Kind::restarted, {"worker", 1}, "", 2});
  RendezvousClient::Options options = server.client_options({"worker", 1});
  const auto late = RendezvousClient::connect(options, soon());
  REQUIRE(!late);
  CHECK(late.error().code == Errc::refused);
  CHECK(late.error().message.find("worker:1 is at attempt 2, so pid ") != std::string::npos);
  options.claim.attempt = 2;
  CHECK(RendezvousClient::connect(options, soon()));
  REQUIRE(other->set("k", {}, soon()));
  CHECK(other->next_notice()->returns);
  CHECK(other->next_notice() == Notice{Notice::Kind::restarted, {"worker", 1}, "", 2});
}

// NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): what is tested
const auto unknown_type = static_cast<ChannelMessageType>(99);

// Frames that a Session seals, but that no client of ours sends.
struct BadFrame {
  const char* what;
  std::function<void(RawTask&, Bytes&)> make;
  const char* message;
};

std::vector<BadFrame> bad_frames() {
  const Bytes get = encode(Request(GetRequest{"k"}));
  return {{"bad MAC",
           [get](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, get);
             out.back() ^= std::byte{1};
           },
           "frame with a wrong MAC: changed, replayed or out of order"},
          {"replayed frame",
           [get](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, get);
             const Bytes copy = out;
             out.insert(out.end(), copy.begin(), copy.end());
           },
           "frame with a wrong MAC: changed, replayed or out of order"},
          {"length 0xFFFFFFFF", [](RawTask&, Bytes& out) { out.assign(16, std::byte{0xFF}); },
           "frame version 255, this build speaks 1"},
          {"length over the limit",
           [](RawTask&, Bytes& out) { append_header(out, {.length = 0xFFFFFFFF}); },
           "frame length 4294967295 > 1048576"},
          {"bad version",
           [get](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, get);
             out[4] = std::byte{7};
           },
           "frame version 7, this build speaks 1"},
          {"bad type",
           [get](RawTask& task, Bytes& out) { task.channel.send(out, unknown_type, 1, get); },
           "frame type 99 is unknown"},
          {"a server's message",
           [get](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::notice, 1, get);
           },
           "frame type 4 from a client"},
          {"length 0",
           [](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, {});
           },
           "request is cut short"},
          {"truncated payload",
           [get](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1,
                               ByteSpan(get).first(get.size() - 1));
           },
           "request is cut short"},
          {"trailing bytes",
           [get](RawTask& task, Bytes& out) {
             Bytes longer = get;
             longer.emplace_back();
             task.channel.send(out, ChannelMessageType::request, 1, longer);
           },
           "request has trailing bytes"},
          {"unknown request",
           [](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, as_bytes("\xfe"));
           },
           "request 254 is unknown"},
          {"a message without end",
           [](RawTask& task, Bytes& out) {
             task.channel.send(out, ChannelMessageType::request, 1, Bytes(request_bytes_max + 1));
           },
           "message of more than 4194304 bytes"}};
}

TEST_CASE("a protocol error after authentication ends that connection and is logged once") {
  for (const BadFrame& c : bad_frames()) {
    CAPTURE(c.what);
    RendezvousFixture server(table_of_workers(2));
    const auto bystander = server.join_worker(0);
    RawTask task(server, 1, 1);
    Bytes out;
    c.make(task, out);
    for (size_t at = 0; at < out.size();) {
      const ssize_t n =
          ::send(task.connection.get(), out.data() + at, out.size() - at, MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) {
        REQUIRE(await_readiness(task.connection.get(), POLLOUT, soon()).value());
        continue;
      }
      if (n < 0) break;
      at += static_cast<size_t>(n);
    }
    CHECK(ends_within(task.connection.get(), seconds(5)));
    CHECK(server.log_text() ==
          std::string("dtrain: protocol error from worker:1 (host node1): ") + c.message + "\n");
    CHECK(bystander->set("k", as_bytes("v"), soon()));
  }
}

TEST_CASE("a frame of an old generation ends the connection") {
  RendezvousFixture server(table_of_workers(1, 1, 4));
  RawTask task(server, 0, 3);
  Bytes out;
  task.channel.send(out, ChannelMessageType::request, 1, encode(Request(GetRequest{"k"})));
  send_bytes(task.connection.get(), out);
  CHECK(ends_within(task.connection.get(), seconds(5)));
  CHECK(server.log_text() ==
        "dtrain: protocol error from worker:0 (host node0): frame of "
        "generation 3, this is generation 4\n");
}

TEST_CASE("a frame cut short by a hang-up is no error, only an end") {
  RendezvousFixture server(table_of_workers(1));
  {
    RawTask task(server, 0, 1);
    Bytes out;
    task.channel.send(out, ChannelMessageType::request, 1, encode(Request(GetRequest{"k"})));
    send_bytes(task.connection.get(), ByteSpan(out).first(out.size() - 1));
    server.until([](const Counters& counters) { return counters.joined == 1; });
  }
  server.until([](const Counters& counters) { return counters.joined == 0; });
  CHECK(server.log_text().empty());
}

TEST_CASE("a client that does not read is dropped, and the others continue") {
  RendezvousServer::Options options;
  options.unsent_bytes_max = size_t{2} << 20;
  RendezvousFixture server(table_of_workers(2), options);
  const auto good = server.join_worker(0);
  REQUIRE(good->set("big", Bytes(value_bytes_max), soon()));
  RawTask deaf(server, 1, 1);
  Bytes out;
  for (uint32_t id = 1; id <= 64; ++id)
    deaf.channel.send(out, ChannelMessageType::request, id, encode(Request(GetRequest{"big"})));
  send_bytes(deaf.connection.get(), out);
  server.until([](const Counters& counters) { return counters.joined == 1; });
  CHECK(server.log_text().starts_with("dtrain: worker:1 (host node1) is dropped: it leaves "));
  CHECK(good->get("k", soon()));
}

TEST_CASE("out of descriptors, the loop neither dies nor spins, and accepts again later") {
  RendezvousFixture server(table_of_workers(1));
  const int highest = connected_to(server.address()).get();
  server.until([](const Counters& counters) { return counters.rejected == 1; });
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  // One descriptor is left for our own socket: the server gets none for the other end.
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(highest) + 1;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  const Fd waiting = connected_to(server.address());
  server.until([&](const Counters& counters) {
    return counters.accepted > 1 || !server.log_text().empty();
  });
  CHECK(server.log_text() ==
        "dtrain: warning: rendezvous: cannot accept a connection: Too many open files\n");
  CHECK(server.counters().accepted == 1);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  server.until([](const Counters& counters) { return counters.accepted == 2; });
  CHECK(server.join_worker(0));
}

TEST_CASE("only the one address is bound") {
  const RendezvousFixture server(table_of_workers(1));
  CHECK(server.address().ip == "127.0.0.1");
  CHECK(server.address().port != 0);
  const Address elsewhere{"127.0.0.2", server.address().port};
  const Result<Fd> other = start_connect(elsewhere);
  if (other) {
    REQUIRE(await_readiness(other->get(), POLLOUT, soon()).value());
    CHECK(!connect_result(other->get(), elsewhere));
  }
  CHECK(listen_on(elsewhere));
}

TEST_CASE("another table drops all clients, and its tasks join under its generation") {
  RendezvousFixture server(table_of_workers(1, 1, 1));
  const auto old = server.join_worker(0);
  REQUIRE(old->set("k", as_bytes("v"), soon()));
  server.on_server([](RendezvousServer& it) { it.set_table(table_of_workers(2, 1, 2)); });
  CHECK(old->get("k", soon()).error().code == Errc::closed);
  CHECK(!RendezvousClient::connect(server.client_options({"worker", 0}), soon()));
  auto options = server.client_options({"worker", 1});
  options.claim.generation = 2;
  const auto fresh = RendezvousClient::connect(options, soon());
  REQUIRE(fresh);
  CHECK((*fresh)->table().generation == 2);
  CHECK((*fresh)->get("k", soon()).value() == std::nullopt);
}

TEST_CASE("a reply arrives after the notices before it") {
  RendezvousFixture server(table_of_workers(2));
  const auto client = server.join_worker(0);
  const Notice death{Notice::Kind::dead, {"worker", 1}, "exit status 1"};
  server.notify(death);
  REQUIRE(client->get("n", soon()).value() == std::nullopt);
  CHECK(client->next_notice() == death);
}

TEST_CASE("departures at one time arrive in one message, and all of them") {
  RendezvousFixture server(table_of_workers(4));
  const auto watcher = server.join_worker(0);
  for (const int gone : {1, 2, 3})
    server.notify({Notice::Kind::left, {"worker", gone}, ""});
  for (const int gone : {1, 2, 3}) {
    auto notice = watcher->next_notice();
    while (!notice) {
      REQUIRE(await_readiness(watcher->fd(), POLLIN, soon()).value());
      REQUIRE(watcher->pump());
      notice = watcher->next_notice();
    }
    CHECK(*notice == Notice{Notice::Kind::left, {"worker", gone}, ""});
  }
}

}  // namespace
}  // namespace dt
