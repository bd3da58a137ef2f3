#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/host_entry.h"
#include "launcher/config/hosts/host_merger.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/source_location.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

namespace dt {
namespace {

Result<> check_text(std::string_view text, std::string_view path) {
  size_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') ++line;
    if (byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t') continue;
    return fail(Errc::input,
                format("{}:{}: not a text file (byte 0x{:02X} at offset {})", path, line, byte, i));
  }
  return {};
}

/// A part of a line after the host's name: "slots=4".
struct Attribute {
  std::string_view word;  ///< all of it, for the place in errors
  std::string_view key;
  std::string_view value;
};

constexpr std::string_view blanks = " \t";

std::optional<Attribute> split_attribute(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  // Views into the line, also when they are empty: errors name their column.
  std::string_view value = word.substr(equals + 1);
  value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
  return Attribute{word, word.substr(0, word.find_last_not_of(blanks, equals - 1) + 1), value};
}

tl::unexpected<Error> unknown_attribute(std::string_view word, const SourceLocation& place) {
  return place.refuse(word, format("expected slots=N or max_slots=N, got \"{}\"", printable(word)));
}

Result<> set_number(int Host::*member, const Attribute& attribute, Host& host,
                    const SourceLocation& place) {
  if (host.*member != 0) {
    return place.refuse(attribute.word, format("{} are given twice on this line", attribute.key));
  }
  host.*member = TRY(parse_slots(attribute.value, attribute.key, host.name, place));
  return {};
}

Result<> set_user(const Attribute& attribute, Host& host, const SourceLocation& place) {
  if (!host.user.empty()) {
    return place.refuse(attribute.word, "the user is given twice on this line");
  }
  if (const auto fault = user_name_fault(attribute.value)) {
    return place.refuse(attribute.value.substr(fault->offset), fault->message);
  }
  host.user = attribute.value;
  return {};
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

/// Applies one attribute. Returns a warning for a known one that dtrain ignores, else an empty
/// text.
Result<std::string> apply(const Attribute& attribute, Host& host, const SourceLocation& place) {
  const std::string_view key = attribute.key;
  if (key == "ifhn") {
    return format("{}: ifhn is ignored; this version chooses no network", place.of(attribute.word));
  }
  if (is_one_of(key, {"slots", "cpu", "count"})) {
    TRY(set_number(&Host::slots, attribute, host, place));
  } else if (is_one_of(key, {"max_slots", "max-slots", "slots_max", "slots-max"})) {
    TRY(set_number(&Host::max_slots, attribute, host, place));
  } else if (is_one_of(key, {"user", "username", "user_name", "user-name"})) {
    TRY(set_user(attribute, host, place));
  } else {
    return unknown_attribute(attribute.word, place);
  }
  return "";
}

/// Joins "slots = 4" and the like to one word, as Open MPI reads it.
std::vector<std::string_view> join_at_equals(const std::vector<std::string_view>& words) {
  std::vector<std::string_view> joined;
  for (const std::string_view word : words) {
    const bool continues =
        joined.size() > 1 && (word.starts_with('=') || joined.back().ends_with('='));
    if (!continues) {
      joined.push_back(word);
      continue;
    }
    // Both are parts of one line.
    joined.back() = {joined.back().data(), word.data() + word.size()};
  }
  return joined;
}

/// Parses a line. Requires at least one word.
Result<HostList> parse_line(const std::vector<std::string_view>& words,
                            const SourceLocation& place) {
  if (words[0].starts_with('@')) {
    return place.refuse(words[0], "a hostfile cannot name another; give both: -H @FILE,@FILE");
  }
  std::vector<Host> hosts = TRY(parse_host_entry(words[0], place));
  HostList line{.hosts = std::move(hosts), .warnings = {}};
  Host like = line.hosts.front();
  for (const std::string_view word : std::span(words).subspan(1)) {
    const auto attribute = split_attribute(word);
    if (!attribute) return unknown_attribute(word, place);
    std::string warning = TRY(apply(*attribute, like, place));
    if (!warning.empty()) line.warnings.push_back(std::move(warning));
  }
  if (like.max_slots != 0 && like.slots > like.max_slots) {
    return place.refuse(words[0], format("host \"{}\" has {} slots, but max_slots={}", like.name,
                                         like.slots, like.max_slots));
  }
  for (Host& host : line.hosts) {
    like.name = host.name;
    host = like;
  }
  return line;
}

}  // namespace

Result<HostList> parse_hostfile(std::string_view text, std::string_view path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  TRY(check_text(text, path));
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  HostMerger merger;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const SourceLocation place(path, line, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto words = join_at_equals(split_words(line.substr(0, line.find('#'))));
    if (words.empty()) continue;
    HostList named = TRY(parse_line(words, place));
    TRY(merger.add(std::move(named), words[0], place));
  }
  HostList list = std::move(merger).finish(path);
  if (list.hosts.empty()) {
    return fail(Errc::input,
                format("{}: no hosts in this file; expected lines such as: node1 slots=4", path));
  }
  return list;
}

}  // namespace dt
