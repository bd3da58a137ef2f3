#include "launcher/sync/server/host_peer.h"

#include "base/io/frame.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// A peer whose host is the test: it sees the first frame of each answer.
struct PeerOfTest {
  std::unique_ptr<Loop> loop = Loop::create().value();
  SyncedTree tree = {.place = {.job = "job1", .target = std::nullopt}};
  std::string noted;
  std::string printed;
  Seen seen;
  HostPeer peer{*loop,
                {.id = 4, .name = "node"},
                tree,
                {.on_step = [] {},
                 .on_note = [this](const std::string& text) { noted = text; },
                 .on_seen = [this](const Seen& its) { seen = its; },
                 .on_output = [this](ByteSpan bytes) { printed += as_text(bytes); },
                 .on_file = [](SyncMessage, ByteSpan) { return Result<>(); },
                 .on_broken_tree = [](const Error&) {}}};
  SocketPair pair = make_socketpair().value();

  PeerOfTest() {
    tree.place.source = "/source";
    tree.encoded = encode(tree.manifest);
    REQUIRE(peer.open(std::move(pair.theirs)));
  }
  void answer(SyncMessage type, ByteSpan payload = {}) const {
    Bytes frame;
    append_sync_message(frame, type, payload);
    REQUIRE(write_all(pair.ours.get(), frame));
  }
  void wait_for(HostPeer::State state) {
    run_until(*loop, [&] { return peer.state() == state; });
  }
};

TEST_CASE_FIXTURE(PeerOfTest, "HostPeer: the way of a host to its tree, its files and its end") {
  CHECK(peer.marker() == "job1-4");
  answer(SyncMessage::placed);
  wait_for(HostPeer::State::placed);
  peer.look();
  answer(SyncMessage::seen, encode(Seen{{"job1-4"}, {"job1-4", "job1-5"}}));
  wait_for(HostPeer::State::looked);
  CHECK(seen.store.size() == 2);
  peer.send_tree();
  answer(SyncMessage::lacking, encode(Lacking{}));
  wait_for(HostPeer::State::building);
  answer(SyncMessage::progress);
  answer(SyncMessage::note, as_bytes("waits"));
  answer(SyncMessage::built, encode(Built{"/tree"}));
  wait_for(HostPeer::State::ready);
  CHECK(noted == "waits");
  CHECK(peer.tree().folder == "/tree");
  peer.fetch({"*"});
  answer(SyncMessage::fetched, encode(FetchPatterns{}));
  wait_for(HostPeer::State::ready);
  peer.close();
  answer(SyncMessage::closed);
  wait_for(HostPeer::State::closed);
}

TEST_CASE_FIXTURE(PeerOfTest,
                  "HostPeer: a setup comes behind the tree, and its output is passed on") {
  tree.setup = SetUpOrder{.commands = {"true"}};
  answer(SyncMessage::placed);
  wait_for(HostPeer::State::placed);
  peer.adopt();
  answer(SyncMessage::built, encode(Built{"/tree"}));
  wait_for(HostPeer::State::built);
  peer.set_up(true);
  answer(SyncMessage::output, as_bytes("hello"));
  answer(SyncMessage::is_set_up, encode(IsSetUp{"/setup", true}));
  wait_for(HostPeer::State::ready);
  CHECK(printed == "hello");
  CHECK(peer.tree().setup_folder == "/setup");
  CHECK(peer.tree().has_bin);
}

TEST_CASE_FIXTURE(PeerOfTest, "HostPeer: a host that breaks the protocol has failed") {
  SUBCASE("an answer at the wrong time") {
    answer(SyncMessage::built, encode(Built{"/tree"}));
  }
  SUBCASE("an unknown message") {
    answer(static_cast<SyncMessage>(200));
  }
  SUBCASE("no frame") {
    REQUIRE(write_all(pair.ours.get(), Bytes(64, std::byte{0xff})));
  }
  SUBCASE("an entry that is not there") {
    answer(SyncMessage::placed);
    wait_for(HostPeer::State::placed);
    peer.send_tree();
    answer(SyncMessage::lacking, encode(Lacking{{7}, false}));
  }
  SUBCASE("the end of its process") {
    pair.ours.reset();
  }
  wait_for(HostPeer::State::failed);
  CHECK_FALSE(peer.why().empty());
}

TEST_CASE_FIXTURE(PeerOfTest, "HostPeer: a failure of the host, and its silence") {
  SUBCASE("failure") {
    answer(SyncMessage::failed, encode(SyncFailure{"no room"}));
    wait_for(HostPeer::State::failed);
    CHECK(peer.why() == "no room");
  }
  SUBCASE("silence") {
    peer.check_progress(seconds(600));
    CHECK(peer.state() == HostPeer::State::placing);
    peer.check_progress(Duration::zero());
    CHECK(peer.state() == HostPeer::State::failed);
    CHECK(peer.why().find("nothing has come from it") != std::string::npos);
  }
}

}  // namespace
}  // namespace dt
