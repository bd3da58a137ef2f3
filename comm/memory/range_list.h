#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace dt {

/// Divides a space of bytes into ranges that are taken and given back, by first fit. Ranges begin
/// and end at pages. Ranges of a huge page or more begin at one, so that the kernel may use it.
class RangeList {
 public:
  static constexpr size_t page_bytes = 4096;
  static constexpr size_t huge_page_bytes = size_t{2} << 20;

  explicit RangeList(size_t bytes) { free_[0] = bytes / page_bytes * page_bytes; }

  struct Range {
    size_t begin = 0;
    size_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  /// Takes the first range of at least `bytes`, and of a page; none when there is no such range.
  std::optional<Range> take(size_t bytes);
  /// Gives back the range that begins there; none when no taken range does.
  std::optional<Range> give_back(size_t begin);
  /// The taken ranges, by begin.
  const std::map<size_t, size_t>& taken() const { return taken_; }
  /// The bytes in the largest free range.
  size_t largest_free() const;

 private:
  void add_free(Range range);

  std::map<size_t, size_t> free_;  ///< bytes by begin; two free ranges never touch
  std::map<size_t, size_t> taken_;
};

}  // namespace dt
