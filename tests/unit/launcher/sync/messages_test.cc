#include "launcher/sync/messages.h"

#include "base/io/frame.h"
#include "launcher/sync/server/sync_events.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

template <class Message>
void check_codec(const Message& message) {
  const Bytes bytes = encode(message);
  const auto read = decode<Message>(bytes);
  REQUIRE(read);
  CHECK(*read == message);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode<Message>(ByteSpan(bytes).first(size)));
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode<Message>(longer));
}

TEST_CASE("messages of --sync are read back, and nothing else is") {
  check_codec(PlaceOrder{.job = "j",
                         .target = "/t",
                         .into = true,
                         .original = "/o",
                         .source = "/s",
                         .source_marker = ".m",
                         .marker = "m"});
  check_codec(PlaceOrder{.job = "j", .target = std::nullopt, .marker = "m"});
  check_codec(Seen{{"a", "b"}, {"c"}});
  check_codec(Lacking{{1, 2, 3}, true});
  check_codec(ObjectStart{7});
  check_codec(Built{"/tree"});
  check_codec(SyncFailure{"why"});
  check_codec(SetUpOrder{
      {"true", "pip install x"}, {{"A", "b"}}, {"LD_*"}, "part", "/s", seconds(9), true, false});
  check_codec(IsSetUp{"/setup", true});
  check_codec(FetchPatterns{{"*.pt", "logs"}});
  check_codec(Fetched{{"*.pt"}, {5, {"a (b)", "c (d)"}}, {1, {"e (f)"}}});
}

TEST_CASE("SomeEntries counts all, and shows the first three without control characters") {
  SomeEntries some;
  for (const char* path : {"a\n", "b", "c", "d"})
    some.add(path, "why");
  CHECK(some == SomeEntries{4, {"a\\x0A (why)", "b (why)", "c (why)"}});
}

TEST_CASE("orders and events of the sync process are read back") {
  const HostOrder host = {3, "node1", true, true};
  CHECK(decode_host_order(encode(host)).value() == host);
  CHECK_FALSE(decode_host_order(as_bytes("x")));
  const TreeFacts facts = {"/root", "part", "abc", true, 5, 1'000'000'000'000};
  CHECK(decode_tree_facts(encode(facts)).value() == facts);
  CHECK_FALSE(decode_tree_facts(as_bytes("x")));
  const HostTree tree = {"/tree", 4, 99, "/setup", true};
  CHECK(decode_host_tree(encode(tree)).value() == tree);
  CHECK_FALSE(decode_host_tree(as_bytes("x")));
}

TEST_CASE("a message of --sync is one frame") {
  Bytes out;
  append_sync_message(out, SyncMessage::placed, as_bytes("abc"));
  const auto frame = front_frame(out);
  REQUIRE((frame && *frame));
  CHECK((*frame)->header.type == static_cast<uint8_t>(SyncMessage::placed));
  CHECK(as_text((*frame)->payload) == "abc");
}

}  // namespace
}  // namespace dt
