#include "choices/strategy_name.h"

#include "base/format.h"
#include "base/text.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("each name of the list is a strategy with that text") {
  size_t number = 0;
  for (const std::string_view name : split(strategy_choices, '|')) {
    CAPTURE(name);
    CHECK(static_cast<size_t>(parse_strategy_name(name).value()) == number++);
    CHECK(strategy_text(parse_strategy_name(name).value()) == name);
  }
  CHECK(parse_strategy_name("parameter_server").value() == StrategyName::parameter_server);
  CHECK(parse_strategy_name("one_device").value() == StrategyName::one_device);
}

TEST_CASE("an unknown strategy lists the names, or the nearest one") {
  const auto message = [](std::string_view word) {
    const auto name = parse_strategy_name(word);
    REQUIRE_FALSE(name);
    CHECK(name.error().code == Errc::input);
    return name.error().message;
  };
  const std::string known =
      "the strategies are mirrored, multi_worker_mirrored, central_storage, parameter_server and "
      "one_device";
  CHECK(message("tpu") == "there is no TPU here; " + known);
  CHECK(message("horovod") == "no strategy \"horovod\"; " + known);
  CHECK(message("") == "no strategy \"\"; " + known);
  CHECK(message("mirored") == "no strategy \"mirored\"; did you mean mirrored?");
}

TEST_CASE("a mode of parameter servers survives its text") {
  using Kind = ServerMode::Kind;
  struct Case {
    const char* text;
    ServerMode mode;
    bool needs_all;
  };
  for (const Case& test :
       {Case{"sync", {}, true}, Case{"sync:3", {Kind::sync, 3}, false},
        Case{"async", {Kind::async, 0}, false}, Case{"local-async", {Kind::async, 0, true}, true},
        Case{"bounded:0", {Kind::bounded, 0}, false},
        Case{"bounded:4", {Kind::bounded, 4}, false}}) {
    CAPTURE(test.text);
    CHECK(parse_server_mode(test.text).value() == test.mode);
    CHECK(server_mode_text(test.mode) == test.text);
    CHECK(test.mode.needs_all() == test.needs_all);
  }
}

TEST_CASE("another mode of parameter servers is refused with the known ones") {
  for (const char* const text : {"", "fast", "sync:0", "sync:", "sync:-1", "sync:1:2", "async:1",
                                 "bounded", "bounded:x", "bounded:9999999"}) {
    CAPTURE(text);
    const auto mode = parse_server_mode(text);
    REQUIRE_FALSE(mode);
    CHECK(
        mode.error().message ==
        format("no mode of parameter servers \"{}\"; they are sync, sync:N with N workers in each "
               "step, async, local-async, and bounded:N with N pushes of staleness",
               text));
  }
}

TEST_CASE("a cross-device operation has a name, and packs where it packs") {
  using Kind = CrossDeviceName::Kind;
  const auto parsed = [](std::string_view text) { return parse_cross_device_name(text).value(); };
  CHECK(parsed("ReductionToOneDevice") == CrossDeviceName{.kind = Kind::reduction_to_one_device});
  CHECK(parsed("HierarchicalCopyAllReduce:0") ==
        CrossDeviceName{.kind = Kind::hierarchical_copy_all_reduce, .packs = 0});
  CHECK(parsed("AllReduce") == CrossDeviceName{.kind = Kind::all_reduce, .packs = 1});
  CHECK(parsed("NcclAllReduce:2") == CrossDeviceName{.kind = Kind::nccl_all_reduce, .packs = 2});
  CHECK(parsed("AllReduce:4") == CrossDeviceName{.kind = Kind::all_reduce, .packs = 4});
  const auto message = [](std::string_view text) {
    const auto name = parse_cross_device_name(text);
    return name ? "parsed" : name.error().message;
  };
  CHECK(message("Nccl") ==
        "no cross-device operation \"Nccl\"; they are ReductionToOneDevice, "
        "HierarchicalCopyAllReduce, AllReduce and NcclAllReduce");
  CHECK(message("AllReduce:x") == "AllReduce: expected 0..1024 packs behind the colon, got \"x\"");
  CHECK(message("AllReduce:2:3") ==
        "AllReduce: expected 0..1024 packs behind the colon, got \"2:3\"");
  CHECK(message("AllReduce:1025") ==
        "AllReduce: expected 0..1024 packs behind the colon, got \"1025\"");
  CHECK(parsed("ReductionToOneDevice:/cpu:1").device == "/cpu:1");
  CHECK(parsed("ReductionToOneDevice:2").packs == 1);
  CHECK(message("ReductionToOneDevice:") ==
        "ReductionToOneDevice: expected one device behind the colon, got \"\"");
  CHECK(message("ReductionToOneDevice:0,1") ==
        "ReductionToOneDevice: expected one device behind the colon, got \"0,1\"");
}

TEST_CASE("a communication has TensorFlow's names, in any case") {
  CHECK(parse_communication("AUTO").value() == Communication::automatic);
  CHECK(parse_communication("ring").value() == Communication::ring);
  CHECK(parse_communication("Nccl").value() == Communication::nccl);
  CHECK(communication_text(Communication::nccl) == "nccl");
  CHECK(parse_communication("gloo").error().message ==
        "no communication \"gloo\"; they are auto, ring and nccl");
}

}  // namespace
}  // namespace dt
