#include "launcher/network/relay.h"

#include "base/io/socket.h"
#include "launcher/network/relay_listener.h"
#include "rendezvous/secure/handshake.h"
#include "tests/unit/connected_to.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

struct Message {
  MessageType type;
  uint32_t stream;
  Bytes payload;
};

/// The agent's end, the launcher's end, and two queues as the link between them. A task's socket
/// dials the listener; `peers` has the launcher's side of each stream.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::deque<Message> to_launcher;
  std::deque<Message> to_agent;
  size_t connections_max = 8;
  uint32_t first_stream = 1;
  std::unique_ptr<RelayListener> listener =
      RelayListener::open(*loop, queue_into(to_launcher), connections_max, first_stream).value();
  Relay launcher{*loop, queue_into(to_agent)};
  std::map<uint32_t, Fd> peers;
  std::vector<uint32_t> opened;  ///< all streams, in their order

  Fixture() = default;
  explicit Fixture(uint32_t first) : first_stream(first) {}

  static Relay::Send queue_into(std::deque<Message>& queue) {
    return [&queue](MessageType type, uint32_t stream, ByteSpan payload) {
      queue.push_back({type, stream, Bytes(payload.begin(), payload.end())});
    };
  }

  /// Delivers messages to both ends until both queues stay empty.
  void carry() {
    for (int quiet = 0; quiet < 3;) {
      REQUIRE(loop->run_once(Clock::now() + milliseconds(1)));
      quiet = to_launcher.empty() && to_agent.empty() ? quiet + 1 : 0;
      while (!to_launcher.empty()) {
        const Message message = std::move(to_launcher.front());
        to_launcher.pop_front();
        if (message.type == MessageType::relay_open) {
          open(message.stream);
        } else {
          REQUIRE(launcher.receive(message.type, message.stream, message.payload));
        }
      }
      while (!to_agent.empty()) {
        const Message message = std::move(to_agent.front());
        to_agent.pop_front();
        REQUIRE(listener->receive(message.type, message.stream, message.payload));
      }
    }
  }
  void open(uint32_t stream) {
    SocketPair pair = make_socketpair().value();
    REQUIRE(set_nonblocking(pair.ours.get()));
    REQUIRE(set_nonblocking(pair.theirs.get()));
    REQUIRE(launcher.add(stream, std::move(pair.ours)));
    peers[stream] = std::move(pair.theirs);
    opened.push_back(stream);
  }
  /// Connects a task; returns its socket and stream.
  std::pair<Fd, uint32_t> task() {
    Fd socket = connected_to(listener->address());
    const size_t before = opened.size();
    const Time end = Clock::now() + std::chrono::minutes(2);
    while (opened.size() == before && Clock::now() < end)
      carry();
    REQUIRE(opened.size() == before + 1);
    return {std::move(socket), opened.back()};
  }
};

size_t send_all_that_goes(const Fd& socket, ByteSpan bytes) {
  const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return n < 0 ? 0 : static_cast<size_t>(n);
}

/// Reads all that has arrived; sets `ended` when the other side has closed.
std::string read_all(const Fd& socket, bool* ended = nullptr) {
  std::string text;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = ::read(socket.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(n));
  if (ended != nullptr) *ended = n == 0;
  return text;
}

TEST_CASE("Relay forwards bytes between a task and the rendezvous") {
  Fixture f;
  const auto [one, first] = f.task();
  const auto [two, second] = f.task();
  CHECK(first != second);
  send_all_that_goes(one, as_bytes("from one"));
  send_all_that_goes(f.peers[second], as_bytes("to two"));
  f.carry();
  CHECK(read_all(f.peers[first]) == "from one");
  CHECK(read_all(f.peers[second]).empty());
  CHECK(read_all(two) == "to two");
  CHECK(read_all(one).empty());
}

TEST_CASE("Relay: the end of a task's connection reaches the rendezvous after its last bytes") {
  Fixture f;
  auto [task, stream] = f.task();
  send_all_that_goes(task, as_bytes("last words"));
  task.reset();
  f.carry();
  bool ended = false;
  CHECK(read_all(f.peers[stream], &ended) == "last words");
  CHECK(ended);
  f.peers.clear();
  f.carry();
  CHECK(f.launcher.size() == 0);
}

