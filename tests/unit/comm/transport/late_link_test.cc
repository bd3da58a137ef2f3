// A MessageLink over a link that connects at its first use.
#include "comm/transport/message_link.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr uint8_t data_type = data_frame_bit;

/// Keeps control messages, and the data of one message.
class Keeper final : public MessageReceiver {
 public:
  Result<> control(const Message& message, ByteSpan payload) override {
    heard.push_back(std::to_string(message.stream) + ":" + std::string(as_text(payload)));
    return {};
  }
  Result<PayloadTarget> place(const Message& message) override {
    return PayloadTarget{PayloadTarget::Action::take, std::span(data).first(message.length)};
  }
  Result<> arrived(const Message& /*message*/) override { return {}; }

  std::vector<std::string> heard;
  Bytes data;
};

/// A link that connects when the test allows it, and then has a session.
class LateLink final : public Link {
 public:
  explicit LateLink(Link& link) : link_(link) {}
  void connect() override { asked = true; }
  Result<bool> connected() const override { return open; }
  Session* session() override { return open ? &keys : nullptr; }
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    REQUIRE(open);
    return link_.send_parts(parts);
  }
  Result<size_t> receive(std::span<std::byte> into) override {
    REQUIRE(open);
    return link_.receive(into);
  }
  void close() override {}
  bool exposed() const override { return true; }

  bool asked = false;
  bool open = false;
  Session keys{Digest{std::byte{1}}, Digest{std::byte{2}}};

 private:
  Link& link_;
};

/// A sender over a late link, and the receiver at its other end.
struct LateEnds {
  std::shared_ptr<MemoryPipe> pipe = std::make_shared<MemoryPipe>();
  std::shared_ptr<MemoryPipe> back = std::make_shared<MemoryPipe>();
  MemoryLink near{pipe, back};
  MemoryLink far{back, pipe};
  LateLink link{near};
  ReadySet unsent{8};
  MessageLink sender{{.link = &link, .peer = 1, .generation = 7, .unsent = &unsent}};
  Session keys{Digest{std::byte{2}}, Digest{std::byte{1}}};
  MessageLink receiver{{.link = &far, .session = &keys, .generation = 7}};
  Keeper keeper;

  bool has_unsent() {
    bool any = false;
    unsent.for_each([&](size_t index) { any = any || index == 1; });
    return any;
  }
  void move() {
    while (sender.flush().value() || receiver.receive(keeper).value()) {
    }
  }
};

TEST_CASE("what is queued before a link connects is sealed and sent afterwards, in its order") {
  LateEnds late;
  const Bytes sent(5000, std::byte{42});
  late.keeper.data.resize(sent.size());
  CHECK(!late.sender.flush().value());
  CHECK(!late.link.asked);
  REQUIRE(late.sender.send_control(1, 4, as_bytes("before")));
  late.sender.send_data(data_type, 9, sent);
  REQUIRE(late.sender.send_control(1, 5, {}));
  CHECK(late.has_unsent());
  CHECK(!late.sender.flush().value());
  CHECK(late.link.asked);
  CHECK(!late.sender.all_sent());
  late.link.open = true;
  REQUIRE(late.sender.send_control(1, 6, as_bytes("after")));
  late.move();
  CHECK(late.keeper.heard == std::vector<std::string>{"4:before", "5:", "6:after"});
  CHECK(late.keeper.data == sent);
  CHECK(late.sender.all_sent());
}

TEST_CASE("data that is cancelled before its link connects is never sent") {
  LateEnds late;
  const Bytes sent(5000, std::byte{42});
  late.sender.send_data(data_type, 9, sent);
  CHECK(late.sender.sending(data_type, 9));
  late.sender.cancel_send(data_type, 9);
  CHECK(!late.sender.sending(data_type, 9));
  late.link.open = true;
  late.move();
  CHECK(late.pipe->bytes.empty());
}

TEST_CASE("a message that can wait does not make its link connect, unless there are many") {
  LateEnds late;
  REQUIRE(late.sender.send_when_connected(1, 4, as_bytes("waits")));
  CHECK(!late.has_unsent());
  late.link.open = true;
  // The mesh has reported that the link is readable.
  CHECK(!late.sender.receive(late.keeper).value());
  CHECK(late.has_unsent());
  late.move();
  CHECK(late.keeper.heard == std::vector<std::string>{"4:waits"});

  LateEnds with_another;
  REQUIRE(with_another.sender.send_when_connected(1, 4, as_bytes("waits")));
  REQUIRE(with_another.sender.send_control(1, 5, {}));
  CHECK(with_another.has_unsent());

  LateEnds many;
  int sent = 0;
  for (; sent < 100 && !many.has_unsent(); ++sent)
    REQUIRE(many.sender.send_when_connected(1, 4, {}));
  CHECK(sent == 65);
}

}  // namespace
}  // namespace dt
