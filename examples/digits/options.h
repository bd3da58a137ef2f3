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
  std::filesystem::path images;      // empty: looked for beside the program
  std::filesystem::path checkpoint;  // empty: none is written
  bool resume = false;
  bool help = false;
};

/// A mistake on the command line; what() says which word and why.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads `--option value` and `--option=value`; of an option that is given twice the last one
/// counts.
Options parse_options(std::span<const std::string> words);

/// What --help prints, with the defaults.
std::string usage();

}  // namespace digits
