#include "launcher/sync/server/sync_process.h"

#include "base/io/frame.h"
#include "base/io/packets.h"
#include "base/io/stream.h"
#include "launcher/sync/forked_service.h"
#include "launcher/sync/server/sync_events.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

/// The events of a sync process that has no hosts.
struct StartedProcess {
  std::unique_ptr<Loop> loop = Loop::create().value();
  SocketPair orders = make_packet_pair().value();
  SocketPair events = make_socketpair().value();
  std::vector<std::pair<SyncEvent, std::string>> received;
  std::vector<Fd> host_ends;
  std::optional<ForkedService> process;
  std::unique_ptr<Stream> stream;

  void start(const SyncSource& source) {
    std::vector<Fd> theirs;
    theirs.push_back(std::move(orders.theirs));
    theirs.push_back(std::move(events.theirs));
    auto started =
        ForkedService::start("dtrain-sync", std::move(theirs), [&source](std::vector<Fd> its) {
          run_sync_process(source, std::move(its[0]), std::move(its[1]));
        });
    process.emplace(std::move(started).value());
    REQUIRE(set_nonblocking(events.ours.get()));
    stream = Stream::open(*loop, std::move(events.ours), Fd(),
                          {.on_bytes = [this](ByteSpan bytes) { return take(bytes); },
                           .on_end = [](const std::optional<Error>&) {},
                           .on_drained = {}})
                 .value();
  }
  size_t take(ByteSpan bytes) {
    const auto frame = front_frame(bytes);
    if (!frame || !*frame) return 0;
    received.emplace_back(static_cast<SyncEvent>((*frame)->header.type),
                          as_text((*frame)->payload));
    return frame_header_bytes + (*frame)->header.length;
  }
  void order(SyncOrder which, uint32_t value = no_host) const {
    REQUIRE(send_packet(orders.ours.get(), {Writer().number(which).number(value).take()}));
  }
  /// A host that has no process.
  void add_host(const HostOrder& host) {
    SocketPair pair = make_socketpair().value();
    host_ends.push_back(std::move(pair.ours));
    Bytes bytes = Writer().number(SyncOrder::host).raw(encode(host)).take();
    REQUIRE(send_packet(orders.ours.get(), {std::move(bytes), std::move(pair.theirs)}));
  }
  std::string wait_for(SyncEvent event) {
    std::string text;
    run_until(*loop, [&] {
      for (const auto& [which, its] : received)
        if (which == event) text = its;
      return !text.empty() || (!received.empty() && received.back().first == event);
    });
    return text;
  }
};

TEST_CASE_FIXTURE(StartedProcess, "run_sync_process() lists the tree, and ends with the job") {
  const TemporaryFolder home;
  const TemporaryFolder tree;
  tree.write("a", "one");
  tree.write("b/c", "three");
  start({.sync = SyncOptions(),
         .folder = {},
         .user = {tree.path(), {{"HOME", home.path()}, {"PATH", "/usr/bin:/bin"}}},
         .job = "j"});
  const auto facts = decode_tree_facts(as_bytes(wait_for(SyncEvent::listed)));
  REQUIRE(facts);
  CHECK(facts->root == tree.path());
  CHECK(facts->files == 2);
  CHECK(facts->bytes == 8);
  order(SyncOrder::start);
  order(SyncOrder::finish);
  wait_for(SyncEvent::finished);
}

TEST_CASE_FIXTURE(StartedProcess, "a current folder that no copy has fails hosts with a copy") {
  const TemporaryFolder home;
  const TemporaryFolder tree;
  tree.write("a", "one");
  tree.write("ign/b", "two");
  start({.sync = SyncOptions{.from = tree.path(), .excluded = {"ign"}},
         .folder = {},
         .user = {tree.path() + "/ign", {{"HOME", home.path()}, {"PATH", "/usr/bin:/bin"}}},
         .job = "j"});
  const auto facts = decode_tree_facts(as_bytes(wait_for(SyncEvent::listed)));
  REQUIRE(facts);
  CHECK(facts->place == "ign");
  add_host({.id = 1, .name = "here", .here = true, .original = true});
  SUBCASE("from the start: the job") {
    add_host({.id = 2, .name = "a"});
    order(SyncOrder::start);
    CHECK(wait_for(SyncEvent::failed).starts_with("the current folder ign is not among"));
  }
  SUBCASE("later: this host alone") {
    order(SyncOrder::start);
    add_host({.id = 2, .name = "a"});
    CHECK(wait_for(SyncEvent::host_failed).starts_with("the current folder ign is not among"));
    for (const auto& [event, text] : received)
      CHECK(event != SyncEvent::failed);
  }
}

TEST_CASE_FIXTURE(StartedProcess, "run_sync_process() fails for a tree that is not there") {
  start({.sync = SyncOptions{.from = "/proc/self/none"},
         .folder = {},
         .user = {"/", {{"HOME", "/tmp"}, {"PATH", "/usr/bin:/bin"}}},
         .job = "j"});
  CHECK(wait_for(SyncEvent::failed).find("/proc/self/none") != std::string::npos);
}

TEST_CASE_FIXTURE(StartedProcess, "run_sync_process() without files has the folder of the tasks") {
  start({.sync = std::nullopt, .folder = "/work", .user = {}, .job = "j"});
  const auto facts = decode_tree_facts(as_bytes(wait_for(SyncEvent::listed)));
  REQUIRE(facts);
  CHECK(facts->root == "/work");
}

}  // namespace
}  // namespace dt
