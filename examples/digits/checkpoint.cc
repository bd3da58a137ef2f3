#include "examples/digits/checkpoint.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace digits {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kind = "digits-checkpoint";
constexpr std::size_t version = 1;
constexpr std::uintmax_t file_bytes_max = 64u << 20;
constexpr std::string_view checksum_word = "checksum ";

std::runtime_error file_error(const fs::path& file, const std::string& why) {
  return std::runtime_error(file.string() + ": " + why);
}

std::runtime_error write_error(const fs::path& file, int error) {
  return file_error(file,
                    "the checkpoint cannot be written: " + std::generic_category().message(error));
}

/// FNV-1a of 64 bits: detects damage, but no manipulation.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xCBF29CE484222325u;
  for (const char c : text)
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return sum;
}

void append_numbers(std::string& text, std::string_view name, std::span<const double> numbers) {
  text.append(name).append(" ").append(std::to_string(numbers.size())).append("\n");
  std::array<char, 32> digits{};
  for (const double number : numbers) {
    // Hexadecimal, because it is exact and fast to read.
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::hex)
            .ptr;
    text.append(digits.data(), end).append("\n");
  }
}

std::string encode(const Checkpoint& checkpoint) {
  std::ostringstream head;
  head << kind << " " << version << "\nepoch " << checkpoint.epoch << "\nseed " << checkpoint.seed
       << "\n";
  std::string text = head.str();
  append_numbers(text, "weights", checkpoint.weights);
  append_numbers(text, "velocity", checkpoint.velocity);
  const std::uint64_t sum = checksum(text);
  return text.append(checksum_word).append(std::to_string(sum)).append("\n");
}

/// Reads the words of a file one by one. The first unexpected word ends the reading.
class Reader {
 public:
  Reader(const fs::path& file, const std::string& text) : file_(file), words_(text) {}

  std::string word() {
    std::string word;
    if (!(words_ >> word)) throw damaged();
    return word;
  }

  void expect(std::string_view name) {
    if (word() != name) throw damaged();
  }

  template <typename Number, typename... Format>
  Number number(Format... format) {
    const std::string text = word();
    Number number{};
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, format...);
    if (error != std::errc{} || end != text.data() + text.size()) throw damaged();
    return number;
  }

  std::vector<double> numbers(std::string_view name, std::size_t most) {
    expect(name);
    const auto count = number<std::size_t>();
    if (count > most) throw damaged();
    std::vector<double> numbers(count);
    for (double& value : numbers)
      value = number<double>(std::chars_format::hex);
    return numbers;
  }

  std::runtime_error damaged() const {
    return file_error(file_, "the checkpoint is damaged; start anew without --resume");
  }

 private:
  const fs::path& file_;
  std::istringstream words_;
};

/// Returns 0, or the errno of the failed call.
int write_text(const std::string& text, const fs::path& file) {
  const auto close = [](std::FILE* stream) { std::fclose(stream); };
  const std::unique_ptr<std::FILE, decltype(close)> stream(std::fopen(file.c_str(), "we"));
  if (!stream) return errno;
  const bool written = std::fwrite(text.data(), 1, text.size(), stream.get()) == text.size() &&
                       std::fflush(stream.get()) == 0 && fsync(fileno(stream.get())) == 0;
  return written ? 0 : errno;
}

std::string read_text(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) throw file_error(file, "the checkpoint cannot be read: " + error.message());
  if (bytes > file_bytes_max) throw file_error(file, "too large for a checkpoint of digits");
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream || text.size() != bytes) throw file_error(file, "the checkpoint cannot be read");
  return text;
}

}  // namespace

void write_checkpoint(const Checkpoint& checkpoint, const fs::path& file) {
  fs::path unfinished = file;
  unfinished += ".unfinished";
  int error = write_text(encode(checkpoint), unfinished);
  if (error == 0 && std::rename(unfinished.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(unfinished.c_str());
  throw write_error(file, error);
}

Checkpoint read_checkpoint(const fs::path& file) {
  const std::string text = read_text(file);
  Reader reader(file, text);
  if (!text.starts_with(kind)) throw file_error(file, "this is not a checkpoint of digits");
  reader.expect(kind);
  const auto found = reader.number<std::size_t>();
  if (found != version) {
    throw file_error(file, "a checkpoint of version " + std::to_string(found) +
                               "; this program reads version " + std::to_string(version));
  }
  const std::size_t sum_at = text.rfind(checksum_word);
  if (sum_at == std::string::npos) throw reader.damaged();

  Checkpoint checkpoint;
  reader.expect("epoch");
  checkpoint.epoch = reader.number<std::size_t>();
  reader.expect("seed");
  checkpoint.seed = reader.number<std::uint64_t>();
  checkpoint.weights = reader.numbers("weights", text.size());
  checkpoint.velocity = reader.numbers("velocity", text.size());
  reader.expect("checksum");
  if (reader.number<std::uint64_t>() != checksum(std::string_view(text).substr(0, sum_at))) {
    throw reader.damaged();
  }
  return checkpoint;
}

}  // namespace digits