TEST_CASE("Relay: the last bytes of the rendezvous arrive, even if the task still sends some") {
  Fixture f;
  auto [task, stream] = f.task();
  send_all_that_goes(f.peers[stream], as_bytes("refused"));
  send_all_that_goes(task, as_bytes("nobody reads this"));
  f.peers.clear();
  f.carry();
  send_all_that_goes(task, as_bytes("nor this"));
  f.carry();
  bool ended = false;
  CHECK(read_all(task, &ended) == "refused");
  CHECK(ended);
  task.reset();
  f.carry();
  CHECK(f.launcher.size() == 0);
}

TEST_CASE("Relay takes no more from a task than the rendezvous reads, and all of it in the end") {
  Fixture f;
  const auto [task, stream] = f.task();
  const Bytes chunk(size_t{64} << 10, std::byte{'x'});
  size_t sent = 0;
  // Fills the buffers of the sockets, and a window.
  for (size_t before = 1; before != sent;) {
    before = sent;
    for (int i = 0; i < 50; ++i) {
      sent += send_all_that_goes(task, chunk);
      f.carry();
    }
    REQUIRE(sent < size_t{64} << 20);
  }
  CHECK(sent > stream_window_bytes);
  size_t read = 0;
  for (size_t before = 1; before != read;) {
    before = read;
    f.carry();
    read += read_all(f.peers[stream]).size();
    f.carry();
    read += read_all(f.peers[stream]).size();
  }
  CHECK(read == sent);
}

/// True when the other side has closed this connection; discards the bytes before.
bool has_ended(const Fd& socket) {
  bool ended = false;
  read_all(socket, &ended);
  return ended;
}

/// Delivers messages until `done`; closes a rendezvous' connection when its task has closed it.
void carry_until(Fixture& f, const std::function<bool()>& done) {
  const Time end = Clock::now() + std::chrono::minutes(2);
  while (!done() && Clock::now() < end) {
    f.carry();
    for (auto& [stream, peer] : f.peers) {
      if (peer && has_ended(peer)) peer.reset();
    }
  }
  REQUIRE(done());
}

/// Sends a task's request, and `answer` bytes from the rendezvous.
void exchange(Fixture& f, const std::pair<Fd, uint32_t>& task, std::string_view request,
              size_t answer) {
  send_all_that_goes(task.first, as_bytes(request));
  send_all_that_goes(f.peers[task.second], Bytes(answer));
  size_t got = 0;
  carry_until(f, [&] {
    got += read_all(task.first).size();
    return got == answer;
  });
}

constexpr std::string_view handshake_begin = "dtrain\n";
constexpr size_t answer_to_proof = challenge_bytes + 1;

std::pair<Fd, uint32_t> proved_task(Fixture& f) {
  auto task = f.task();
  exchange(f, task, handshake_begin, answer_to_proof);
  return task;
}

TEST_CASE("Relay: beyond the limit the oldest connections without proof are closed") {
  Fixture f;
  std::vector<std::pair<Fd, uint32_t>> tasks;
  tasks.push_back(proved_task(f));
  // An answer to Horovod's request proves nothing, nor does the challenge.
  tasks.push_back(f.task());
  exchange(f, tasks.back(), "GET /", answer_to_proof);
  tasks.push_back(f.task());
  exchange(f, tasks.back(), handshake_begin, challenge_bytes);
  while (tasks.size() < f.connections_max)
    tasks.push_back(f.task());
  const Fd beyond = connected_to(f.listener->address());
  carry_until(f, [&] { return f.peers.size() == f.connections_max + 1; });
  CHECK(!has_ended(tasks[0].first));
  CHECK(has_ended(tasks[1].first));
  CHECK(has_ended(tasks[2].first));
  CHECK(!has_ended(tasks[3].first));
  CHECK(!has_ended(beyond));
  CHECK(f.launcher.size() <= f.connections_max);
}

