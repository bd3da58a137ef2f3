#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace dt {

/// What each target defines: one run over any bytes. It returns, or a broken promise ends the
/// process: an assertion, a sanitizer's finding, or libFuzzer's limits of time and memory.
void fuzz_one(ByteSpan bytes);

inline void check_message(const Error& error) {
  assert(fault_of_message(error.message).empty());
}

}  // namespace dt
