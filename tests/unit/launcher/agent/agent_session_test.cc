#include "launcher/agent/agent_session.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"
#include "launcher/agent/local_host.h"
#include "tests/sim/job/virtual_loop.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

namespace dt {
namespace {

/// An agent in this process. The test runs the launcher at the other end of its link.
struct Fixture {
  std::unique_ptr<Loop> loop;
  AgentSession session{*loop};
  Fd link;
  Bytes received;
  bool magic_seen = false;
  std::vector<std::pair<MessageType, Bytes>> messages;

  explicit Fixture(bool scheduled = false, std::unique_ptr<Loop> own = Loop::create().value())
      : loop(std::move(own)) {
    SocketPair pair = make_socketpair().value();
    link = std::move(pair.ours);
    CHECK(set_nonblocking(link.get()).has_value());
    const AgentPlace place = {AgentLocation::other_host, scheduled};
    CHECK(session.open(std::move(pair.theirs), Fd(), place).has_value());
  }

  void send(MessageType type, ByteSpan payload, uint32_t stream = 0) {
    Bytes frames;
    append_message(frames, type, {.generation = 1, .stream = stream}, payload);
    REQUIRE(write_all(link.get(), frames).has_value());
  }

  /// Runs the agent until it has sent such a message, for 10 s at most.
  Bytes await(MessageType wanted) {
    const Time deadline = Clock::now() + seconds(10);
    while (Clock::now() < deadline) {
      if (auto payload = take(wanted)) return *payload;
      CHECK(loop->run_once(loop->now()).has_value());
      pollfd readable = {.fd = link.get(), .events = POLLIN, .revents = 0};
      ::poll(&readable, 1, 1);
      std::byte buffer[65536];
      const ssize_t n = ::read(link.get(), buffer, sizeof buffer);
      if (n > 0) received.insert(received.end(), buffer, buffer + n);
    }
    FAIL("the agent did not send it: ", static_cast<int>(wanted));
    return {};
  }

  /// Returns the first received message of that type.
  std::optional<Bytes> take(MessageType wanted) {
    if (!magic_seen) {
      if (received.size() < agent_magic.size()) return std::nullopt;
      CHECK(as_text(ByteSpan(received).first(agent_magic.size())) == agent_magic);
      received.erase(received.begin(), received.begin() + agent_magic.size());
      magic_seen = true;
    }
    while (const auto frame = front_frame(received).value()) {
      messages.emplace_back(static_cast<MessageType>(frame->header.type),
                            Bytes(frame->payload.begin(), frame->payload.end()));
      const size_t used = frame_header_bytes + frame->header.length;
      received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>(used));
    }
    const auto at = std::ranges::find(messages, wanted, &std::pair<MessageType, Bytes>::first);
    if (at == messages.end()) return std::nullopt;
    Bytes payload = std::move(at->second);
    messages.erase(at);
    return payload;
  }

