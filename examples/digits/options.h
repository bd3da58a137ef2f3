#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

namespace digits {

struct Options {
  std::size_t epochs = 40;
  std::size_t batch = 128;
  /// --batch-per-rank: `batch` images a rank and step, and the learning rate times the number of
  /// ranks.
  bool batch_per_rank = false;
  double learning_rate = 0.1;
  std::uint64_t seed = 1;
  std::filesystem::path images;      // empty: see find_images()
  std::filesystem::path checkpoint;  // empty: none is written
  bool resume = false;
  bool gpu = false;  // --device gpu: each rank trains on one
  bool help = false;
};

/// A mistake on the command line; what() has the word and the reason.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads `--option value` and `--option=value`. If an option occurs twice, the last one counts.
Options parse_options(std::span<const std::string> words);

/// Returns the output of --help, with the defaults.
std::string usage();

}  // namespace digits