TEST_CASE(
    "Relay: while the launcher reads nothing, foreign connections wait, and cost is bounded") {
  Fixture f;
  const auto task = proved_task(f);
  for (int i = 0; i < 1000; ++i) {
    const Fd stranger = connected_to(f.listener->address());
    REQUIRE(f.loop->run_once(Clock::now()));
  }
  CHECK(f.to_launcher.size() <= 2 * f.connections_max);
  CHECK(!has_ended(task.first));
  // When the launcher reads again, all waiting connections are relayed in turn.
  const Fd last = connected_to(f.listener->address());
  carry_until(f, [&] { return f.peers.size() == 1002; });
  CHECK(!has_ended(last));
  CHECK(!has_ended(task.first));
}

TEST_CASE("Relay: a connection that has proved the token is not closed for another") {
  Fixture f;
  std::vector<std::pair<Fd, uint32_t>> tasks;
  while (tasks.size() < f.connections_max)
    tasks.push_back(proved_task(f));
  const Fd waiting = connected_to(f.listener->address());
  f.carry();
  CHECK(f.peers.size() == f.connections_max);
  for (const auto& [task, stream] : tasks)
    CHECK(!has_ended(task));
  tasks.pop_back();
  carry_until(f, [&] { return f.peers.size() == f.connections_max + 1; });
  CHECK(!has_ended(waiting));
}

TEST_CASE("Relay: one round accepts a bounded number of connections") {
  Fixture f;
  auto listener = RelayListener::open(*f.loop, Fixture::queue_into(f.to_launcher), 1000).value();
  std::vector<Fd> strangers;
  for (int i = 0; i < 70; ++i)
    strangers.push_back(connected_to(listener->address()));
  REQUIRE(f.loop->run_once(Clock::now()));
  CHECK(f.to_launcher.size() == 64);
  REQUIRE(f.loop->run_once(Clock::now()));
  CHECK(f.to_launcher.size() == 70);
}

constexpr uint32_t last_stream = std::numeric_limits<uint32_t>::max();

TEST_CASE("Relay: after the last number the listener opens streams from 1 again") {
  Fixture f(last_stream);
  const auto [one, first] = f.task();
  const auto [two, second] = f.task();
  CHECK(first == last_stream);
  CHECK(second == 1);
  send_all_that_goes(one, as_bytes("from one"));
  send_all_that_goes(two, as_bytes("from two"));
  f.carry();
  CHECK(read_all(f.peers[first]) == "from one");
  CHECK(read_all(f.peers[second]) == "from two");
}

TEST_CASE("Relay: the next stream has no number that is in use") {
  Fixture f;
  for (const uint32_t stream : {last_stream, 1U, 2U, 7U})
    f.open(stream);
  CHECK(f.launcher.free_stream(last_stream) == 3);
  CHECK(f.launcher.free_stream(0) == 3);
  CHECK(f.launcher.free_stream(6) == 6);
  CHECK(f.launcher.free_stream(7) == 8);
  // The other end may still send for a stream whose connection ended here.
  f.peers.erase(2);
  REQUIRE(f.loop->run_once(Clock::now() + seconds(10)));
  CHECK(f.launcher.free_stream(1) == 3);
  CHECK(f.launcher.receive(MessageType::relay_end, 2, {}));
  CHECK(f.launcher.free_stream(1) == 2);
}

TEST_CASE("Relay: a late message for a stream that has ended here is ignored") {
  Fixture f;
  CHECK(f.launcher.receive(MessageType::relay_bytes, 77, as_bytes("late")));
  CHECK(f.launcher.receive(MessageType::relay_credit, 77, encode_credit(1)));
  CHECK(f.launcher.receive(MessageType::relay_end, 77, {}));
}

TEST_CASE("Relay: a message that breaks the protocol is an error") {
  Fixture f;
  const auto [task, stream] = f.task();
  CHECK_FALSE(f.launcher.receive(MessageType::relay_credit, stream, encode_credit(1)));
  CHECK_FALSE(f.launcher.receive(MessageType::relay_credit, stream, as_bytes("no")));
  const Bytes too_much(stream_window_bytes + 1);
  CHECK_FALSE(f.launcher.receive(MessageType::relay_bytes, stream, too_much));
  SocketPair pair = make_socketpair().value();
  CHECK_FALSE(f.launcher.add(stream, std::move(pair.ours)));
}

}  // namespace
}  // namespace dt
