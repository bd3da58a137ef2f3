#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace dt {

// The messages between a coordinator and its workers. Decoders are total: any bytes give a value or
// an error.

/// The maximum of the argument of a closure, and of its result.
inline constexpr size_t closure_bytes_max = size_t{64} << 20;
inline constexpr size_t closure_name_bytes_max = 250;
/// An argument or a result, with a name or the text of an error.
inline constexpr size_t closure_message_bytes_max = closure_bytes_max + (size_t{1} << 20);

/// To a worker: run the closure of this name. The reply is a ClosureOutcome.
struct RunClosure {
  std::string name;
  Bytes argument = {};
  bool operator==(const RunClosure&) const = default;
};
/// To a worker: no closures will follow.
struct EndClosures {
  bool operator==(const EndClosures&) const = default;
};
using ClosureMessage = std::variant<RunClosure, EndClosures>;

/// To the coordinator: the end of one closure.
struct ClosureOutcome {
  std::optional<Error> error = {};
  Bytes result = {};  ///< empty with an error
  bool operator==(const ClosureOutcome&) const = default;
};

/// Fails with Errc::input for an empty name, and for one that is too long.
Result<> check_closure_name(std::string_view name);

Bytes encode(const ClosureMessage& message);
Bytes encode(const ClosureOutcome& outcome);
/// Fail with Errc::protocol.
Result<ClosureMessage> decode_closure_message(ByteSpan bytes);
Result<ClosureOutcome> decode_closure_outcome(ByteSpan bytes);

}  // namespace dt
