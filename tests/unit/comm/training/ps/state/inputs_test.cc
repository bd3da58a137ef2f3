#include "comm/training/ps/state/inputs.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("an input is decoded as it was encoded, and no beginning of it is one") {
  const Bytes content = to_bytes("content");
  const std::vector<PsInput> inputs = {
      PsStart{.bytes_max = 77, .checkpoint = content},
      PsIncoming{.worker = 1, .request = 2, .body = content, .attempt = 3},
      PsFileAnswer{.worker = 1, .request = 2, .step = 9, .content = content},
      PsFileAnswer{.worker = 1, .request = 2, .error = Error{Errc::not_found, "no file"}},
      Notice{Notice::Kind::dead, {"worker", 1}, "killed"},
      Notice{Notice::Kind::restarted, {"worker", 1}, "", 2},
  };
  uint64_t number = 5;
  for (const PsInput& input : inputs) {
    const Bytes bytes = encode_parts(++number, input).joined();
    const auto message = std::make_shared<const Bytes>(bytes);  // some inputs are views of it
    const auto decoded = decode_ps_input(message);
    REQUIRE(decoded);
    CHECK(decoded->number == number);
    CHECK(decoded->input.index() == input.index());
    CHECK(encode_parts(number, decoded->input).joined() == bytes);
    for (size_t length = 0; length < bytes.size(); ++length) {
      const ByteSpan cut = ByteSpan(bytes).first(length);
      CHECK_FALSE(decode_ps_input(std::make_shared<const Bytes>(cut.begin(), cut.end())));
    }
  }
}

TEST_CASE("an acknowledgement is a number and nothing else") {
  CHECK(decode_acknowledgement(encode_acknowledgement(9)).value() == 9);
  CHECK_FALSE(decode_acknowledgement(to_bytes("123")));
  CHECK_FALSE(decode_acknowledgement(to_bytes("123456789")));
}

}  // namespace
}  // namespace dt
