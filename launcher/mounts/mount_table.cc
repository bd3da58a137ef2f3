#include "launcher/mounts/mount_table.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <algorithm>

namespace dt {
namespace {

constexpr size_t table_bytes_max = size_t{16} << 20;

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

/// Replaces \040 and the like: the kernel writes blanks, tabs, newlines and backslashes so.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, 3);
    if (text[at] != '\\' || digits.size() < 3 || !std::ranges::all_of(digits, is_octal)) {
      plain += text[at];
      continue;
    }
    plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    at += 3;
  }
  return plain;
}

bool is_at_or_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string joined(std::string_view folder, std::string_view below) {
  const std::string_view base = folder == "/" ? "" : folder;
  return below.empty() || below == "/" ? std::string(folder) : format("{}{}", base, below);
}

}  // namespace

MountTable parse_mount_table(std::string_view text) {
  MountTable table;
  for (const std::string_view line : split(text, '\n')) {
    // 36 35 98:0 /root /place rw,noatime master:1 … - type source options
    const size_t middle = line.find(" - ");
    if (middle == std::string_view::npos) continue;
    const auto front = split(line.substr(0, middle), ' ');
    const auto back = split(line.substr(middle + 3), ' ');
    constexpr size_t front_min = 6;
    const auto id = parse_integer(front.front());
    if (front.size() < front_min || back.size() < 2 || !id) continue;
    table.push_back({.id = static_cast<uint64_t>(*id),
                     .root = unescaped(front[3]),
                     .place = unescaped(front[4]),
                     .type = unescaped(back[0]),
                     .source = unescaped(back[1])});
  }
  return table;
}

Result<MountTable> own_mount_table() {
  const auto text = read_text_file("/proc/self/mountinfo", table_bytes_max);
  if (!text) {
    return fail(Errc::os,
                format("{}; mounts need /proc, to be found and checked", text.error().message));
  }
  return parse_mount_table(*text);
}

std::optional<std::string> place_of_export(const MountTable& table, const NfsExport& wanted) {
  std::optional<std::string> place;
  size_t longest = 0;
  for (const MountEntry& entry : table) {
    if (entry.type != "nfs" && entry.type != "nfs4") continue;
    const size_t colon = entry.source.rfind(":/");
    if (colon == std::string::npos || entry.source.substr(0, colon) != wanted.server) continue;
    const auto exported = plain_path(std::string_view(entry.source).substr(colon + 1));
    if (!exported) continue;
    const std::string seen = joined(*exported, entry.root);
    if (!is_at_or_below(wanted.path, seen) || seen.size() < longest) continue;
    longest = seen.size();
    const std::string_view rest =
        std::string_view(wanted.path).substr(seen == "/" ? 0 : seen.size());
    place = joined(entry.place, rest);
  }
  return place;
}

std::vector<std::string> places_below(const MountTable& table, const std::string& folder) {
  std::vector<std::string> places = {folder};
  for (const MountEntry& entry : table) {
    if (entry.place != folder && is_at_or_below(entry.place, folder)) places.push_back(entry.place);
  }
  return places;
}

bool is_mounted_at(const MountTable& table, std::string_view folder) {
  return std::ranges::find(table, folder, &MountEntry::place) != table.end();
}

}  // namespace dt
