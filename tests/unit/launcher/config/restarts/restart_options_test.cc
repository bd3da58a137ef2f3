#include "launcher/config/restarts/restart_options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("parse_statuses: single statuses and ranges") {
  CHECK(parse_statuses("42") == std::vector<StatusRange>{{42, 42}});
  CHECK(parse_statuses("42, 143,128-255") ==
        std::vector<StatusRange>{{42, 42}, {143, 143}, {128, 255}});
  CHECK(parse_statuses("1-255") == std::vector<StatusRange>{{1, 255}});
}

TEST_CASE("parse_statuses: only statuses of failures, in order") {
  for (const char* text : {"", "0", "256", "300", "5-3", "0-9", "1,", ",1", "a", "1-", "-1", "1 2",
                           "1-2-3", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_statuses(text).has_value());
  }
}

TEST_CASE("StatusRange has both of its ends") {
  const StatusRange range = {10, 12};
  for (const int status : {10, 11, 12})
    CHECK(range.contains(status));
  CHECK_FALSE(range.contains(9));
  CHECK_FALSE(range.contains(13));
}

}  // namespace
}  // namespace dt
