#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace dt {

/// What each target defines: one run over any bytes. It returns, or a broken promise ends the
/// process: an assertion, a sanitizer's finding, or libFuzzer's limits of time and memory.
void fuzz_one(ByteSpan bytes);

/// What every error for people promises: one to four lines of printable text, none endless.
inline void check_message(const Error& error) {
  constexpr size_t message_bytes_max = 4096;
  assert(!error.message.empty());
  assert(error.message.size() <= message_bytes_max);
  assert(std::ranges::count(error.message, '\n') < 4);
  for (const std::string_view line : split(error.message, '\n'))
    assert(printable(line, message_bytes_max) == line);
}

}  // namespace dt
