#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace digits {

inline constexpr std::size_t pixel_count = 64;
inline constexpr std::size_t digit_count = 10;

/// A hand-written digit: 8 rows of 8 pixels, 0 (paper) to 1 (ink), and the digit that it shows.
struct Image {
  std::array<double, pixel_count> pixels{};
  std::size_t digit = 0;
};

struct Split {
  std::vector<Image> training;
  std::vector<Image> test;
};

/// Reads lines of 64 pixels (0 to 16) and the digit, separated by commas. Throws std::runtime_error
/// with file, line and value when one is wrong, or when there are fewer than 10 lines.
std::vector<Image> read_images(const std::filesystem::path& file);

/// Keeps a fifth of the images for testing. The split is the same in every run, with any seed, so
/// that accuracies can be compared.
Split split_images(std::span<const Image> images);

/// Finds examples/data/digits.csv or share/dtrain/digits.csv. Searches the folder of `program`,
/// then the folders above it, and at last the source tree of the build. Throws when there is none.
std::filesystem::path find_images(const std::filesystem::path& program);

}  // namespace digits
