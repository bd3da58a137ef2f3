#include "launcher/agent/launcher_link.h"

#include "base/io/socket.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/rendezvous/secure/encrypted_sessions.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

/// A link whose other end is this test, in virtual time.
struct Fixture {
  VirtualTime time;
  std::unique_ptr<VirtualLoop> loop = VirtualLoop::create(time, [this](Time until) {
                                        time.now = until;
                                        return until != Time::max();
                                      }).value();
  std::vector<std::string> handled;
  int beats = 0;
  int losses = 0;
  LauncherLink link{*loop,
                    {.on_message = [this](const FrameView& message) -> Result<> {
                       handled.emplace_back(as_text(message.payload));
                       if (handled.back() == "bad") return fail(Errc::protocol, "bad");
                       return {};
                     },
                     .on_beat = [this] { ++beats; },
                     .on_lost =
                         [this] {
                           ++losses;
                           loop->stop();
                         }}};
  Fd launcher;

  Fixture() {
    SocketPair pair = make_socketpair().value();
    launcher = std::move(pair.ours);
    REQUIRE(set_nonblocking(launcher.get()));
    REQUIRE(link.open(std::move(pair.theirs), Fd()));
  }
  void receive(ByteSpan bytes) {
    REQUIRE(write_all(launcher.get(), bytes));
    while (loop->turn())
      continue;
  }
  /// Returns the bytes that have arrived at the launcher since the last call.
  Bytes arrived() {
    Bytes bytes(1'000'000);
    const ssize_t n = ::read(launcher.get(), bytes.data(), bytes.size());
    bytes.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return bytes;
  }
  /// Returns the types of the messages in these bytes.
  static std::vector<MessageType> types_in(ByteSpan bytes) {
    std::vector<MessageType> types;
    while (const auto frame = front_frame(bytes).value()) {
      types.push_back(static_cast<MessageType>(frame->header.type));
      bytes = bytes.subspan(frame_header_bytes + frame->header.length);
    }
    return types;
  }
  /// Returns whether the launcher is lost when so much time has passed in silence.
  bool lost_after(Duration silence) {
    const Timer end = loop->after(silence, [this] { loop->stop(); });
    REQUIRE(loop->run());
    return link.lost();
  }
};

Bytes message_of(std::string_view payload) {
  Bytes bytes;
  append_message(bytes, MessageType::input, {.generation = 1, .stream = 1}, as_bytes(payload));
  return bytes;
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink writes the messages of one round together, magic first") {
  link.send(MessageType::hello, 0, as_bytes("h"));
  link.send(MessageType::paused, 0, {});
  CHECK(arrived().empty());
  CHECK(loop->turn());
  const Bytes bytes = arrived();
  REQUIRE(as_text(bytes).starts_with(agent_magic));
  CHECK(types_in(ByteSpan(bytes).subspan(agent_magic.size())) ==
        std::vector{MessageType::hello, MessageType::paused});
  CHECK(link.all_sent());
}

TEST_CASE_FIXTURE(Fixture,
                  "LauncherLink writes many bytes within the round, and those of a flush") {
  link.send(MessageType::hello, 0, {});
  link.flush();
  CHECK_FALSE(arrived().empty());
  link.send(MessageType::output, 2, Bytes(stream_chunk_bytes));
  CHECK(arrived().size() == frame_header_bytes + stream_chunk_bytes);
  CHECK_FALSE(loop->turn());
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink puts the generation of its terms into each message") {
  link.set_terms({.generation = 7});
  link.send(MessageType::hello, 3, as_bytes("h"));
  link.flush();
  const Bytes bytes = arrived();
  const auto frame = front_frame(ByteSpan(bytes).subspan(agent_magic.size())).value();
  REQUIRE(frame);
  CHECK(frame->header.generation == 7);
  CHECK(frame->header.stream == 3);
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink passes on whole messages, however they arrive") {
  const Bytes both = [] {
    Bytes bytes = message_of("one");
    const Bytes two = message_of("two");
    bytes.insert(bytes.end(), two.begin(), two.end());
    return bytes;
  }();
  const size_t cut = both.size() - 2;
  receive(ByteSpan(both).first(cut));
  CHECK(handled == std::vector<std::string>{"one"});
  receive(ByteSpan(both).subspan(cut));
  CHECK(handled == std::vector<std::string>{"one", "two"});
}

