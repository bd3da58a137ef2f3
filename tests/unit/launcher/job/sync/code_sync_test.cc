#include "launcher/job/sync/code_sync.h"

#include "base/io/frame.h"
#include "base/io/packets.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// A sync process that a test scripts, and no agents.
struct Launcher {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  AgentGroup agents{*loop, {}};
  Pipe console = make_pipe().value();
  std::unique_ptr<Sink> sink = Sink::open(*loop, console.write.get(), [](const Error&) {}).value();
  Plan plan;
  AgentGroup::Awaited far = {Time::max(), [] { return false; }};

  std::unique_ptr<CodeSync> start(const CodeSync::Serve& serve) {
    return CodeSync::start({*loop, log, agents, *sink}, serve, {}).value();
  }
};

void send(const Fd& events, SyncEvent event, ByteSpan payload) {
  Bytes frame;
  append_frame(frame, {.type = static_cast<uint8_t>(event)}, payload);
  static_cast<void>(write_all(events.get(), frame));
}

TEST_CASE_FIXTURE(Launcher, "CodeSync: this machine uses the tree itself") {
  plan.hosts = {{.host = {.name = "localhost", .user = {}, .here = true}}};
  const auto code = start([](const Fd& orders, const Fd& events) {
    send(events, SyncEvent::warning, as_bytes("left out: 2 sockets"));
    send(events, SyncEvent::listed, encode(TreeFacts{.root = "/src", .place = "part"}));
    static_cast<void>(receive_packet(orders.get()));
  });
  REQUIRE(code->wait(plan, far));
  CHECK(logged == "dtrain: warning: left out: 2 sockets\n");
  REQUIRE(code->facts());
  CHECK(code->facts()->place == "part");
  CHECK(code->trees(plan)[0].folder == "/src");
  CHECK(code->failures(plan) == std::vector<std::string>{""});
  CHECK(code->record().hosts.empty());
}

TEST_CASE_FIXTURE(Launcher, "CodeSync: the failure of a tree, and of its process") {
  const auto failed = start([](const Fd& orders, const Fd& events) {
    send(events, SyncEvent::failed, as_bytes("cannot read x"));
    static_cast<void>(receive_packet(orders.get()));
  });
  plan.hosts = {{.host = {.name = "localhost", .user = {}, .here = true}}};
  const auto why = failed->wait(plan, far);
  REQUIRE_FALSE(why);
  CHECK(why.error().code == Errc::input);
  CHECK(why.error().message == "cannot read x");
  const auto ended = start([](const Fd&, const Fd&) {});
  const auto gone = ended->wait(plan, far);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().message.find("--sync") != std::string::npos);
}

TEST_CASE_FIXTURE(Launcher, "CodeSync: an interruption ends the wait") {
  plan.hosts = {{.host = {.name = "localhost", .user = {}, .here = true}}};
  const auto code =
      start([](const Fd& orders, const Fd&) { static_cast<void>(receive_packet(orders.get())); });
  const auto stopped = code->wait(plan, {Time::max(), [] { return true; }});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Errc::interrupted);
  const auto late = code->wait(plan, {Clock::now(), [] { return false; }});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::timeout);
}

}  // namespace
}  // namespace dt
