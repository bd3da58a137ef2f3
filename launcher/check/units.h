#pragma once

#include "base/clock.h"

#include <cstdint>
#include <string>

namespace dt {

/// "512 MiB", "23.5 GiB": memory and files, three digits at most before and one behind the point.
std::string size_text(int64_t bytes);
/// "0.052 ms", "12 ms", "3.2 s": three digits that count.
std::string time_text(Duration time);
/// "117 MB/s", "9.34 GB/s": networks count in thousands.
std::string rate_text(double bytes_per_s);

}  // namespace dt
