#include "launcher/sync/host_frames.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

namespace dt {
namespace {

TEST_CASE("HostFrames reads frames that come in pieces, until the end") {
  auto pair = make_socketpair().value();
  HostFrames frames(std::move(pair.theirs));
  Bytes sent;
  append_sync_message(sent, SyncMessage::look);
  append_sync_message(sent, SyncMessage::object_bytes, Bytes(300'000, std::byte{7}));
  std::thread writer([&] {
    for (size_t at = 0; at < sent.size(); at += 7'001) {
      const size_t size = std::min<size_t>(7'001, sent.size() - at);
      REQUIRE(write_all(pair.ours.get(), ByteSpan(sent).subspan(at, size)));
    }
    pair.ours.reset();
  });
  const auto first = frames.read();
  REQUIRE((first && *first));
  CHECK((*first)->header.type == static_cast<uint8_t>(SyncMessage::look));
  const auto second = frames.read();
  REQUIRE((second && *second));
  CHECK((*second)->payload.size() == 300'000);
  const auto end = frames.read();
  REQUIRE(end);
  CHECK_FALSE(end->has_value());
  writer.join();
}

TEST_CASE("HostFrames refuses what is no frame") {
  auto pair = make_socketpair().value();
  HostFrames frames(std::move(pair.theirs));
  REQUIRE(write_all(pair.ours.get(), Bytes(64, std::byte{0xff})));
  const auto read = frames.read();
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt
