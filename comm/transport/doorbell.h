#pragma once

#include "base/io/fd.h"
#include "base/result.h"

namespace dt {

/// Returns a non-blocking eventfd; each ring makes it readable and wakes the thread that polls it.
Result<Fd> make_doorbell();
void ring(int doorbell);
/// Resets the counter, so that the next ring is a new event.
void silence(int doorbell);

}  // namespace dt
