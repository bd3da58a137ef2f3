#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace dt {

/// Each target defines this function: one run over any bytes. It returns if all promises held.
/// Otherwise the process ends by an assertion, a sanitizer, or libFuzzer's limits of time and
/// memory.
void fuzz_one(ByteSpan bytes);

/// Asserts that the error's message has the form that people can read.
inline void check_message(const Error& error) {
  assert(fault_of_message(error.message).empty());
}

}  // namespace dt
