#include "launcher/config/hosts/host_entry.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"

#include <optional>
#include <string>

namespace dt {
namespace {

constexpr std::string_view digits = "0123456789";

/// The part of an entry after its user: names (or an address without its brackets), and slots as
/// written.
struct NameAndSlots {
  std::string_view name;
  std::optional<std::string_view> slots;
};

Result<NameAndSlots> split_bracketed(std::string_view text, const SourceLocation& place) {
  const size_t end = text.find(']');
  if (end == std::string_view::npos) {
    return place.refuse(
        text, format("missing \"]\" in \"{}\" (column {})", printable(text), place.column(text)));
  }
  const std::string_view name = text.substr(1, end - 1);
  if (!is_ipv6(name)) {
    return place.refuse(
        name, format("\"{}\" is not an IPv6 address; brackets are for those", printable(name)));
  }
  const std::string_view rest = text.substr(end + 1);
  if (rest.empty()) return NameAndSlots{name, std::nullopt};
  if (!rest.starts_with(':')) {
    return place.refuse(rest,
                        format("expected \":slots\" after \"]\", got \"{}\"", printable(rest)));
  }
  return NameAndSlots{name, rest.substr(1)};
}

Result<NameAndSlots> split_plain(std::string_view text, const SourceLocation& place) {
  const size_t last_colon = text.rfind(':');
  if (last_colon == std::string_view::npos) return NameAndSlots{text, std::nullopt};
  const std::string_view before = text.substr(0, last_colon);
  if (is_ipv6(before)) {
    return place.refuse(text, format("IPv6 literals need brackets: [{}]{}", before,
                                     printable(text.substr(last_colon))));
  }
  if (is_ipv6(text)) {
    return place.refuse(text, format("IPv6 literals need brackets: [{}]", text));
  }
  const size_t colon = text.find(':');
  return NameAndSlots{text.substr(0, colon), text.substr(colon + 1)};
}

/// True for "[::1]", an address; false for "[1-4].example.org", which begins with a range.
bool begins_with_address(std::string_view text) {
  if (!text.starts_with('[')) return false;
  const std::string_view inside = text.substr(1, text.find(']') - 1);
  return inside.empty() || inside.find_first_not_of("0123456789-,") != std::string_view::npos;
}

/// Expands the ranges, and requires that each name is valid.
Result<std::vector<std::string>> host_names(std::string_view name, std::string_view entry,
                                            const SourceLocation& place) {
  std::vector<std::string> names = TRY(expand_ranges(name, place));
  const bool written = names.size() == 1 && names[0] == name;
  for (const std::string& one : names) {
    const auto fault = host_name_fault(one);
    if (!fault) continue;
    // Names from a range are not in the text, so the error refers to the whole entry.
    return place.refuse(written ? name.substr(fault->offset) : name,
                        format("{} (in \"{}\")", fault->message, printable(entry)));
  }
  return names;
}

}  // namespace

Result<int> parse_slots(std::string_view text, std::string_view what, std::string_view host,
                        const SourceLocation& place) {
  const bool number = !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
  const std::optional<int64_t> slots = number ? parse_integer(text) : std::nullopt;
  if (slots && *slots >= 1 && *slots <= slots_max) return static_cast<int>(*slots);
  const std::string got = number ? printable(text) : format("\"{}\"", printable(text));
  return place.refuse(
      text, format("host \"{}\": {} must be 1..{}, got {}", printable(host), what, slots_max, got));
}

Result<std::vector<Host>> parse_host_entry(std::string_view text, const SourceLocation& place) {
  Host like;
  std::string_view rest = text;
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    if (const auto fault = user_name_fault(user)) {
      return place.refuse(user.substr(fault->offset), fault->message);
    }
    like.user = user;
    rest = text.substr(at + 1);
  }
  const bool address = begins_with_address(rest);
  const NameAndSlots parts = TRY(address ? split_bracketed(rest, place) : split_plain(rest, place));
  std::vector<std::string> names = {std::string(parts.name)};
  if (!address) names = TRY(host_names(parts.name, text, place));
  if (parts.slots) like.slots = TRY(parse_slots(*parts.slots, "slots", parts.name, place));
  std::vector<Host> hosts;
  for (std::string& name : names) {
    Host& host = hosts.emplace_back(like);
    host.name = std::move(name);
  }
  return hosts;
}

}  // namespace dt
