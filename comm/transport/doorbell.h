#pragma once

#include "base/io/fd.h"
#include "base/result.h"

namespace dt {

/// A non-blocking eventfd that wakes whoever polls it.
Result<Fd> make_doorbell();
void ring(int doorbell);
/// So that the next ring is an event again.
void silence(int doorbell);

}  // namespace dt
