#include "launcher/agent/task_run.h"

#include "base/io/socket.h"
#include "launcher/process/executable.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

struct Message {
  MessageType type;
  uint32_t stream;
  Bytes payload;
};

/// The run of one shell script, and the messages about it.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::vector<Message> sent;
  std::vector<Finished> ends;
  TaskRun run{*loop,
              {.send =
                   [this](MessageType type, uint32_t stream, ByteSpan payload) {
                     sent.push_back({type, stream, Bytes(payload.begin(), payload.end())});
                   },
               .owns_other = [](pid_t) { return false; },
               .spared = [] { return std::vector<pid_t>(); },
               .on_ended = [this](const Finished& finished) { ends.push_back(finished); }}};

  Fixture() { become_subreaper(); }

  static Launch one_task() {
    Launch wanted;
    wanted.forwarded = {{"PATH", "/usr/bin:/bin"}};
    wanted.tasks.resize(1);
    wanted.tasks[0].id = {"worker", 0};
    return wanted;
  }
  void launch(const std::string& script, Launch wanted = one_task(),
              const std::vector<uint16_t>& ports = {}) {
    const LocalTasks::Program shell = {.executable = "/bin/sh", .command = {"sh", "-c", script}};
    REQUIRE(run.launch(std::move(wanted),
                       {.common = shell, .by_role = {}, .cwd = "/", .open_files_max = 1024},
                       ports));
  }
  const Message* find(MessageType type) const {
    const auto at = std::ranges::find(sent, type, &Message::type);
    return at == sent.end() ? nullptr : &*at;
  }
  Bytes await(MessageType type) {
    run_until(*loop, [&] { return find(type) != nullptr; });
    return find(type)->payload;
  }
  Finished end() {
    run.end(seconds(2));
    run_until(*loop, [this] { return !ends.empty(); });
    CHECK(run.swept());
    return ends.front();
  }
};

TEST_CASE_FIXTURE(Fixture, "TaskRun runs a task, and ends when nothing of it is left") {
  launch("echo out; exit 3");
  CHECK(as_text(await(MessageType::output)) == "out\n");
  CHECK(decode<Exited>(await(MessageType::exited)).value().status == ExitStatus{.code = 3});
  CHECK_FALSE(run.swept());
  const Finished finished = end();
  CHECK(finished.strays_ended == 0);
  CHECK(finished.contained_by == "sweep");
  CHECK(ends.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "TaskRun delivers output that waits for credit before its end") {
  launch("head -c 300000 /dev/zero");
  run_until(*loop, [this] { return run.tasks().output_waits_for_credit(); });
  await(MessageType::exited);
  run.end(seconds(2));
  run_until(*loop, [this] { return run.swept(); });
  // Without credit it waits, however many rounds there are.
  for (int round = 0; round < 12; ++round)
    REQUIRE(loop->run_once(Clock::now() + seconds(10)));
  CHECK(ends.empty());
  const uint32_t stream = StreamId{0, TaskStream::output}.number();
  REQUIRE(run.tasks().find(stream)->add_credit(TaskStream::output, stream_window_bytes));
  run_until(*loop, [this] { return !ends.empty(); });
  size_t bytes = 0;
  for (const Message& message : sent)
    bytes += message.type == MessageType::output ? message.payload.size() : 0;
  CHECK(bytes == 300'000);
}

TEST_CASE_FIXTURE(Fixture, "TaskRun without a reader of output ends although credit lacks") {
  launch("head -c 300000 /dev/zero; sleep 60");
  run_until(*loop, [this] { return run.tasks().output_waits_for_credit(); });
  run.drop_output();
  CHECK(end().unkillable.empty());
}

TEST_CASE_FIXTURE(Fixture, "TaskRun gives tasks the address of its relay") {
  Launch wanted = one_task();
  wanted.relay = true;
  launch("echo $DTRAIN_RENDEZVOUS; exec sleep 60", wanted);
  std::string text(as_text(await(MessageType::output)));
  REQUIRE(text.ends_with('\n'));
  text.pop_back();
  const Fd task = start_connect(Address::parse(text).value()).value();
  await(MessageType::relay_open);
  const uint32_t stream = find(MessageType::relay_open)->stream;
  CHECK(run.receive_relayed(MessageType::relay_end, stream, {}));
  end();
}

TEST_CASE_FIXTURE(Fixture, "TaskRun: a relayed message without a relay breaks the protocol") {
  launch("true");
  const auto refused = run.receive_relayed(MessageType::relay_end, 1, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::protocol);
  end();
}

TEST_CASE_FIXTURE(Fixture, "TaskRun starts no task while another user has a held port") {
  if (geteuid() != 0) return;  // only root can make a socket of another user
  const HeldPort held = std::move(hold_ports(1, std::nullopt).value().front());
  REQUIRE(seteuid(65534) == 0);
  const auto foreign = listen_on({"127.0.0.1", held.number});
  REQUIRE(seteuid(0) == 0);
  REQUIRE(foreign);
  launch("true", one_task(), {held.number});
  REQUIRE(sent.size() == 1);
  const auto failed = decode<StartFailed>(await(MessageType::start_failed)).value();
  CHECK(failed.status == 3);
  CHECK(failed.why.starts_with("uid 65534, "));
  CHECK(run.tasks().processes().empty());
}

TEST_CASE_FIXTURE(Fixture, "TaskRun: a second end can only shorten the patience") {
  launch("trap '' TERM; echo ready; while :; do sleep 1; done");
  await(MessageType::output);
  run.end(seconds(3600));
  run.end(Duration::zero());
  run_until(*loop, [this] { return !ends.empty(); });
  CHECK(decode<Exited>(await(MessageType::exited)).value().status == ExitStatus{.signal = SIGKILL});
}

}  // namespace
}  // namespace dt
