#pragma once

#include "base/bytes.h"
#include "base/format.h"
#include "base/result.h"
#include "comm/include/dtrain/dtrain_store.h"

#include <memory>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the name of C's opaque type
struct dtrain_value {
  /// A NUL follows the value's bytes; the value's size does not include it.
  dt::Bytes bytes;
};
// NOLINTEND(readability-identifier-naming)

namespace dt {

/// Returns the caller's bytes. Fails with Errc::input if they are NULL.
inline Result<ByteSpan> span_of(const dtrain_bytes& bytes) {
  if (bytes.data == nullptr && bytes.size > 0) {
    return fail(Errc::input, format("dtrain_bytes.data is NULL, and size is {}", bytes.size));
  }
  return ByteSpan(static_cast<const std::byte*>(bytes.data), bytes.size);
}

/// Returns a value for the caller, which frees it with dtrain_value_free.
inline std::unique_ptr<dtrain_value> value_of(Bytes bytes) {
  bytes.emplace_back();
  return std::make_unique<dtrain_value>(dtrain_value{std::move(bytes)});
}

}  // namespace dt
