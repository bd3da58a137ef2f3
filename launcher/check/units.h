#pragma once

#include "base/clock.h"

#include <cstdint>
#include <string>

namespace dt {

/// "512 MiB", "23.5 GiB", for memory and files: a multiple of 1024, with one decimal below 100.
std::string size_text(int64_t bytes);
/// "0.052 ms", "12.0 ms", "3.20 s": three significant digits from 0.1 ms up.
std::string time_text(Duration time);
/// "117 MB/s", "9.34 GB/s": multiples of 1000, as for networks.
std::string rate_text(double bytes_per_s);

}  // namespace dt
