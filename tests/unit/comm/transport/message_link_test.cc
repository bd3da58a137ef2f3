#include "comm/transport/message_link.h"

#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr uint8_t data_type = data_frame_bit;

Bytes pattern(size_t size, int seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + static_cast<size_t>(seed)) & 0xff);
  return bytes;
}

/// Keeps control messages, and puts data where the test has posted a buffer for its stream.
class Keeper final : public MessageReceiver {
 public:
  Result<> control(const Message& message, ByteSpan payload) override {
    heard.push_back(std::to_string(message.stream) + ":" + std::string(as_text(payload)));
    return {};
  }
  Result<PayloadTarget> place(const Message& message) override {
    if (discard) return PayloadTarget{PayloadTarget::Action::discard};
    const auto found = posted.find(message.stream);
    if (found == posted.end()) return PayloadTarget{};
    std::span<std::byte> rest = std::span(found->second).subspan(filled[message.stream]);
    return PayloadTarget{PayloadTarget::Action::take, rest.first(message.length)};
  }
  Result<> arrived(const Message& message) override {
    filled[message.stream] += message.length;
    frames.push_back(message.stream);
    return {};
  }

  std::vector<std::string> heard;
  std::map<uint32_t, Bytes> posted;
  std::map<uint32_t, size_t> filled;
  std::vector<uint32_t> frames;
  bool discard = false;
};

/// The protection of frames: none, MACs of headers and control messages, or encryption as well.
enum class Guard : uint8_t { none, sealed, encrypted };
constexpr Guard all_guards[] = {Guard::none, Guard::sealed, Guard::encrypted};

/// Two ends of one link.
struct Ends {
  explicit Ends(Guard guard = Guard::none)
      : there(std::make_shared<MemoryPipe>()),
        back(std::make_shared<MemoryPipe>()),
        a_link(there, back),
        b_link(back, there),
        a_session(Digest{std::byte{1}}, Digest{std::byte{2}}),
        b_session(Digest{std::byte{2}}, Digest{std::byte{1}}),
        a({.link = &a_link,
           .session = guard == Guard::none ? nullptr : &a_session,
           .peer = 1,
           .generation = 7}),
        b({.link = &b_link,
           .session = guard == Guard::none ? nullptr : &b_session,
           .peer = 0,
           .generation = 7}) {
    if (guard != Guard::encrypted) return;
    a_session.encrypt_data(Digest{std::byte{3}}, Digest{std::byte{4}});
    b_session.encrypt_data(Digest{std::byte{4}}, Digest{std::byte{3}});
  }

  /// Moves bytes from a to b until nothing moves.
  void move(Keeper& keeper) {
    bool moved = true;
    while (moved) {
      moved = a.flush().value();
      moved |= b.receive(keeper).value();
    }
  }

  std::shared_ptr<MemoryPipe> there;
  std::shared_ptr<MemoryPipe> back;
  MemoryLink a_link;
  MemoryLink b_link;
  Session a_session;
  Session b_session;
  MessageLink a;
  MessageLink b;
};

TEST_CASE("control and data arrive whole through any pieces, whatever guards them") {
  for (const Guard guard : all_guards) {
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{17}, size_t{4096}}) {
      CAPTURE(static_cast<int>(guard));
      CAPTURE(piece);
      Ends ends(guard);
      ends.there->piece_max = piece;
      ends.there->capacity = 100;
      const Bytes sent = pattern(5000, 1);
      Keeper keeper;
      keeper.posted[9].resize(sent.size());
      REQUIRE(ends.a.send_control(1, 4, as_bytes("before")));
      ends.a.send_data(data_type, 9, sent);
      REQUIRE(ends.a.send_control(1, 5, {}));
      ends.move(keeper);
      CHECK(keeper.heard == std::vector<std::string>{"4:before", "5:"});
      CHECK(keeper.posted[9] == sent);
      CHECK(!ends.a.sending(data_type, 9));
      CHECK(ends.a.all_sent());
    }
  }
}

