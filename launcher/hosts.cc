#include "launcher/hosts.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/host_name.h"

#include <algorithm>
#include <map>

namespace dt {
namespace {

/// Where a text stands, to name the place of any part of it: "-H" or "hosts:3:9".
class Place {
 public:
  Place(std::string_view source, std::string_view text, size_t line = 0)
      : source_(source), text_(text), line_(line) {}

  /// Of a part of the text, counted from 1.
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
  size_t line_;
};

Result<int> parse_slots(std::string_view text, std::string_view host, const Place& place) {
  const bool number =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const std::optional<int64_t> slots = number ? parse_integer(text) : std::nullopt;
  if (slots && *slots >= 1 && *slots <= slots_max) return static_cast<int>(*slots);
  const std::string got = number ? printable(text) : format("\"{}\"", printable(text));
  return place.refuse(
      text, format("host \"{}\": slots must be 1..{}, got {}", printable(host), slots_max, got));
}

/// The rest of an entry behind its user: a name or a bracketed address, and ":slots" as written.
struct NameAndSlots {
  std::string_view name;
  std::optional<std::string_view> slots;
};

Result<NameAndSlots> split_bracketed(std::string_view text, const Place& place) {
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

Result<NameAndSlots> split_plain(std::string_view text, const Place& place) {
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

/// One `[user@]host[:slots]`.
Result<Host> parse_entry(std::string_view text, const Place& place) {
  Host host;
  std::string_view rest = text;
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    if (const auto fault = user_name_fault(user)) {
      return place.refuse(user.substr(fault->offset), fault->message);
    }
    host.user = user;
    rest = text.substr(at + 1);
  }
  const bool bracketed = rest.starts_with('[');
  const NameAndSlots parts =
      TRY(bracketed ? split_bracketed(rest, place) : split_plain(rest, place));
  if (!bracketed) {
    if (const auto fault = host_name_fault(parts.name)) {
      return place.refuse(parts.name.substr(fault->offset),
                          format("{} (in \"{}\")", fault->message, printable(text)));
    }
  }
  host.name = parts.name;
  if (parts.slots) host.slots = TRY(parse_slots(*parts.slots, parts.name, place));
  return host;
}

/// Gathers hosts in the order of their first mention; slots of later mentions are added.
class Merger {
 public:
  /// `why_not` is empty, or says why `host` cannot join those gathered.
  std::string add(Host host, const std::string& key) {
    const auto [found, fresh] = by_key_.try_emplace(key, list_.size());
    if (fresh) {
      list_.push_back({std::move(host), 1});
      return list_.size() > hosts_max ? format("more than {} hosts", hosts_max) : "";
    }
    Entry& entry = list_[found->second];
    ++entry.mentions;
    return join(entry.host, host);
  }

  HostList finish(std::string_view source) && {
    HostList result;
    for (Entry& entry : list_) {
      if (entry.mentions > 1) {
        const std::string times =
            entry.mentions == 2 ? "twice" : format("{} times", entry.mentions);
        result.warnings.push_back(format("{}: host \"{}\" given {}; merged to {} slots", source,
                                         entry.host.name, times, entry.host.slots));
      }
      result.hosts.push_back(std::move(entry.host));
    }
    return result;
  }

 private:
  struct Entry {
    Host host;
    int mentions = 0;
  };

  static std::string join(Host& into, const Host& host) {
    if (into.user != host.user) {
      return format("host \"{}\" is given with user \"{}\" and with user \"{}\"; use one of them",
                    into.name, into.user, host.user);
    }
    if (into.slots == 0 || host.slots == 0) {
      return format("host \"{0}\" is given twice, but not always with slots; write {0}:N once",
                    into.name);
    }
    into.slots += host.slots;
    if (into.slots <= slots_max) return "";
    return format("host \"{}\": slots must be 1..{}, got {} in all", into.name, slots_max,
                  into.slots);
  }

  std::vector<Entry> list_;
  std::map<std::string, size_t> by_key_;
};

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

/// `host[:slots]` or `host slots=N`; the line has at least one word.
Result<Host> parse_line(const std::vector<std::string_view>& words, const Place& place) {
  Host host = TRY(parse_entry(words[0], place));
  for (const std::string_view word : std::span(words).subspan(1)) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (key != "slots" || equals == std::string_view::npos) {
      return place.refuse(word, format("expected slots=N, got \"{}\"", printable(word)));
    }
    if (host.slots != 0) return place.refuse(word, "slots are given twice on this line");
    host.slots = TRY(parse_slots(word.substr(equals + 1), host.name, place));
  }
  return host;
}

}  // namespace

std::string Host::text() const {
  const bool bracketed = name.find(':') != std::string::npos;
  return (user.empty() ? "" : user + "@") + (bracketed ? "[" + name + "]" : name) +
         (slots == 0 ? "" : format(":{}", slots));
}

Result<HostList> parse_host_list(std::string_view text, std::string_view option) {
  const Place place(option, text);
  if (trim(text).empty()) {
    return place.refuse(text,
                        "empty host list; expected HOST[:SLOTS],… for example node1:4,node2:4");
  }
  Merger merger;
  size_t position = 0;
  for (const std::string_view entry : split(text, ',')) {
    ++position;
    if (entry.empty()) {
      const std::string_view before = text.substr(0, place.column(entry) - 1);
      return place.refuse(
          entry, format("empty entry at position {}{}", position,
                        before.empty() ? "" : format(" (after \"{}\")", printable(before))));
    }
    Host host = TRY(parse_entry(entry, place));
    const std::string key = canonical_host(host.name);
    const std::string why_not = merger.add(std::move(host), key);
    if (!why_not.empty()) return place.refuse(entry, why_not);
  }
  return std::move(merger).finish(option);
}

Result<HostList> parse_hostfile(std::string_view text, std::string_view path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  TRY(check_text(text, path));
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  Merger merger;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const Place place(path, line, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    Host host = TRY(parse_line(words, place));
    const std::string key = canonical_host(host.name);
    const std::string why_not = merger.add(std::move(host), key);
    if (!why_not.empty()) return place.refuse(words[0], why_not);
  }
  HostList list = std::move(merger).finish(path);
  if (list.hosts.empty()) {
    return fail(Errc::input,
                format("{}: no hosts in this file; expected lines such as: node1 slots=4", path));
  }
  return list;
}

bool is_local(const Host& host, const std::vector<std::string>& own) {
  if (!host.user.empty()) return false;
  const std::string name = canonical_host(host.name);
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  if (name.starts_with("127.")) return false;
  return std::ranges::any_of(
      own, [&name](const std::string& mine) { return canonical_host(mine) == name; });
}

}  // namespace dt
