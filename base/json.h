#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dt {

/// A JSON value whose objects keep the order in which their members were added.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(bool value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Json(int value) : value_(int64_t{value}) {}            // NOLINT(google-explicit-constructor)
  Json(int64_t value) : value_(value) {}                 // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(Array value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Json(Object value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)

  /// Returns the value as T (bool, int64_t, double, std::string, Array, Object); null when it has
  /// another type.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }
  /// Returns a member of an object, or null.
  const Json* find(std::string_view name) const;
  bool operator==(const Json&) const = default;

  /// Returns the document on one line, or indented by `indent` spaces. Invalid UTF-8 becomes
  /// U+FFFD, and control characters become \uNNNN.
  std::string text(int indent = -1) const;
  /// Reads one document; at most 64 levels deep.
  static Result<Json> parse(std::string_view text);

  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object>;
  const Value& value() const { return value_; }

 private:
  Value value_;
};

}  // namespace dt