  Prepared prepare(std::vector<std::string> command, int ports = 0) {
    send(MessageType::prepare, encode(Prepare{.job = "j",
                                              .generation = 1,
                                              .command = std::move(command),
                                              .cwd = "/",
                                              .path = "/usr/bin:/bin",
                                              .ports = ports,
                                              .heartbeat = milliseconds(50),
                                              .dead_after = dead_after}));
    return decode<Prepared>(await(MessageType::prepared)).value();
  }
  pid_t launch(const std::string& script) {
    CHECK(prepare({"sh", "-c", script}).failure.empty());
    send(MessageType::launch,
         encode(Launch{.forwarded = {{"PATH", "/usr/bin:/bin"}},
                       .tasks = {{.id = {"worker", 0}, .environment = {{"MARK", "m"}}}}}));
    return static_cast<pid_t>(decode<Started>(await(MessageType::started)).value().pid);
  }
  void run_to_end() { CHECK(loop->run().has_value()); }
  Duration dead_after = seconds(60);
};

bool alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_CASE("AgentSession does not wait without limit for a launcher that sends nothing") {
  VirtualTime time;
  const auto loop = VirtualLoop::create(time, [&time](Time until) {
                      time.now = until;
                      return until != Time::max();
                    }).value();
  AgentSession session(*loop);
  SocketPair link = make_socketpair().value();
  CHECK(session.open(std::move(link.theirs), Fd(), {AgentLocation::other_host}).has_value());
  const Time began = time.now;
  CHECK(loop->run().has_value());
  CHECK(time.now - began >= seconds(60));
  CHECK(time.now - began < seconds(70));
}

TEST_CASE_FIXTURE(Fixture, "AgentSession sends its hello unasked") {
  const auto hello = decode<Hello>(await(MessageType::hello)).value();
  CHECK_FALSE(hello.hostname.empty());
  CHECK_FALSE(hello.addresses.empty());
}

TEST_CASE_FIXTURE(Fixture, "AgentSession reports the resources of its host when it is asked") {
  send(MessageType::resources_wanted, encode(ResourcesWanted()));
  const auto resources = decode<HostResources>(await(MessageType::resources)).value();
  CHECK(resources.topology == own_topology().value());
  // The machine may have GPUs or not: the answer has a list, or the reason why there is none.
  CHECK((resources.gpu_failure.empty() || resources.gpus.gpus.empty()));
}

TEST_CASE_FIXTURE(Fixture, "AgentSession starts no task while another user has a held port") {
  if (geteuid() != 0) return;  // only root can make a socket of another user
  const Prepared prepared = prepare({"true"}, 2);
  REQUIRE(prepared.ports.size() == 2);
  REQUIRE(seteuid(65534) == 0);
  const auto foreign = listen_on({"127.0.0.1", prepared.ports[1]});
  REQUIRE(seteuid(0) == 0);
  REQUIRE(foreign);
  send(MessageType::launch, encode(Launch{.tasks = {{.id = {"worker", 0}}}}));
  const auto failed = decode<StartFailed>(await(MessageType::start_failed)).value();
  CHECK(failed.status == 3);
  CHECK(failed.why.starts_with("uid 65534, "));
  CHECK(failed.why.find(format("port {}", prepared.ports[1])) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "AgentSession runs a task, sends its output and its end, and finishes") {
  launch("echo $MARK; exit 3");
  CHECK(as_text(await(MessageType::output)) == "m\n");
  const auto exited = decode<Exited>(await(MessageType::exited)).value();
  CHECK(exited.task == TaskId{"worker", 0});
  CHECK(exited.status == ExitStatus{.code = 3});
  send(MessageType::finish, encode(Finish{seconds(2)}));
  CHECK(decode<Finished>(await(MessageType::finished)).value().strays_ended == 0);
  link.reset();
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture,
                  "AgentSession ends the processes that a task left before it sends finished") {
  launch("setsid sleep 60 >/dev/null 2>&1 & exit 0");
  await(MessageType::exited);
  send(MessageType::finish, encode(Finish{seconds(2)}));
  CHECK(decode<Finished>(await(MessageType::finished)).value().strays_ended == 1);
  CHECK_FALSE(has_children());
  link.reset();
  run_to_end();
}

TEST_CASE("AgentSession starts the rest of a launch before a message for all tasks") {
  for (const MessageType behind : {MessageType::heartbeat, MessageType::signal}) {
    Fixture agent;
    CHECK(agent.prepare({"sleep", "60"}).failure.empty());
    Launch wanted = {.forwarded = {{"PATH", "/usr/bin:/bin"}}};
    for (int index = 0; index < 64; ++index)
      wanted.tasks.push_back({.id = {"worker", index}});
    Bytes frames;
    append_message(frames, MessageType::launch, {.generation = 1}, encode(wanted));
    const bool meant = behind == MessageType::signal;
    append_message(frames, behind, {.generation = 1}, meant ? encode(SignalAll{SIGUSR1}) : Bytes());
    REQUIRE(write_all(agent.link.get(), frames).has_value());
    // One round reads the messages; its timers may start some more tasks.
    while (existing_children().empty())
      REQUIRE(agent.loop->run_once(Clock::now() + seconds(10)));
    CHECK((existing_children().size() == 64) == meant);
    agent.link.reset();
    agent.run_to_end();
  }
}

TEST_CASE_FIXTURE(Fixture, "AgentSession sends the states of its tasks' processes") {
  const pid_t pid = launch("sleep 60 & echo $!; wait");
  const auto child = parse_integer(trim(as_text(await(MessageType::output)))).value();
  const auto states_of = [&](const std::vector<StatesWanted::Member>& members) {
    send(MessageType::states_wanted, encode(StatesWanted{members}));
    return decode<States>(await(MessageType::states)).value().tasks;
  };
  REQUIRE(::kill(static_cast<pid_t>(child), SIGSTOP) == 0);
  const TaskId task = {"worker", 0};
  std::vector<States::OfTask> states = states_of({{task, child}, {{"worker", 7}, child}});
  while (states.size() == 1 && !states[0].state.stopped())
    states = states_of({{task, child}, {{"worker", 7}, child}});
  REQUIRE(states.size() == 1);
  CHECK(states[0].task == task);
  CHECK(states[0].state.pid == child);
  // A process that is none of the task's may be meant for another namespace of pids.
  for (const int64_t foreign : {int64_t{0}, int64_t{1}, int64_t{getpid()}})
    CHECK(states_of({{task, foreign}}).at(0).state.pid == pid);
  link.reset();
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "AgentSession: the end of the link ends the tasks") {
  const pid_t pid = launch("exec sleep 60");
  link.reset();
  run_to_end();
  CHECK_FALSE(alive(pid));
}

TEST_CASE_FIXTURE(Fixture,
                  "AgentSession: a launcher that is silent for the dead-after time is lost") {
  dead_after = seconds(1);
  const pid_t pid = launch("exec sleep 60");
  await(MessageType::lease_over);
  run_to_end();
  CHECK_FALSE(alive(pid));
}

TEST_CASE_FIXTURE(Fixture, "AgentSession: bytes that are no message end the tasks too") {
  const pid_t pid = launch("exec sleep 60");
  REQUIRE(write_all(link.get(), as_bytes("GET / HTTP/1.1\r\n\r\n")).has_value());
  run_to_end();
  CHECK_FALSE(alive(pid));
}

/// Returns the third field of /proc/PID/stat: R, S, T, …
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

TEST_CASE_FIXTURE(Fixture,
                  "AgentSession: a pause stops the tasks and the lease, both continue after") {
  dead_after = seconds(1);
  const pid_t pid = launch("exec sleep 60");
  send(MessageType::pause, {});
  await(MessageType::paused);
  // The kernel stops the task a moment after the signal.
  while (state_of(pid) == 'R' || state_of(pid) == 'S')
    CHECK(loop->run_once(Clock::now() + milliseconds(1)).has_value());
  const Time after_lease = Clock::now() + 3 * dead_after;
  while (Clock::now() < after_lease)
    CHECK(loop->run_once(after_lease).has_value());
  CHECK(state_of(pid) == 'T');
  send(MessageType::resume, {});
  // Waits for the first heartbeat after the resume; earlier ones were read.
  messages.clear();
  received.clear();
  await(MessageType::heartbeat);
  CHECK(state_of(pid) != 'T');
  run_to_end();  // a launcher that is silent from now on is lost
  CHECK_FALSE(alive(pid));
}

TEST_CASE_FIXTURE(Fixture, "AgentSession: the end of the link ends paused tasks too") {
  const pid_t pid = launch("exec sleep 60");
  send(MessageType::pause, {});
  await(MessageType::paused);
  link.reset();
  run_to_end();
  CHECK_FALSE(alive(pid));
}

TEST_CASE_FIXTURE(Fixture, "AgentSession starts a task again, with its variables and the changes") {
  const pid_t first = launch(
      "echo $MARK $DTRAIN_ATTEMPT; [ \"$DTRAIN_ATTEMPT\" = 3 ] || exit ${DTRAIN_ATTEMPT:-1}");
  CHECK(as_text(await(MessageType::output)) == "m\n");
  await(MessageType::exited);
  for (uint32_t attempt = 2; attempt <= 3; ++attempt) {
    send(MessageType::restart,
         encode(Restart{{"worker", 0}, attempt, {{"DTRAIN_ATTEMPT", std::to_string(attempt)}}}));
    CHECK(decode<Started>(await(MessageType::started)).value().pid != first);
    CHECK(as_text(await(MessageType::output)) == "m " + std::to_string(attempt) + "\n");
    const auto exited = decode<Exited>(await(MessageType::exited)).value();
    CHECK(exited.status == ExitStatus{.code = attempt == 2 ? 2 : 0});
  }
  link.reset();
  run_to_end();
}

TEST_CASE("AgentSession loses a launcher that restarts a task which runs, or another attempt") {
  for (const uint32_t attempt : {2U, 3U}) {
    Fixture agent;
    agent.launch(attempt == 2 ? "sleep 60" : "exit 3");
    if (attempt == 3) agent.await(MessageType::exited);
    agent.send(MessageType::restart, encode(Restart{{"worker", 0}, attempt}));
    agent.run_to_end();
    CHECK_FALSE(has_children());
  }
}

/// Time that passes when the test advances it, and while the test waits for the agent's end.
struct OwnTime {
  VirtualTime time;
  std::unique_ptr<Loop> make_loop() {
    return VirtualLoop::create(time,
                               [this](Time until) {
                                 ::poll(nullptr, 0, 1);
                                 time.now = std::min(until, time.now + milliseconds(1));
                                 return true;
                               })
        .value();
  }
};

/// An agent whose scheduler signals it together with its tasks.
struct ScheduledFixture : OwnTime, Fixture {
  ScheduledFixture() : Fixture(true, make_loop()) {}
  static void signal_agent(int number) { REQUIRE(::kill(getpid(), number) == 0); }
  void order_signal(int number) { send(MessageType::signal, encode(SignalAll{number})); }
  /// Lets the agent pass on the signals that it was ordered to send.
  void pass_signals_on() {
    CHECK(loop->run_once(time.now).has_value());
    time.now += milliseconds(200);
  }
  void end() {
    link.reset();
    run_to_end();
  }
};

TEST_CASE_FIXTURE(
    ScheduledFixture,
    "AgentSession reports a scheduler's SIGTERM, and before the ends that it causes") {
  const pid_t task = launch("exec sleep 600");
  // The task may end before the agent gets its signal.
  REQUIRE(::kill(task, SIGTERM) == 0);
  signal_agent(SIGTERM);
  const auto ended = decode<Exited>(await(MessageType::exited)).value();
  CHECK(ended.status.signal == SIGTERM);
  const auto reported = take(MessageType::signalled);
  REQUIRE(reported.has_value());
  CHECK(decode<Signalled>(*reported).value() == Signalled{SIGTERM});
  end();
}

TEST_CASE_FIXTURE(
    ScheduledFixture,
    "AgentSession survives a scheduler's SIGUSR1, and drops the launcher's after it") {
  launch(
      "trap 'echo one' USR1; trap 'echo end; exit' USR2; echo ready; "
      "setsid sleep 60 & while :; do wait; done");
  CHECK(as_text(await(MessageType::output)) == "ready\n");
  order_signal(SIGUSR1);
  pass_signals_on();
  CHECK(as_text(await(MessageType::output)) == "one\n");
  signal_agent(SIGUSR1);
  CHECK(decode<Signalled>(await(MessageType::signalled)).value() == Signalled{SIGUSR1});
  order_signal(SIGUSR1);
  order_signal(SIGUSR2);
  pass_signals_on();
  CHECK(as_text(await(MessageType::output)) == "end\n");
  end();
}

TEST_CASE("AgentSession passes the launcher's SIGTERM on unless the scheduler's has come") {
  for (const bool scheduler_stops : {false, true}) {
    ScheduledFixture agent;
    agent.launch(
        "trap 'echo stop' TERM; trap 'echo end; exit' USR2; echo ready; "
        "setsid sleep 60 & while :; do wait; done");
    CHECK(as_text(agent.await(MessageType::output)) == "ready\n");
    agent.order_signal(SIGTERM);
    if (scheduler_stops) {
      ScheduledFixture::signal_agent(SIGTERM);
      agent.await(MessageType::signalled);
    }
    agent.pass_signals_on();
    if (!scheduler_stops) CHECK(as_text(agent.await(MessageType::output)) == "stop\n");
    agent.order_signal(SIGUSR2);
    agent.pass_signals_on();
    CHECK(as_text(agent.await(MessageType::output)) == "end\n");
    agent.await(MessageType::exited);
    agent.end();
  }
}

TEST_CASE_FIXTURE(ScheduledFixture,
                  "AgentSession keeps the time between the launcher's SIGTERM and SIGKILL") {
  launch("trap 'echo stop' TERM; echo ready; setsid sleep 60 & while :; do wait; done");
  CHECK(as_text(await(MessageType::output)) == "ready\n");
  order_signal(SIGTERM);
  CHECK(loop->run_once(time.now).has_value());
  time.now += milliseconds(100);
  order_signal(SIGKILL);
  CHECK(loop->run_once(time.now).has_value());
  time.now += milliseconds(100);
  CHECK(as_text(await(MessageType::output)) == "stop\n");
  time.now += milliseconds(100);
  CHECK(decode<Exited>(await(MessageType::exited)).value().status.signal == SIGKILL);
  end();
}

TEST_CASE_FIXTURE(ScheduledFixture,
                  "AgentSession reports a scheduler's SIGTERM before the launch when it launches") {
  signal_agent(SIGTERM);
  launch("exec sleep 600");
  CHECK(decode<Signalled>(await(MessageType::signalled)).value() == Signalled{SIGTERM});
  // The tasks have not got it.
  order_signal(SIGTERM);
  pass_signals_on();
  CHECK(decode<Exited>(await(MessageType::exited)).value().status.signal == SIGTERM);
  CHECK_FALSE(take(MessageType::signalled).has_value());
  end();
}

TEST_CASE_FIXTURE(Fixture, "AgentSession that stays runs the next generation") {
  const Prepared first = prepare({"sh", "-c", "sleep 60 & exit 3"}, 1);
  REQUIRE(first.ports.size() == 1);
  const Launch order = {.forwarded = {{"PATH", "/usr/bin:/bin"}},
                        .tasks = {{.id = {"worker", 0}, .environment = {}}}};
  send(MessageType::launch, encode(order));
  await(MessageType::started);
  CHECK(decode<Exited>(await(MessageType::exited)).value().status == ExitStatus{.code = 3});
  send(MessageType::finish, encode(Finish{.patience = seconds(10), .stays = true}));
  CHECK(decode<Finished>(await(MessageType::finished)).value().strays_ended == 1);

  // Late messages for tasks that have ended.
  send(MessageType::credit, encode_credit(1), StreamId{0, TaskStream::output}.number());
  send(MessageType::relay_end, {}, 1);
  send(MessageType::signal, encode(SignalAll{SIGTERM}));
  const auto port_is_free = hold_this_port(first.ports.front());
  CHECK(port_is_free.has_value());

  const pid_t pid = launch("exec sleep 60");
  CHECK(alive(pid));
  send(MessageType::finish, encode(Finish{.patience = seconds(10)}));
  const auto second = decode<Exited>(await(MessageType::exited)).value();
  CHECK(second.status == ExitStatus{.signal = SIGTERM});
  await(MessageType::finished);
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "AgentSession that stays ends with its launcher") {
  launch("exit 3");
  send(MessageType::finish, encode(Finish{.patience = seconds(10), .stays = true}));
  await(MessageType::finished);
  link.reset();
  run_to_end();
}

}  // namespace
}  // namespace dt
