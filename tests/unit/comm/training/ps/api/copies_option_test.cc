#include "comm/training/ps/api/copies_option.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("the caller's number of copies wins over that of the environment") {
  CHECK(ps_copies("options.replicas", 0, nullptr).value() == 1);
  CHECK(ps_copies("options.replicas", 0, "").value() == 1);
  CHECK(ps_copies("options.replicas", 0, "1").value() == 1);
  CHECK(ps_copies("options.replicas", 0, "2").value() == 2);
  CHECK(ps_copies("options.replicas", 1, "2").value() == 1);
  CHECK(ps_copies("options.replicas", 2, nullptr).value() == 2);
}

TEST_CASE("another number than 1 and 2 is refused by the name of its origin") {
  CHECK(ps_copies("options.replicas", 3, nullptr).error().message ==
        "options.replicas is 3; expected 1 or 2");
  for (const std::string text : {"0", "3", "two", "2 "}) {
    CHECK(ps_copies("options.replicas", 0, text.c_str()).error().message ==
          "DTRAIN_PS_REPLICAS is \"" + text + "\"; expected 1 or 2");
  }
}

}  // namespace
}  // namespace dt
