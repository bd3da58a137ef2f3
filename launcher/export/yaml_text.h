#pragma once

#include "base/result.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// A value of a YAML document. Maps keep the order in which their keys were set.
class YamlValue {
 public:
  enum class Kind : uint8_t { none, text, number, flag, list, map };

  YamlValue() = default;  ///< null
  static YamlValue text(std::string_view text);
  static YamlValue number(int64_t number);
  static YamlValue flag(bool flag);
  static YamlValue list() { return YamlValue(Kind::list); }
  static YamlValue list(const std::vector<std::string>& texts);
  static YamlValue list(std::initializer_list<YamlValue> items);
  static YamlValue map() { return YamlValue(Kind::map); }
  static YamlValue map(std::initializer_list<std::pair<const char*, YamlValue>> entries);

  Kind kind() const { return kind_; }
  /// Returns the text of a text, and the literal of a number or flag.
  const std::string& scalar() const { return scalar_; }
  const std::vector<YamlValue>& items() const { return items_; }  ///< of a list or a map
  const std::vector<std::string>& keys() const { return keys_; }  ///< of a map
  bool is_scalar() const { return kind_ < Kind::list; }

  /// Appends to a list.
  void add(YamlValue item);
  /// Appends to a map. Requires a key that the map does not have.
  void set(std::string key, YamlValue item);
  bool operator==(const YamlValue&) const = default;

 private:
  explicit YamlValue(Kind kind, std::string scalar = {})
      : kind_(kind), scalar_(std::move(scalar)) {}

  Kind kind_ = Kind::none;
  std::string scalar_ = {};
  std::vector<YamlValue> items_ = {};
  std::vector<std::string> keys_ = {};
};

/// Returns the text as one line of YAML, which readers of YAML 1.1 and 1.2 take for this text. It
/// has quotes unless every reader takes the plain text for a text. Requires UTF-8.
std::string yaml_scalar(std::string_view text);

/// True for a text that YAML can hold: UTF-8.
bool yaml_can_hold(std::string_view text);

/// Returns the document in blocks, with short lists of scalars on a line. Fails with Errc::input
/// for a text that is no UTF-8, which YAML cannot hold.
Result<std::string> yaml_text(const YamlValue& document);

}  // namespace dt
