#include "rendezvous/store/wire.h"

#include "rendezvous/secure/channel.h"

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace dt {
namespace {

std::vector<Request> all_requests() {
  return {SetRequest{"k", to_bytes("v"), Lifetime::connection},
          GetRequest{"k"},
          WaitRequest{"k", milliseconds(1500)},
          AddRequest{"n", -3},
          CompareAndSetRequest{"k", std::nullopt, to_bytes("v")},
          CompareAndSetRequest{"k", to_bytes(""), to_bytes("v")},
          EraseRequest{"k"},
          CollectRequest{"a/", 3, milliseconds(1500)},
          WaitReport{},
          WaitReport{{{"barrier #3", 0, seconds(30), {1, -1, 5}, "all_reduce #2 \"g\""},
                      {.operation = "recv", .group = 7}}}};
}

/// Every cut of `good` and one byte more are errors; so is nothing at all.
void check_only_whole(const Bytes& good, const std::function<bool(ByteSpan)>& decodes) {
  CHECK(decodes(good));
  for (size_t n = 0; n < good.size(); ++n) {
    CAPTURE(n);
    CHECK(!decodes(ByteSpan(good).first(n)));
  }
  Bytes longer = good;
  longer.emplace_back();
  CHECK(!decodes(longer));
}

TEST_CASE("each request is read back as it was written, and only whole") {
  for (const Request& request : all_requests()) {
    CAPTURE(request.index());
    const Bytes bytes = encode(request);
    CHECK(decode_request(bytes).value() == request);
    check_only_whole(bytes, [](ByteSpan some) { return decode_request(some).has_value(); });
  }
}

TEST_CASE("replies, welcomes and notices are read back, and only whole") {
  for (const Reply& reply :
       {Reply{}, Reply{.value = to_bytes("")}, Reply{.value = to_bytes("v"), .number = -1},
        Reply{.error = Error{Errc::timeout, "nobody set 'k' in time"}},
        Reply{.error = Error{Errc::input, ""}}}) {
    const Bytes bytes = encode(reply);
    CHECK(decode_reply(bytes).value() == reply);
    check_only_whole(bytes, [](ByteSpan some) { return decode_reply(some).has_value(); });
  }
  Welcome welcome;
  welcome.self = {"worker", 1};
  welcome.table = {"job", 4, {{{"worker", 1}, 1, 0, "h", {"::1"}}}};
  welcome.gone = {{Notice::Kind::dead, {"worker", 0}, "exit status 3"}};
  welcome.dead_after = milliseconds(1500);
  welcome.engine = {
      .encrypt_data = true, .transport = "tcp", .algorithms = "ring", .stall_after = seconds(3)};
  const Bytes bytes = encode(welcome);
  CHECK(decode_welcome(bytes).value() == welcome);
  check_only_whole(bytes, [](ByteSpan some) { return decode_welcome(some).has_value(); });
  const Notice notice{Notice::Kind::left, {"worker", 0}, ""};
  CHECK(decode_notice(encode(notice)).value() == notice);
  check_only_whole(encode(notice), [](ByteSpan some) { return decode_notice(some).has_value(); });
  Bytes two = encode(notice);
  two.insert(two.end(), two.begin(), two.end());
  CHECK(decode_notices(two).value() == std::vector<Notice>{notice, notice});
  CHECK(!decode_notices(ByteSpan(two).first(two.size() - 1)));
  CHECK(!decode_notices({}));
  for (const Notice& of_attempt : {Notice{Notice::Kind::restarted, {"worker", 0}, "", 7},
                                   Notice{Notice::Kind::dead, {"worker", 0}, "x", 2, true}})
    CHECK(decode_notice(encode(of_attempt)).value() == of_attempt);
}

TEST_CASE("a report of waits has limits") {
  const auto refused = [](const WaitReport& report) {
    return !decode_request(encode(Request(report)));
  };
  const std::string long_text(key_bytes_max + 1, 'x');
  CHECK(!refused({std::vector<RankWait>(reported_waits_max)}));
  CHECK(refused({std::vector<RankWait>(reported_waits_max + 1)}));
  CHECK(!refused({{{.operation = long_text.substr(1), .last_before = long_text.substr(1)}}}));
  CHECK(refused({{{.operation = long_text}}}));
  CHECK(refused({{{.last_before = long_text}}}));
}

TEST_CASE("made-up kinds are named in the error") {
  const auto first_byte = [](Bytes bytes, int value) {
    bytes[0] = static_cast<std::byte>(value);
    return bytes;
  };
  CHECK(decode_request(first_byte(encode(Request(GetRequest{"k"})), 8)).error() ==
        Error{Errc::protocol, "request 8 is unknown"});
  CHECK(decode_reply(first_byte(encode(Reply{.error = Error{Errc::input, "x"}}), 200)).error() ==
        Error{Errc::protocol, "error 199 is unknown"});
  CHECK(decode_notice(first_byte(encode(Notice{}), 3)).error() ==
        Error{Errc::protocol, "notice 3 is unknown"});
  Bytes set = encode(Request(SetRequest{"k", {}, Lifetime::job}));
  set.back() = std::byte{2};
  CHECK(decode_request(set).error() == Error{Errc::protocol, "lifetime 2 is unknown"});
}

TEST_CASE("a timeout from the wire is never negative and never overflows a sum of times") {
  const auto timeout_of = [](Duration sent) {
    return std::get<WaitRequest>(decode_request(encode(Request(WaitRequest{"k", sent}))).value())
        .timeout;
  };
  CHECK(timeout_of(Duration(-1)) == Duration::zero());
  CHECK(timeout_of(Duration::min()) == Duration::zero());
  CHECK(timeout_of(Duration::max()) == timeout_max);
}

TEST_CASE("any bytes give a value or an error") {
  std::mt19937 random(1);
  for (int round = 0; round < 100'000; ++round) {
    Bytes bytes(random() % 64);
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(random() % (round % 2 == 0 ? 12 : 256));
    if (const auto request = decode_request(bytes)) {
      REQUIRE(decode_request(encode(*request)).value() == *request);
    }
    if (const auto reply = decode_reply(bytes)) {
      REQUIRE(decode_reply(encode(*reply)).value() == *reply);
    }
    if (const auto welcome = decode_welcome(bytes)) {
      REQUIRE(decode_welcome(encode(*welcome)).value() == *welcome);
    }
    if (const auto notice = decode_notice(bytes)) {
      REQUIRE(decode_notice(encode(*notice)).value() == *notice);
    }
  }
}

TEST_CASE("keys and values have named bounds") {
  CHECK(check_key("k"));
  CHECK(check_key(std::string(key_bytes_max, 'k')));
  CHECK(check_key("").error() == Error{Errc::input, "a key must not be empty"});
  CHECK(check_key(std::string(key_bytes_max + 1, 'k')).error() ==
        Error{Errc::input,
              "key '" + std::string(40, 'k') + "…' has 257 bytes, at most 256 are allowed"});
  CHECK(check_value("k", Bytes(value_bytes_max)));
  CHECK(check_value("k", Bytes(value_bytes_max + 1)).error() ==
        Error{Errc::input, "the value of 'k' has 1048577 bytes, at most 1048576 are allowed"});
}

struct ChannelPair {
  Channel there;
  Channel here;
};

ChannelPair channel_pair(size_t message_bytes_max, uint32_t sent_generation = 1) {
  Digest a = {};
  Digest b = {};
  b[0] = std::byte{1};
  return {Channel(Session(a, b), sent_generation, message_bytes_max),
          Channel(Session(b, a), 1, message_bytes_max)};
}

TEST_CASE("a message longer than a frame arrives whole, and so does the next") {
  ChannelPair pair = channel_pair(size_t{4} << 20);
  Bytes payload(3 * size_t{frame_payload_bytes_max} + 5);
  for (size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::byte>(i * 31);
  Bytes wire;
  pair.there.send(wire, ChannelMessageType::welcome, 0, payload);
  pair.there.send(wire, ChannelMessageType::reply, 7, as_bytes("short"));
  const auto check_front = [&](size_t at, ChannelMessageType type, uint32_t id,
                               std::string_view text) {
    size_t used = 0;
    const auto message = pair.here.receive(ByteSpan(wire).subspan(at), &used).value();
    REQUIRE(message.has_value());
    if (!message) return used;
    CHECK(message->type == type);
    CHECK(message->id == id);
    CHECK(as_text(message->payload) == text);
    return used;
  };
  const size_t first = check_front(0, ChannelMessageType::welcome, 0, as_text(payload));
  CHECK(first + check_front(first, ChannelMessageType::reply, 7, "short") == wire.size());
}

TEST_CASE("a message over its bound is refused before it is held") {
  ChannelPair pair = channel_pair(size_t{2} << 20);
  Bytes wire;
  pair.there.send(wire, ChannelMessageType::request, 1, Bytes((size_t{2} << 20) + 1));
  size_t used = 0;
  CHECK(pair.here.receive(wire, &used).error() ==
        Error{Errc::protocol, "message of more than 2097152 bytes"});
}

TEST_CASE("a frame of an old generation or of an unknown type is refused") {
  size_t used = 0;
  ChannelPair old = channel_pair(1000, 0);
  Bytes wire;
  old.there.send(wire, ChannelMessageType::request, 1, {});
  CHECK(old.here.receive(wire, &used).error() ==
        Error{Errc::protocol, "frame of generation 0, this is generation 1"});
  ChannelPair unknown = channel_pair(1000);
  wire.clear();
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): what is tested
  unknown.there.send(wire, static_cast<ChannelMessageType>(6), 1, {});
  CHECK(unknown.here.receive(wire, &used).error() ==
        Error{Errc::protocol, "frame type 6 is unknown"});
}

}  // namespace
}  // namespace dt
