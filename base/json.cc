#include "base/json.h"

#include "base/format.h"
#include "base/text.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace dt {

namespace {

using Document = nlohmann::ordered_json;

Document to_document(const Json& json) {
  return std::visit(
      [](const auto& value) -> Document {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Json::Array>) {
          Document array = Document::array();
          for (const Json& item : value)
            array.push_back(to_document(item));
          return array;
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          Document object = Document::object();
          for (const auto& [name, member] : value)
            object[name] = to_document(member);
          return object;
        } else {
          return value;
        }
      },
      json.value());
}

Json from_document(const Document& document) {
  switch (document.type()) {
    case Document::value_t::boolean:
      return document.get<bool>();
    case Document::value_t::number_unsigned:
      if (document.get<uint64_t>() > std::numeric_limits<int64_t>::max()) {
        return document.get<double>();
      }
      return document.get<int64_t>();
    case Document::value_t::number_integer:
      return document.get<int64_t>();
    case Document::value_t::number_float:
      return document.get<double>();
    case Document::value_t::string:
      return document.get<std::string>();
    case Document::value_t::array: {
      Json::Array array;
      for (const Document& item : document)
        array.push_back(from_document(item));
      return array;
    }
    case Document::value_t::object: {
      Json::Object object;
      for (const auto& [name, member] : document.items()) {
        object.emplace_back(name, from_document(member));
      }
      return object;
    }
    default:
      return {};
  }
}

/// The code point of a valid UTF-8 sequence of at most three bytes.
unsigned code_point(std::string_view sequence) {
  unsigned code = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() > 1) code &= sequence.size() == 2 ? 0x1FU : 0x0FU;
  for (const char next : sequence.substr(1))
    code = code << 6U | (static_cast<unsigned char>(next) & 0x3FU);
  return code;
}

/// Escapes DEL, C1 controls and characters that change the direction of text. JSON allows them, but
/// they can mislead a reader at a terminal. All of them are in strings: outside, the only control
/// character is the end of a line.
std::string with_escaped_controls(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const auto lead = static_cast<unsigned char>(json.front());
    size_t length = json.front() == '\n' ? 1 : printable_length(json);
    if (length > 0) {
      escaped += json.substr(0, length);
    } else {
      length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : 3;
      escaped += format("\\u{:04x}", code_point(json.substr(0, length)));
    }
    json.remove_prefix(length);
  }
  return escaped;
}

}  // namespace

const Json* Json::find(std::string_view name) const {
  const auto* object = as<Object>();
  if (object == nullptr) return nullptr;
  for (const auto& [key, member] : *object) {
    if (key == name) return &member;
  }
  return nullptr;
}

std::string Json::text(int indent) const {
  return with_escaped_controls(
      to_document(*this).dump(indent, ' ', false, Document::error_handler_t::replace));
}

Result<Json> Json::parse(std::string_view text) {
  constexpr int depth_max = 64;
  const auto bounded = [](int depth, Document::parse_event_t, Document&) {
    if (depth > depth_max) throw std::length_error("nested too deeply");
    return true;
  };
  try {
    return from_document(Document::parse(text, bounded));
  } catch (const std::exception& error) {
    return fail(Errc::input, format("not JSON: {}", printable(error.what(), 300)));
  }
}

}  // namespace dt
