#pragma once

#include "base/format.h"
#include "base/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

/// The place of a text, and of any part of it: "-H" or "hosts:3:9". Requires that source and text
/// outlive it.
class SourceLocation {
 public:
  /// A text outside of a file, from `source`: "-H".
  SourceLocation(std::string_view source, std::string_view text) : source_(source), text_(text) {}
  /// A line of a file, counted from 1.
  SourceLocation(std::string_view file, std::string_view text, size_t line)
      : source_(file), text_(text), line_(line) {}

  /// Returns the column of a part of the text, counted from 1.
  size_t column(std::string_view part) const {
    return static_cast<size_t>(part.data() - text_.data()) + 1;
  }
  std::string of(std::string_view part) const {
    if (line_ == 0) return std::string(source_);
    return format("{}:{}:{}", source_, line_, column(part));
  }
  tl::unexpected<Error> refuse(std::string_view part, std::string_view why) const {
    return fail(Errc::input, format("{}: {}", of(part), why));
  }

 private:
  std::string_view source_;
  std::string_view text_;
  size_t line_ = 0;
};

}  // namespace dt
