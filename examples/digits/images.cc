#include "examples/digits/images.h"

#include "examples/digits/sampling.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace digits {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t ink_max = 16;
constexpr std::size_t images_min = 10;
constexpr std::size_t folders_above_max = 4;
constexpr std::size_t training_fifths = 4;

std::optional<std::size_t> number_up_to(std::string_view word, std::size_t most) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number > most) return {};
  return number;
}

std::vector<std::string_view> split_commas(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t comma = line.find(',');
    words.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    line.remove_prefix(comma + 1);
  }
}

/// Quotes a field of the file for a message. A file of another kind could have long ones, so it is
/// cut.
std::string quoted(std::string_view word) {
  constexpr std::size_t shown_max = 20;
  return "'" + std::string(word.substr(0, shown_max)) + "'";
}

/// `place` is the file and line for a message.
Image parse_image(std::string_view line, const std::string& place) {
  const std::vector<std::string_view> words = split_commas(line);
  if (words.size() != pixel_count + 1) {
    throw std::runtime_error(place + ": 64 pixels and a digit are needed, here are " +
                             std::to_string(words.size()) + " values");
  }
  Image image;
  for (std::size_t i = 0; i < pixel_count; i++) {
    const std::optional<std::size_t> ink = number_up_to(words[i], ink_max);
    if (!ink) {
      throw std::runtime_error(place + ": value " + std::to_string(i + 1) +
                               ": a pixel is a number from 0 to 16, not " + quoted(words[i]));
    }
    image.pixels[i] = static_cast<double>(*ink) / ink_max;
  }
  const std::optional<std::size_t> digit = number_up_to(words.back(), digit_count - 1);
  if (!digit) {
    throw std::runtime_error(place + ": the last value is the digit, 0 to 9, not " +
                             quoted(words.back()));
  }
  image.digit = *digit;
  return image;
}

}  // namespace

std::vector<Image> read_images(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream || fs::is_directory(file)) {
    throw std::runtime_error(file.string() + ": the images cannot be read; give --data FILE");
  }
  std::vector<Image> images;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); number++) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    images.push_back(parse_image(line, file.string() + ":" + std::to_string(number)));
  }
  if (stream.bad()) throw std::runtime_error(file.string() + ": reading failed half-way");
  if (images.size() < images_min) {
    throw std::runtime_error(file.string() + ": " + std::to_string(images.size()) +
                             " images; at least 10 are needed to train and test");
  }
  return images;
}

Split split_images(std::span<const Image> images) {
  constexpr std::uint64_t split_seed = 1998;
  const std::size_t cut = images.size() * training_fifths / (training_fifths + 1);
  Split split;
  for (const std::size_t index : shuffled_order(images.size(), split_seed)) {
    std::vector<Image>& side = split.training.size() < cut ? split.training : split.test;
    side.push_back(images[index]);
  }
  return split;
}

fs::path find_images(const fs::path& program) {
  const fs::path start = program.parent_path();
  fs::path folder = start;
  for (std::size_t i = 0; i <= folders_above_max; i++, folder = folder.parent_path()) {
    for (const char* place : {"examples/data/digits.csv", "share/dtrain/digits.csv"}) {
      std::error_code ignored;  // An unreadable folder counts as one without the file.
      if (fs::is_regular_file(folder / place, ignored)) return folder / place;
    }
  }
  std::error_code ignored;
  if (fs::is_regular_file(DIGITS_BUILT_FROM, ignored)) return DIGITS_BUILT_FROM;
  throw std::runtime_error("no examples/data/digits.csv or share/dtrain/digits.csv in " +
                           start.string() + " or above it; give --data FILE");
}

}  // namespace digits
