#include "launcher/config/hosts/hosts.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/host_entry.h"
#include "launcher/config/hosts/host_merger.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/config/hosts/source_location.h"

#include <algorithm>

namespace dt {
namespace {

/// Reads the hosts of "@FILE" in a list.
Result<HostList> read_named_file(std::string_view entry, const SourceLocation& place,
                                 const TextReader& read_text) {
  const std::string path(entry.substr(1));
  if (path.empty()) return place.refuse(entry, "expected a hostfile behind \"@\": @FILE");
  if (!read_text) return place.refuse(entry, "a hostfile cannot be named here");
  const Result<std::string> text = read_text(path);
  if (text) return parse_hostfile(*text, path);
  return place.refuse(entry,
                      format("cannot read \"{}\": {}", printable(path), text.error().message));
}

/// So many slots are rather a port: the smallest one that users choose for sshd.
constexpr int port_like_slots = 1024;

}  // namespace

std::string Host::text() const {
  const bool bracketed = name.find(':') != std::string::npos;
  return (user.empty() ? "" : user + "@") + (bracketed ? "[" + name + "]" : name) +
         (slots == 0 ? "" : format(":{}", slots));
}

Result<HostList> parse_host_list(std::string_view text, std::string_view option,
                                 const TextReader& read_text) {
  const SourceLocation place(option, text);
  if (trim(text).empty()) {
    return place.refuse(text,
                        "empty host list; expected HOST[:SLOTS],… for example node1:4,node2:4");
  }
  HostMerger merger;
  size_t position = 0;
  for (const std::string_view part : split_at_commas(text)) {
    const std::string_view entry = trim(part);
    ++position;
    if (entry.empty()) {
      const std::string_view before = text.substr(0, place.column(part) - 1);
      return place.refuse(
          part, format("empty entry at position {}{}", position,
                       before.empty() ? "" : format(" (after \"{}\")", printable(before))));
    }
    HostList named;
    if (entry.starts_with('@')) {
      named = TRY(read_named_file(entry, place, read_text));
    } else {
      named.hosts = TRY(parse_host_entry(entry, place));
      const Host& first = named.hosts.front();
      if (first.slots >= port_like_slots) {
        named.warnings.push_back(
            format("{}: \"{}\" offers {} slots; the port of sshd is given by -p PORT", option,
                   printable(entry), first.slots));
      }
    }
    TRY(merger.add(std::move(named), entry, place));
  }
  return std::move(merger).finish(option);
}

bool is_local(const Host& host, const std::vector<std::string>& own) {
  if (!host.user.empty()) return false;
  // `own` may have other spellings of the same name or address, so compare canonical forms.
  const std::string name = canonical_host(host.name);
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  if (name.starts_with("127.")) return false;
  return std::ranges::any_of(
      own, [&name](const std::string& mine) { return canonical_host(mine) == name; });
}

}  // namespace dt