TEST_CASE("what is queued leaves in one call of the link") {
  for (const Guard guard : all_guards) {
    CAPTURE(static_cast<int>(guard));
    Ends ends(guard);
    const Bytes sent = pattern(5000, 1);
    Keeper keeper;
    for (const uint32_t stream : {7U, 8U})
      keeper.posted[stream].resize(sent.size());
    REQUIRE(ends.a.send_control(1, 4, as_bytes("one")));
    ends.a.send_data(data_type, 7, sent);
    REQUIRE(ends.a.send_control(1, 5, as_bytes("two")));
    ends.a.send_data(data_type, 8, sent);
    CHECK(ends.a.flush().value());
    CHECK(ends.there->sends == 1);
    CHECK(!ends.a.flush().value());
    CHECK(ends.there->sends == 1);
    ends.move(keeper);
    CHECK(keeper.heard == std::vector<std::string>{"4:one", "5:two"});
    CHECK(keeper.posted[7] == sent);
    CHECK(keeper.posted[8] == sent);
  }
}

TEST_CASE("a control message waits for one batch at most, and keeps its place behind it") {
  Ends ends(Guard::encrypted);
  ends.there->capacity = 1000;
  const std::vector<Bytes> sent(40, pattern(data_frame_bytes / 4, 1));
  Keeper keeper;
  for (uint32_t stream = 0; stream < sent.size(); ++stream) {
    keeper.posted[stream].resize(sent[stream].size());
    ends.a.send_data(data_type, stream, sent[stream]);
  }
  REQUIRE(ends.a.flush());
  REQUIRE(ends.a.send_control(3, 0, as_bytes("now")));
  while (keeper.heard.empty()) {
    REQUIRE(ends.a.flush());
    REQUIRE(ends.b.receive(keeper));
  }
  CHECK(keeper.frames.size() == 4);
  ends.move(keeper);
  CHECK(keeper.frames.size() == sent.size());
}

TEST_CASE("long data messages take turns, and control goes between their frames") {
  Ends ends;
  const Bytes one = pattern(3 * data_frame_bytes, 1);
  const Bytes two = pattern(2 * data_frame_bytes + 5, 2);
  Keeper keeper;
  keeper.posted[1].resize(one.size());
  keeper.posted[2].resize(two.size());
  ends.a.send_data(data_type, 1, one);
  ends.a.send_data(data_type, 2, two);
  ends.there->capacity = 1000;
  REQUIRE(ends.a.flush());  // the first frame is under way
  REQUIRE(ends.a.send_control(3, 0, as_bytes("now")));
  ends.move(keeper);
  CHECK(keeper.frames == std::vector<uint32_t>{1, 2, 1, 2, 1, 2});
  CHECK(keeper.heard == std::vector<std::string>{"0:now"});
  CHECK(keeper.posted[1] == one);
  CHECK(keeper.posted[2] == two);
}

TEST_CASE("data for which there is no place yet stays in the link") {
  Ends ends;
  const Bytes sent = pattern(300, 3);
  ends.a.send_data(data_type, 6, sent);
  Keeper keeper;
  ends.move(keeper);
  CHECK(ends.there->bytes.size() == sent.size());
  keeper.posted[6].resize(sent.size());
  ends.move(keeper);
  CHECK(keeper.posted[6] == sent);
}

TEST_CASE("a cancelled message releases its buffer and ends its frame with the right bytes") {
  for (const Guard guard : all_guards) {
    Ends ends(guard);
    ends.there->capacity = 64;
    Bytes sent = pattern(1000, 4);
    const Bytes original = sent;
    ends.a.send_data(data_type, 6, sent);
    REQUIRE(ends.a.flush());
    ends.a.cancel_send(data_type, 6);
    CHECK(!ends.a.sending(data_type, 6));
    std::fill(sent.begin(), sent.end(), std::byte{0xEE});
    Keeper keeper;
    keeper.posted[6].resize(sent.size());
    ends.move(keeper);
    CHECK(keeper.posted[6] == original);
  }
}

TEST_CASE("a cancelled message sends no further frame, and others continue") {
  Ends ends;
  ends.there->capacity = 64;
  const Bytes long_one = pattern(2 * data_frame_bytes, 4);
  const Bytes short_one = pattern(10, 5);
  ends.a.send_data(data_type, 6, long_one);
  ends.a.send_data(data_type, 7, short_one);
  REQUIRE(ends.a.flush());
  ends.a.cancel_send(data_type, 6);
  Keeper keeper;
  keeper.posted[6].resize(long_one.size());
  keeper.posted[7].resize(short_one.size());
  ends.move(keeper);
  CHECK(keeper.frames == std::vector<uint32_t>{6, 7});
  CHECK(keeper.posted[7] == short_one);
}

