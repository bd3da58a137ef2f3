#include "comm/memory/large_bytes.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace dt {
namespace {

/// The flags that the kernel keeps for the memory at an address, from /proc/self/smaps.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<unsigned long>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= wanted && wanted < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST_CASE("large memory is zeros or a copy, and the kernel may make huge pages of it") {
  // Without this file, the kernel has no huge pages.
  const bool has_huge_pages = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage");
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4'000'000}, size_t{40'000'000}}) {
    const Bytes zeros = make_large_bytes(size);
    CHECK(zeros == Bytes(size));
    const Bytes ones(size, std::byte{1});
    const Bytes copy = copy_to_large_bytes(ones);
    CHECK(copy == ones);
    if (size < 10'000'000 || !has_huge_pages) continue;
    // "hg": by madvise(2)
    for (const Bytes* bytes : {&zeros, &copy})
      CHECK(flags_of(bytes->data() + size / 2).find(" hg ") != std::string::npos);
  }
}

}  // namespace
}  // namespace dt
