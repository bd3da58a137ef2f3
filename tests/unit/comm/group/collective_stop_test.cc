#include "comm/group/collective_stop.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a stop is read as it was written, and nothing else is read") {
  const CollectiveStop stop{7, {Errc::timeout, 3, "timed out"}, "not possible"};
  const Bytes bytes = encode(stop);
  const Result<CollectiveStop> read = decode_stop(bytes);
  REQUIRE(read);
  CHECK(read->from == 7);
  CHECK(read->why.code == Errc::timeout);
  CHECK(read->why.blamed_rank == 3);
  CHECK(read->why.reason == "timed out");
  CHECK(read->later == "not possible");
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK(!decode_stop(ByteSpan(bytes).first(size)));
  CHECK(!decode_stop(encode(CollectiveStop{7, {static_cast<Errc>(200), 3, ""}, ""})));
}

}  // namespace
}  // namespace dt
