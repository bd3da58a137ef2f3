#include "comm/training/coordinator/closure_messages.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("messages and outcomes survive their encoding") {
  const std::vector<ClosureMessage> messages = {RunClosure{"step", to_bytes("12")},
                                                RunClosure{"empty"}, EndClosures()};
  for (const ClosureMessage& message : messages)
    CHECK(decode_closure_message(encode(message)).value() == message);
  const std::vector<ClosureOutcome> outcomes = {
      {.result = to_bytes("result")}, {}, {.error = Error{Errc::mismatch, "differs"}}};
  for (const ClosureOutcome& outcome : outcomes)
    CHECK(decode_closure_outcome(encode(outcome)).value() == outcome);
}

TEST_CASE("other bytes are refused") {
  const Bytes run = encode(ClosureMessage(RunClosure{"step", to_bytes("12")}));
  for (size_t size = 0; size < run.size(); ++size)
    CHECK_FALSE(decode_closure_message(ByteSpan(run).first(size)));
  const Bytes failed = encode(ClosureOutcome{.error = Error{Errc::input, "text"}});
  for (size_t size = 0; size < failed.size(); ++size)
    CHECK_FALSE(decode_closure_outcome(ByteSpan(failed).first(size)));
  Bytes longer = run;
  longer.emplace_back();
  CHECK_FALSE(decode_closure_message(longer));
  Bytes unknown_kind = run;
  unknown_kind[0] = std::byte{3};
  CHECK_FALSE(decode_closure_message(unknown_kind));
  Bytes unknown_code = failed;
  unknown_code[1] = std::byte{200};
  CHECK_FALSE(decode_closure_outcome(unknown_code));
}

TEST_CASE("the name of a closure has 1 to 250 bytes") {
  CHECK(check_closure_name("a"));
  CHECK(check_closure_name(std::string(250, 'a')));
  CHECK(check_closure_name("").error().message ==
        "the name of a closure has 1 to 250 bytes, not 0: \"\"");
  CHECK(check_closure_name(std::string(251, 'a')).error().code == Errc::input);
}

}  // namespace
}  // namespace dt
