#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

struct TomlEntry;

/// A value of a TOML text. Only the members of its kind are set.
struct TomlValue {
  enum class Kind : uint8_t {
    text,
    integer,
    real,
    flag,
    time,          ///< a date or time
    array,         ///< [1, 2]
    inline_table,  ///< {a = 1}
    table,         ///< [name]
    tables         ///< [[name]]
  };
  Kind kind = Kind::time;
  std::string text = {};
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<TomlValue> elements;  ///< of an array or of tables
  std::vector<TomlEntry> entries;   ///< of a table, inline or not, in the order of the text

  bool is_table() const { return kind == Kind::table || kind == Kind::inline_table; }
  /// The kind in words: "a whole number".
  std::string_view kind_name() const;
};

/// A key with its value. Line and column are those of the key, from 1.
struct TomlEntry {
  std::string key;
  size_t line = 0;
  size_t column = 0;
  TomlValue value;
  size_t source = 0;  ///< the text of its document that has it
};

/// A TOML file as it was read, and perhaps entries of other files. Its errors show the line and a
/// caret under the fault.
class TomlDocument {
 public:
  /// `path` names the file in errors. Fails with Errc::input for text that is no TOML.
  static Result<TomlDocument> parse(std::string_view text, std::string_view path);

  const std::vector<TomlEntry>& entries() const { return entries_; }
  /// Returns the entries of another document, whose texts become texts of this one. They may be put
  /// among the entries of this one.
  std::vector<TomlEntry> adopt(TomlDocument other);
  void set_entries(std::vector<TomlEntry> entries) { entries_ = std::move(entries); }
  /// Returns the path of the file that has the entry.
  const std::string& path_of(const TomlEntry& entry) const { return sources_[entry.source].path; }
  /// Returns the place of a key: "dtrain.toml:3:1".
  std::string place(const TomlEntry& entry) const;
  /// Returns the error "PLACE: WHY" with the entry's line and a caret under its key.
  tl::unexpected<Error> refuse(const TomlEntry& entry, std::string_view why) const;

 private:
  struct Source {
    std::string text;
    std::string path;
  };
  TomlDocument(std::string_view text, std::string_view path)
      : sources_{{std::string(text), std::string(path)}} {}

  std::vector<Source> sources_;
  std::vector<TomlEntry> entries_ = {};
};

}  // namespace dt
