#include "launcher/export/kubernetes/kubernetes_options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a kind has the name of --kind") {
  for (const std::string& name : kubernetes_kinds())
    CHECK(kubernetes_kind_name(parse_kubernetes_kind(name).value()) == name);
  CHECK(parse_kubernetes_kind("job-set").error().message ==
        "--kind: \"job-set\" is none of its kinds; did you mean jobset?");
  CHECK(parse_kubernetes_kind("pod").error().message ==
        "--kind: \"pod\" is none of its kinds; they are indexed-job, jobset, trainjob, mpijob");
}

TEST_CASE("a claim has a name and an absolute target") {
  std::vector<Mount> claims;
  CHECK(add_claim(claims, "data:/data:ro"));
  CHECK(add_claim(claims, "out:/out"));
  REQUIRE(claims.size() == 2);
  CHECK(claims[0].source == "data");
  CHECK(claims[0].target == "/data");
  CHECK(claims[0].read_only);
  CHECK(!claims[1].read_only);
  for (const char* const wrong : {"", "data", ":/data", "data:here", "other:/data"}) {
    CAPTURE(wrong);
    CHECK(!add_claim(claims, wrong));
  }
}

}  // namespace
}  // namespace dt
