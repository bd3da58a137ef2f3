#include "choices/cross_device_rules.h"

#include "base/format.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("cross-device operations by size have the form of --algorithms") {
  using Kind = CrossDeviceName::Kind;
  const CrossDeviceRules rules =
      parse_cross_device_rules("reduction_to_one:64k:@mine:1M:all_reduce").value();
  REQUIRE(rules.size() == 3);
  CHECK(rules[0] == CrossDeviceRule{.bytes_max = 65'536});
  CHECK(rules[1] == CrossDeviceRule{.registered = "mine", .bytes_max = 1'048'576});
  CHECK(rules[2] == CrossDeviceRule{.name = {.kind = Kind::all_reduce}});
  CHECK(cross_device_rule_for(rules, 0) == 0);
  CHECK(cross_device_rule_for(rules, 65'536) == 0);
  CHECK(cross_device_rule_for(rules, 65'537) == 1);
  CHECK(cross_device_rule_for(rules, SIZE_MAX) == 2);
  CHECK(cross_device_text(rules) == "reduction_to_one:65536:@mine:1048576:all_reduce");
  CHECK(parse_cross_device_rules(cross_device_text(rules)).value() == rules);
  CHECK(parse_cross_device_rules("hierarchical_copy").value() ==
        CrossDeviceRules{{.name = {.kind = Kind::hierarchical_copy_all_reduce}}});
  CHECK(parse_cross_device_rules("all_reduce:1m:nccl_all_reduce").value()[1] ==
        CrossDeviceRule{.name = {.kind = Kind::nccl_all_reduce}});
  CHECK(cross_device_text(parse_cross_device_rules("NcclAllReduce").value()) ==
        "NcclAllReduce with 1 pack");
  CHECK(cross_device_text(parse_cross_device_rules("AllReduce:2").value()) ==
        "AllReduce with 2 packs");
  CHECK(cross_device_text(parse_cross_device_rules("ReductionToOneDevice:cpu").value()) ==
        "ReductionToOneDevice on cpu");
  CHECK(cross_device_text(parse_cross_device_rules("@mine").value()) == "@mine");
}

TEST_CASE("wrong cross-device operations by size are named") {
  const auto message = [](std::string_view text) {
    const auto rules = parse_cross_device_rules(text);
    return rules ? "parsed" : rules.error().message;
  };
  const std::string known =
      "they are ReductionToOneDevice, HierarchicalCopyAllReduce, AllReduce and NcclAllReduce; by "
      "size, they are reduction_to_one, hierarchical_copy, all_reduce, nccl_all_reduce and @NAME";
  CHECK(message("ring") == "no cross-device operation \"ring\"; " + known);
  CHECK(message("") == "no cross-device operation \"\"; " + known);
  CHECK(message("all_reduce:4k:AllReduce") == "no cross-device operation \"AllReduce\"; " + known);
  CHECK(message("all_reduce:") == "expected a limit in bytes behind all_reduce, got \"\"");
  CHECK(message("all_reduce:x:all_reduce") ==
        "expected a limit in bytes behind all_reduce, got \"x\"");
  CHECK(message("all_reduce:4k") == "expected ':' and the operation above the limit 4k");
  CHECK(message("all_reduce:4k:@a:4k:@b") == "the limit 4k must be above the one before it");
  CHECK(message("@") ==
        "\"@\": the name of an algorithm has 1 to 63 letters, digits and underscores");
  CHECK(message("@a-b").starts_with("\"@a-b\": the name"));
  CHECK(message("@" + std::string(64, 'a')).find("1 to 63") != std::string::npos);
  std::string many = "@a";
  for (int i = 1; i <= 8; ++i)
    many += format(":{}k:@a", i);
  CHECK(message(many) == "9 cross-device operations by size; at most 8 are possible");
  CHECK(message("AllReduce:x") == "AllReduce: expected 0..1024 packs behind the colon, got \"x\"");
}

}  // namespace
}  // namespace dt
