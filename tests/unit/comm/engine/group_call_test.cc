#include "comm/engine/group_call.h"

#include "comm/collective/collective_stop.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("calls of equal lists and names have one digest, and all others have another") {
  const GroupCall call = GroupCall::of({0, 2}, "rows");
  CHECK(call.text == "[0, 2] and the name \"rows\"");
  CHECK(call.digest == GroupCall::of({0, 2}, "rows").digest);
  for (const auto& other : {GroupCall::of({2, 0}, "rows"), GroupCall::of({0, 2, 3}, "rows"),
                            GroupCall::of({0, 2}, ""), GroupCall::of({0, 2}, "columns")})
    CHECK(call.digest != other.digest);
}

TEST_CASE("a long list is cut in texts") {
  std::vector<int> members(1000);
  std::iota(members.begin(), members.end(), 0);
  CHECK(GroupCall::of(members, "").text ==
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, … 984 more]");
}

TEST_CASE("messages about groups are read as they were written") {
  GroupCall call = GroupCall::of({1, 4}, "x");
  call.id = 7;
  call.number = 3;
  call.made = 2;
  const Result<GroupCall> read = decode_group_call(encode(call));
  REQUIRE(read);
  CHECK(read->id == 7);
  CHECK(read->number == 3);
  CHECK(read->made == 2);
  CHECK(read->digest == call.digest);
  CHECK(read->text == call.text);
  const GroupCallEnd end{9, {Errc::timeout, 4, std::string(2 * reason_bytes_max, 'x')}};
  const Result<GroupCallEnd> ended = decode_group_call_end(encode(end));
  REQUIRE(ended);
  CHECK(ended->id == 9);
  CHECK(ended->why.code == Errc::timeout);
  CHECK(ended->why.blamed_rank == 4);
  CHECK(ended->why.reason.size() == reason_bytes_max);
  const Result<MadeGroup> made = decode_made_group(encode(MadeGroup{5, 6}));
  REQUIRE(made);
  CHECK(made->id == 5);
  CHECK(made->number == 6);
}

TEST_CASE("messages about groups that are cut, or of no known kind, break the protocol") {
  const std::vector<Bytes> messages = {encode(GroupCall::of({0}, "")),
                                       encode(GroupCallEnd{1, {Errc::timeout, 0, "late"}}),
                                       encode(MadeGroup{1, 2})};
  for (size_t bytes = 0; bytes < messages[0].size(); ++bytes)
    CHECK_FALSE(decode_group_call(ByteSpan(messages[0]).first(bytes)));
  for (size_t bytes = 0; bytes < messages[1].size(); ++bytes)
    CHECK_FALSE(decode_group_call_end(ByteSpan(messages[1]).first(bytes)));
  for (size_t bytes = 0; bytes < messages[2].size(); ++bytes)
    CHECK_FALSE(decode_made_group(ByteSpan(messages[2]).first(bytes)));
  Bytes unknown = messages[1];
  unknown[4] = std::byte{99};
  CHECK_FALSE(decode_group_call_end(unknown));
}

}  // namespace
}  // namespace dt
