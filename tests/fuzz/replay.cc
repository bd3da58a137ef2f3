// The driver of the tests: runs a target over the files of its corpus, without libFuzzer.

#include "base/format.h"
#include "tests/fuzz/fuzz.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

std::vector<std::filesystem::path> files_of(std::span<char*> arguments) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path given : arguments) {
    if (!is_directory(given)) {
      files.push_back(given);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(given))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

/// The arguments are files and folders. The name of each file is printed before its run: after a
/// crash, the last one printed is the cause.
int main(int argc, char** argv) {
  const std::vector<std::filesystem::path> files =
      files_of(std::span(argv, static_cast<size_t>(argc)).subspan(1));
  for (const std::filesystem::path& path : files) {
    std::puts(path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      std::puts("cannot be read");
      return 1;
    }
    dt::fuzz_one(dt::as_bytes(text));
  }
  std::puts(dt::format("{} inputs", files.size()).c_str());
  return files.empty() ? 1 : 0;
}
