// The driver by which libFuzzer runs a target.

#include "tests/fuzz/fuzz.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls this name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  dt::fuzz_one(std::as_bytes(std::span(bytes, size)));
  return 0;
}
