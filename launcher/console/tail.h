#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Keeps the last lines of a stream, for the report of a failure.
class Tail {
 public:
  static constexpr size_t bytes_max = 4096;
  static constexpr size_t lines_max = 8;

  void add(std::string_view bytes);
  /// Returns at most lines_max lines, printable, without line ends and empty lines.
  std::vector<std::string> lines() const;

 private:
  std::string kept_;
};

}  // namespace dt