TEST_CASE("a cancelled receive writes no byte more, and the link continues") {
  Ends ends;
  ends.there->capacity = 64;
  const Bytes sent = pattern(500, 4);
  ends.a.send_data(data_type, 6, sent);
  Keeper keeper;
  keeper.posted[6].resize(sent.size());
  REQUIRE(ends.a.flush());
  REQUIRE(ends.b.receive(keeper));
  CHECK(ends.b.cancel_receive(data_type, 5) == 0);
  CHECK(ends.b.cancel_receive(data_type, 6) == sent.size());
  CHECK(ends.b.cancel_receive(data_type, 6) == 0);
  const Bytes so_far = keeper.posted[6];
  REQUIRE(ends.a.send_control(1, 1, as_bytes("after")));
  ends.move(keeper);
  CHECK(keeper.posted[6] == so_far);
  CHECK(keeper.frames.empty());
  CHECK(keeper.heard == std::vector<std::string>{"1:after"});
}

TEST_CASE("what the receiver discards is read and forgotten, and the link continues") {
  for (const Guard guard : all_guards) {
    Ends ends(guard);
    const Bytes sent = pattern(100'000, 4);
    ends.a.send_data(data_type, 6, sent);
    REQUIRE(ends.a.send_control(1, 1, {}));
    Keeper keeper;
    keeper.discard = true;
    ends.move(keeper);
    CHECK(keeper.frames.empty());
    CHECK(keeper.heard.size() == 1);
    keeper.discard = false;
    keeper.posted[6].resize(sent.size());
    ends.a.send_data(data_type, 6, sent);
    ends.move(keeper);
    CHECK(keeper.posted[6] == sent);
  }
}

TEST_CASE("a peer that does not read fills a bounded queue") {
  Ends ends;
  for (size_t i = 0; i < queued_messages_max; ++i)
    REQUIRE(ends.a.send_control(1, 1, {}));
  const Result<> sent = ends.a.send_control(1, 1, {});
  REQUIRE(!sent);
  CHECK(sent.error().code == Errc::protocol);
}

TEST_CASE("bytes that no honest peer sends are protocol errors") {
  struct Case {
    const char* what;
    FrameHeader header;
    const char* message;
  };
  const Case cases[] = {
      {"control too long",
       {.length = control_bytes_max + 1, .type = 1, .generation = 7},
       "control message of 4097 bytes > 4096"},
      {"data frame too long",
       {.length = frame_payload_bytes_max + 1, .type = data_type, .generation = 7},
       "frame length 1048577 > 1048576"},
      {"empty data frame", {.type = data_type, .generation = 7}, "empty data frame"},
      {"another generation", {.type = 1, .generation = 8}, "frame of generation 8"},
      {"data of another generation",
       {.length = 5, .type = data_type, .generation = 6},
       "frame of generation 6"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Ends ends;
    Bytes bytes;
    append_header(bytes, c.header);
    REQUIRE(ends.a_link.send(bytes) == bytes.size());
    Keeper keeper;
    const Result<bool> received = ends.b.receive(keeper);
    REQUIRE(!received);
    CHECK(received.error().code == Errc::protocol);
    CHECK(received.error().message == c.message);
    CHECK(keeper.heard.empty());
  }
}

TEST_CASE("a sealed frame that was changed on its way is refused") {
  for (const bool data : {false, true}) {
    CAPTURE(data);
    Ends ends(Guard::sealed);
    const Bytes sent = pattern(50, 1);
    if (data) {
      ends.a.send_data(data_type, 3, sent);
    } else {
      REQUIRE(ends.a.send_control(1, 3, sent));
    }
    REQUIRE(ends.a.flush());
    ends.there->bytes[12] ^= std::byte{1};  // its stream
    Keeper keeper;
    keeper.posted[2].resize(50);
    const Result<bool> received = ends.b.receive(keeper);
    REQUIRE(!received);
    CHECK(received.error().code == Errc::protocol);
  }
}

/// True when the bytes contain the text.
bool contains(const std::deque<std::byte>& bytes, ByteSpan text) {
  return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

TEST_CASE("the bytes of a message are on the wire unless the session encrypts") {
  const Bytes sent = pattern(1000, 1);
  for (const Guard guard : all_guards) {
    Ends ends(guard);
    ends.a.send_data(data_type, 3, sent);
    REQUIRE(ends.a.flush());
    CHECK(contains(ends.there->bytes, ByteSpan(sent).first(16)) == (guard != Guard::encrypted));
    CHECK(contains(ends.there->bytes, ByteSpan(sent).last(16)) == (guard != Guard::encrypted));
  }
}

TEST_CASE("no byte of an encrypted frame that was changed reaches the receiver's memory") {
  const Bytes sent = pattern(50, 1);
  constexpr size_t head = sizeof(SealedHeader);
  for (size_t changed = head; changed < head + 50 + payload_tag_bytes; ++changed) {
    CAPTURE(changed);
    Ends ends(Guard::encrypted);
    ends.a.send_data(data_type, 3, sent);
    REQUIRE(ends.a.flush());
    REQUIRE(ends.there->bytes.size() == head + 50 + payload_tag_bytes);
    ends.there->bytes[changed] ^= std::byte{1};
    Keeper keeper;
    keeper.posted[3].resize(50);
    const Result<bool> received = ends.b.receive(keeper);
    REQUIRE(!received);
    CHECK(received.error().code == Errc::protocol);
    CHECK(keeper.posted[3] == Bytes(50));
    CHECK(keeper.frames.empty());
  }
}

TEST_CASE("the payload of another encrypted frame is refused, an earlier or a later one") {
  constexpr size_t size = 50;
  constexpr size_t frame = sizeof(SealedHeader) + size + payload_tag_bytes;
  for (const bool replayed : {false, true}) {
    CAPTURE(replayed);
    Ends ends(Guard::encrypted);
    const Bytes first = pattern(size, 1);
    const Bytes second = pattern(size, 2);
    ends.a.send_data(data_type, 3, first);
    REQUIRE(ends.a.flush());
    ends.a.send_data(data_type, 3, second);
    REQUIRE(ends.a.flush());
    auto& bytes = ends.there->bytes;
    REQUIRE(bytes.size() == 2 * frame);
    const auto body = [&](int index) {
      return bytes.begin() + index * static_cast<ptrdiff_t>(frame) + sizeof(SealedHeader);
    };
    if (replayed) {
      std::copy_n(body(0), size + payload_tag_bytes, body(1));
    } else {
      std::swap_ranges(body(0), body(0) + size + payload_tag_bytes, body(1));
    }
    Keeper keeper;
    keeper.posted[3].resize(2 * size);
    const Result<bool> received = ends.b.receive(keeper);
    REQUIRE(!received);
    CHECK(received.error().message == "data that was changed, replayed or out of order");
    CHECK(keeper.frames.size() == (replayed ? 1 : 0));
  }
}

TEST_CASE("an encrypted frame is no longer than the memory for it") {
  Ends ends(Guard::encrypted);
  const SealedHeader head = ends.a_session.seal_header(
      {.length = data_frame_bytes + 1, .type = data_type, .generation = 7});
  REQUIRE(ends.a_link.send(head) == head.size());
  Keeper keeper;
  CHECK(ends.b.receive(keeper).error().message == "encrypted frame of 262145 bytes");
}

TEST_CASE("many encrypted messages at once arrive whole, in one batch or several") {
  Ends ends(Guard::encrypted);
  Keeper keeper;
  std::map<uint32_t, Bytes> sent;
  for (uint32_t stream = 0; stream < 40; ++stream) {
    sent[stream] = pattern(1 + size_t{stream} * stream * 500, static_cast<int>(stream));
    keeper.posted[stream].resize(sent[stream].size());
    ends.a.send_data(data_type, stream, sent[stream]);
  }
  ends.move(keeper);
  CHECK(keeper.posted == sent);
}

TEST_CASE("the end of the link is reported after all that came before it") {
  Ends ends;
  REQUIRE(ends.a.send_control(1, 3, as_bytes("last")));
  REQUIRE(ends.a.flush());
  ends.there->closed = true;
  Keeper keeper;
  const Result<bool> received = ends.b.receive(keeper);
  CHECK(keeper.heard == std::vector<std::string>{"3:last"});
  REQUIRE(!received);
  CHECK(received.error().code == Errc::closed);
  REQUIRE(ends.a.send_control(1, 3, {}));
  CHECK(!ends.a.flush());
}

TEST_CASE("one flush sends a bounded part of a long message, and the next ones the rest") {
  Ends ends;
  ends.there->capacity = size_t{64} << 20;
  ends.there->piece_max = ends.there->capacity;
  const Bytes sent = pattern(20 * data_frame_bytes, 1);
  ends.a.send_data(data_type, 1, sent);
  CHECK(*ends.a.flush());
  CHECK(!ends.a.all_sent());
  CHECK(ends.there->bytes.size() < sent.size());
  while (*ends.a.flush()) {
  }
  CHECK(ends.a.all_sent());
  CHECK(ends.there->bytes.size() > sent.size());
}

}  // namespace
}  // namespace dt
