#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace digits {

/// The state that training needs to continue after `epoch` epochs as if it had not stopped.
struct Checkpoint {
  std::size_t epoch = 0;
  std::uint64_t seed = 0;
  std::vector<double> weights;
  std::vector<double> velocity;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes a text file with every bit of the numbers. The file gets its name only when it is
/// complete on the disk. A process that dies meanwhile leaves the previous file. Throws
/// std::runtime_error with file and cause.
void write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& file);

/// Throws std::runtime_error when the file is missing, of another kind or version, or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& file);

}  // namespace digits
