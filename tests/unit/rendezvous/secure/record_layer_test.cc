#include "rendezvous/secure/record_layer.h"

#include "tests/sim/random.h"
#include "tests/unit/rendezvous/secure/encrypted_sessions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

struct Ends {
  RecordLayer here{encrypted_session(SessionEnd::here)};
  RecordLayer there{encrypted_session(SessionEnd::there)};
};

Bytes random_bytes(Random& random, size_t size) {
  Bytes bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random.below(256)); });
  return bytes;
}

TEST_CASE("record layer: bytes arrive in order, in whatever pieces they come, both ways") {
  Ends ends;
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    Bytes sent;
    Bytes wire;
    for (const size_t size : {0, 1, 100, 65536, 65537, 200'000}) {
      const Bytes bytes = random_bytes(random, size);
      sent.insert(sent.end(), bytes.begin(), bytes.end());
      ends.here.seal(wire, bytes);
    }
    Bytes received;
    Bytes unread;
    for (size_t at = 0; at < wire.size();) {
      const size_t size = std::min(wire.size() - at, 1 + random.below(100'000));
      unread.insert(unread.end(), wire.begin() + static_cast<ptrdiff_t>(at),
                    wire.begin() + static_cast<ptrdiff_t>(at + size));
      at += size;
      const size_t used = ends.there.open(unread, received).value();
      unread.erase(unread.begin(), unread.begin() + static_cast<ptrdiff_t>(used));
    }
    CHECK(unread.empty());
    CHECK(received == sent);
    std::swap(ends.here, ends.there);
  }
}

TEST_CASE("record layer: nothing of the content is readable on the wire") {
  Ends ends;
  Bytes wire;
  ends.here.seal(wire, as_bytes(std::string("SECRET=of the user")));
  CHECK(as_text(wire).find("SECRET") == std::string_view::npos);
}

TEST_CASE("record layer: a changed, replayed, reflected or reordered record is refused") {
  Bytes first;
  Bytes second;
  {
    Ends ends;
    ends.here.seal(first, as_bytes(std::string("first")));
    ends.here.seal(second, as_bytes(std::string("second")));
  }
  const auto refused = [](RecordLayer& receiver, const Bytes& wire) {
    Bytes received;
    const auto opened = receiver.open(wire, received);
    return !opened && opened.error().code == Errc::protocol;
  };
  for (size_t at = 0; at < first.size(); ++at) {
    // A longer record is awaited, and its MAC is wrong then.
    if (at < sizeof(uint32_t)) continue;
    Ends ends;
    Bytes changed = first;
    changed[at] ^= std::byte{1};
    CHECK_MESSAGE(refused(ends.there, changed), "byte ", at);
  }
  Ends ends;
  CHECK(refused(ends.there, second));
  CHECK(refused(ends.here, first));
  Bytes received;
  CHECK(ends.there.open(first, received).value() == first.size());
  CHECK(refused(ends.there, first));
}

TEST_CASE("record layer: a length above that of any record is refused before it is awaited") {
  Ends ends;
  Bytes wire;
  append_header(wire, {.length = 1U << 20});
  Bytes received;
  CHECK(ends.there.open(wire, received).error().message == "a record of 1048576 bytes");
}

}  // namespace
}  // namespace dt
