#include "launcher/nodes/node_relay.h"

#include "base/io/socket.h"
#include "launcher/network/handshake_dial.h"
#include "rendezvous/secure/acceptor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

/// A relay with a real agent, and node 0 as far as the test says.
struct RelayFixture {
  std::unique_ptr<Runtime> runtime = Runtime::open({}, {}).value();
  Token token = Token::random().value();
  std::unique_ptr<Acceptor> acceptor = {};
  std::unique_ptr<Stream> node_0 = {};
  std::optional<RecordLayer> records = {};
  Bytes opened = {};
  std::vector<Bytes> messages = {};  ///< the payloads that node 0 has got
  std::vector<MessageType> types = {};
  std::function<void(MessageType)> on_message = {};

  Claim claim(TaskId self) const {
    return {.token = token, .job = "nodes/", .self = std::move(self), .encrypt_data = true};
  }
  void take(Fd connection, Handshake handshake) {
    handshake.accept_peer();
    const Bytes verdict = handshake.take_output();
    records.emplace(handshake.session());
    node_0 = Stream::open(runtime->loop(), std::move(connection), Fd(),
                          {.on_bytes = [this](ByteSpan bytes) { return hear(bytes); },
                           .on_end = [this](const auto&) { node_0.reset(); },
                           .on_drained = {}})
                 .value();
    node_0->write(verdict);
  }
  size_t hear(ByteSpan bytes) {
    const auto used = records->open(bytes, opened);
    REQUIRE(used.has_value());
    if (types.empty()) {
      REQUIRE(as_text(opened).starts_with(agent_magic));
      opened.erase(opened.begin(),
                   opened.begin() + static_cast<std::ptrdiff_t>(agent_magic.size()));
    }
    for (auto frame = front_frame(opened).value(); frame; frame = front_frame(opened).value()) {
      types.push_back(static_cast<MessageType>(frame->header.type));
      messages.emplace_back(frame->payload.begin(), frame->payload.end());
      const size_t length = frame_header_bytes + frame->header.length;
      opened.erase(opened.begin(), opened.begin() + static_cast<std::ptrdiff_t>(length));
      on_message(types.back());
    }
    return *used;
  }
  void send(MessageType type, ByteSpan payload) {
    Bytes frame;
    append_message(frame, type, {}, payload);
    Bytes wire;
    records->seal(wire, frame);
    node_0->write(wire);
  }
  /// Runs a node until it ends. Node 0 does `answer` at each message.
  int run_node(std::function<void(MessageType)> answer) {
    on_message = std::move(answer);
    acceptor = Acceptor::listen(
                   runtime->loop(),
                   {.address = {"127.0.0.1", 0}, .claim = claim({std::string(launcher_role), 0})},
                   runtime->log(),
                   [this](Fd connection, Handshake handshake) {
                     take(std::move(connection), std::move(handshake));
                   })
                   .value();
    std::optional<Result<Dialed>> dialed;
    const HandshakeDial dial(runtime->loop(),
                             {.address = acceptor->address(),
                              .peer = {std::string(launcher_role), 0},
                              .deadline = Clock::now() + seconds(60)},
                             claim({std::string(node_role), 1}),
                             [&dialed](Result<Dialed> result) { dialed = std::move(result); });
    while (!dialed)
      REQUIRE(runtime->loop().run_once(Time::max()).has_value());
    NodeRelay relay(
        *runtime,
        {.intro = {.build = "1", .hostname = "pod-1", .count = 2, .command = {"/of/node/1"}}});
    REQUIRE(relay.open(*std::move(*dialed)).has_value());
    return relay.run().value();
  }
};

TEST_CASE_FIXTURE(RelayFixture,
                  "a node introduces itself before its agent, and ends as node 0 says") {
  const int status = run_node([this](MessageType type) {
    if (type == MessageType::hello)
      send(MessageType::dismissed, encode(Dismissed{.status = 5, .reason = ""}));
  });
  CHECK(status == 5);
  REQUIRE(types.size() >= 2);
  CHECK(types[0] == MessageType::node);
  CHECK(decode<NodeIntro>(messages[0])->hostname == "pod-1");
  // Node 0 is on another machine, so the agent has named its addresses.
  CHECK_FALSE(decode<Hello>(messages[1])->addresses.empty());
}

TEST_CASE_FIXTURE(RelayFixture,
                  "a node that loses node 0 ends its agent, and has a status of its own") {
  CHECK(run_node([this](MessageType type) {
          if (type == MessageType::hello) node_0->close_after_sending();
        }) == exit_status_of(Errc::unreachable));
}

TEST_CASE_FIXTURE(RelayFixture, "a node that hears no message of node 0 counts it as lost") {
  CHECK(run_node([this](MessageType type) {
          Bytes frame;
          append_message(frame, MessageType::prepare, {}, as_bytes("no prepare"));
          Bytes wire;
          records->seal(wire, frame);
          if (type == MessageType::hello) node_0->write(wire);
        }) == exit_status_of(Errc::unreachable));
}

TEST_CASE_FIXTURE(RelayFixture, "the commands of tasks are those of the node") {
  const int status = run_node([this](MessageType type) {
    if (type == MessageType::hello) {
      send(MessageType::prepare, encode(Prepare{.token = token.text(),
                                                .job = "j",
                                                .command = {"/of/node/0"},
                                                .cwd = "/",
                                                .path = "/bin",
                                                .tasks = 1}));
    }
    if (type == MessageType::prepared)
      send(MessageType::dismissed, encode(Dismissed{.status = 0, .reason = ""}));
  });
  CHECK(status == 0);
  const auto answer = std::ranges::find(types, MessageType::prepared) - types.begin();
  const auto prepared = decode<Prepared>(messages[static_cast<size_t>(answer)]);
  CHECK(prepared->failure.find("/of/node/1") != std::string::npos);
}

}  // namespace
}  // namespace dt