TEST_CASE("LauncherLink: a broken message, or one that is refused, loses the launcher") {
  for (const Bytes& bytes : {to_bytes("GET / HTTP/1.1\r\n\r\n"), message_of("bad")}) {
    Fixture f;
    f.receive(bytes);
    CHECK(f.link.lost());
    CHECK(f.losses == 1);
    const size_t handled = f.handled.size();
    f.receive(message_of("late"));
    CHECK(f.handled.size() == handled);
    f.link.send(MessageType::heartbeat, 0, {});
    f.link.flush();
    CHECK(f.arrived().empty());
    f.link.lose();
    CHECK(f.losses == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink: the end of the link is the loss of the launcher") {
  launcher.reset();
  REQUIRE(loop->run());
  CHECK(link.lost());
  CHECK(losses == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "LauncherLink beats in the interval of its terms, until the lease ends") {
  link.set_terms({.heartbeat = seconds(1), .dead_after = seconds(5)});
  link.beat();
  CHECK_FALSE(lost_after(milliseconds(4500)));
  CHECK(beats == 5);
  receive(message_of("heartbeat"));
  CHECK_FALSE(lost_after(milliseconds(4500)));
  arrived();
  CHECK(lost_after(seconds(60)));
  const std::vector<MessageType> last = types_in(arrived());
  REQUIRE_FALSE(last.empty());
  CHECK(last.back() == MessageType::lease_over);
  CHECK(losses == 1);
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink waits longer for a launcher that sent no terms") {
  link.beat();
  CHECK_FALSE(lost_after(LauncherLink::unprepared_patience));
  CHECK(lost_after(seconds(3)));
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink has no heartbeat and no lease while it is paused") {
  link.set_terms({.heartbeat = seconds(1), .dead_after = seconds(5)});
  link.beat();
  link.pause();
  CHECK_FALSE(lost_after(seconds(3600)));
  CHECK(beats == 1);
  link.resume();
  CHECK(beats == 2);
  CHECK_FALSE(lost_after(milliseconds(4500)));
  CHECK(lost_after(seconds(3)));
}

TEST_CASE_FIXTURE(Fixture, "LauncherLink with a session sends and takes records only") {
  SocketPair pair = make_socketpair().value();
  launcher = std::move(pair.ours);
  REQUIRE(set_nonblocking(launcher.get()));
  LauncherLink sealed(*loop, {.on_message = [this](const FrameView& message) -> Result<> {
                                handled.emplace_back(as_text(message.payload));
                                return {};
                              },
                              .on_beat = [] {},
                              .on_lost = [] {}});
  REQUIRE(sealed.open(std::move(pair.theirs), Fd(), encrypted_session(SessionEnd::here)));
  RecordLayer records(encrypted_session(SessionEnd::there));
  sealed.send(MessageType::hello, 0, as_bytes("h"));
  sealed.flush();
  Bytes opened;
  REQUIRE(records.open(arrived(), opened).has_value());
  CHECK(as_text(opened).starts_with(agent_magic));
  Bytes wire;
  records.seal(wire, message_of("one"));
  records.seal(wire, message_of("two"));
  receive(ByteSpan(wire).first(wire.size() - 1));
  CHECK(handled == std::vector<std::string>{"one"});
  receive(ByteSpan(wire).last(1));
  CHECK(handled == std::vector<std::string>{"one", "two"});
  CHECK_FALSE(sealed.lost());
  receive(Bytes(100, std::byte{1}));
  CHECK(sealed.lost());
}

}  // namespace
}  // namespace dt
