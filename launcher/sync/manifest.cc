#include "launcher/sync/manifest.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

using Kind = TreeEntry::Kind;

/// The first byte of an encoded entry. Each entry has one encoding.
enum class Form : uint8_t { file, executable, link, folder };

constexpr uint32_t manifest_mark = 0x31744d64;  // "dMt1"
constexpr size_t entry_bytes_min = sizeof(Form) + sizeof(uint32_t);

tl::unexpected<Error> refuse(const TreeEntry& entry, std::string_view why) {
  return fail(Errc::input,
              format("cannot copy the tree: its entry '{}' {}", printable(entry.path), why));
}

std::string fault_of_path(std::string_view path) {
  if (path.empty()) return "has no name";
  if (path.size() > Manifest::path_bytes_max)
    return format("has a path of {} bytes; at most {}", path.size(), Manifest::path_bytes_max);
  if (path.front() == '/') return "has an absolute path";
  if (path.find('\0') != std::string_view::npos) return "has a NUL in its path";
  for (const std::string_view part : split(path, '/')) {
    if (part.empty()) return "has an empty part in its path";
    if (part == "." || part == "..") return format("has '{}' in its path", part);
    if (part.size() > Manifest::name_bytes_max)
      return format("has a name of {} bytes; at most {}", part.size(), Manifest::name_bytes_max);
  }
  if (split(path, '/').front() == Manifest::own_folder)
    return format("lies in '{}', which belongs to dtrain", Manifest::own_folder);
  return "";
}

std::string fault_of_content(const TreeEntry& entry) {
  if (entry.kind > Kind::folder) return "is neither a file nor a link nor a folder";
  const bool file = entry.kind == Kind::file;
  if (!file && (entry.executable || entry.size != 0 || entry.digest != Digest{}))
    return "has the content of a file and is none";
  if (entry.size > Manifest::file_bytes_max)
    return format("has {} bytes; at most {}", entry.size, Manifest::file_bytes_max);
  if (entry.kind != Kind::link) return entry.target.empty() ? "" : "has a target and is no link";
  if (entry.target.empty()) return "is a link without a target";
  if (entry.target.size() > Manifest::path_bytes_max)
    return format("is a link whose target has {} bytes; at most {}", entry.target.size(),
                  Manifest::path_bytes_max);
  return entry.target.find('\0') == std::string::npos ? "" : "is a link with a NUL in its target";
}

const TreeEntry* find_entry(const Manifest& manifest, std::string_view path) {
  const auto at = std::ranges::lower_bound(manifest.entries, path, {}, [](const TreeEntry& entry) {
    return std::string_view(entry.path);
  });
  return at != manifest.entries.end() && at->path == path ? &*at : nullptr;
}

/// Returns the length of the folders that both paths begin with, with the last slash.
size_t common_folders(std::string_view one, std::string_view other) {
  const auto differ = std::ranges::mismatch(one, other);
  const auto same = static_cast<size_t>(differ.in1 - one.begin());
  const size_t slash = one.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

/// Checks that no folder above an entry is an entry itself. Requires the order of the entries: the
/// folders that an entry shares with the one before it are checked then.
Result<> check_folders(const Manifest& manifest) {
  std::string_view before;
  for (const TreeEntry& entry : manifest.entries) {
    const std::string_view path = entry.path;
    for (size_t slash = path.find('/', common_folders(path, before));
         slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      if (find_entry(manifest, path.substr(0, slash)) != nullptr)
        return refuse(entry, format("lies below '{}', which is no folder with entries",
                                    printable(path.substr(0, slash))));
    }
    before = path;
  }
  return {};
}

Result<> check_links(const Manifest& manifest) {
  const LinkTest is_link = [&](std::string_view path) {
    const TreeEntry* const entry = find_entry(manifest, path);
    return entry != nullptr && entry->kind == Kind::link;
  };
  for (const TreeEntry& entry : manifest.entries) {
    if (entry.kind != Kind::link) continue;
    const std::string escape = link_escape(entry, is_link);
    if (!escape.empty())
      return refuse(entry, format("is a link to '{}', {}", printable(entry.target), escape));
  }
  return {};
}

size_t encoded_bytes(const TreeEntry& entry) {
  constexpr size_t file_bytes = sizeof entry.size + sizeof entry.digest;
  const size_t link_bytes = sizeof(uint32_t) + entry.target.size();
  const size_t content = entry.kind == Kind::file ? file_bytes : link_bytes;
  return entry_bytes_min + entry.path.size() + (entry.kind == Kind::folder ? 0 : content);
}

void write_entry(Writer& writer, const TreeEntry& entry) {
  switch (entry.kind) {
    case Kind::file:
      writer.number(entry.executable ? Form::executable : Form::file).text(entry.path);
      writer.number(entry.size).raw(entry.digest);
      return;
    case Kind::link:
      writer.number(Form::link).text(entry.path).text(entry.target);
      return;
    case Kind::folder:
      writer.number(Form::folder).text(entry.path);
      return;
  }
}

TreeEntry read_entry(Reader& reader) {
  TreeEntry entry;
  const auto form = reader.number<Form>();
  entry.path = reader.text();
  switch (form) {
    case Form::file:
    case Form::executable: {
      entry.executable = form == Form::executable;
      entry.size = reader.number<uint64_t>();
      std::ranges::copy(reader.raw(entry.digest.size()), entry.digest.begin());
      return entry;
    }
    case Form::link:
      entry.kind = Kind::link;
      entry.target = reader.text();
      return entry;
    case Form::folder:
      entry.kind = Kind::folder;
      return entry;
  }
  reader.refuse();
  return entry;
}

}  // namespace

uint64_t Manifest::total_bytes() const {
  uint64_t total = 0;
  for (const TreeEntry& entry : entries)
    total += entry.size;
  return total;
}

std::string link_escape(std::string_view path, std::string_view target) {
  return link_escape(TreeEntry{.path = std::string(path), .target = std::string(target)},
                     [](std::string_view) { return false; });
}

std::string link_escape(const TreeEntry& link, const LinkTest& is_link) {
  if (link.target.starts_with('/')) return "which is absolute";
  std::vector<std::string_view> place = split(link.path, '/');
  place.pop_back();
  // Folders above the link are no links: only names of the target can be.
  size_t real_folders = place.size();
  for (const std::string_view part : split(link.target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      place.push_back(part);
      continue;
    }
    if (place.empty()) return "which is outside of the tree";
    for (size_t count = real_folders + 1; count <= place.size(); ++count) {
      const std::vector<std::string> names(place.begin(),
                                           place.begin() + static_cast<std::ptrdiff_t>(count));
      const std::string folder = join(names, "/");
      if (is_link(folder)) return format("which goes up from the link '{}'", printable(folder));
    }
    place.pop_back();
    real_folders = std::min(real_folders, place.size());
  }
  return "";
}

Result<> check_manifest(const Manifest& manifest) {
  if (manifest.entries.size() > Manifest::entries_max)
    return fail(Errc::input, format("cannot copy the tree: it has {} entries; at most {}",
                                    manifest.entries.size(), Manifest::entries_max));
  uint64_t total = 0;
  size_t encoded = sizeof manifest_mark + sizeof(uint32_t);
  const TreeEntry* before = nullptr;
  for (const TreeEntry& entry : manifest.entries) {
    std::string fault = fault_of_path(entry.path);
    if (fault.empty()) fault = fault_of_content(entry);
    if (!fault.empty()) return refuse(entry, fault);
    if (before != nullptr && before->path == entry.path) return refuse(entry, "is there twice");
    if (before != nullptr && before->path > entry.path) return refuse(entry, "is out of order");
    total += entry.size;
    if (total > Manifest::total_bytes_max)
      return refuse(entry, format("makes it larger than {} bytes", Manifest::total_bytes_max));
    encoded += encoded_bytes(entry);
    if (encoded > Manifest::bytes_max)
      return refuse(
          entry, format("makes the list of its paths longer than {} bytes", Manifest::bytes_max));
    before = &entry;
  }
  TRY(check_folders(manifest));
  return check_links(manifest);
}

Bytes encode(const Manifest& manifest) {
  Writer writer;
  writer.number(manifest_mark).number(static_cast<uint32_t>(manifest.entries.size()));
  for (const TreeEntry& entry : manifest.entries)
    write_entry(writer, entry);
  return writer.take();
}

Result<Manifest> decode_manifest(ByteSpan bytes) {
  if (bytes.size() > Manifest::bytes_max)
    return fail(Errc::protocol, format("the list of a tree has {} bytes; at most {}", bytes.size(),
                                       Manifest::bytes_max));
  Reader reader(bytes);
  if (reader.number<uint32_t>() != manifest_mark)
    return fail(Errc::protocol, "the list of a tree has an unknown form");
  const uint32_t count = reader.count(entry_bytes_min);
  if (count > Manifest::entries_max)
    return fail(Errc::input, format("cannot copy the tree: it has {} entries; at most {}", count,
                                    Manifest::entries_max));
  Manifest manifest;
  manifest.entries.reserve(count);
  for (uint32_t i = 0; i < count && reader.ok(); ++i)
    manifest.entries.push_back(read_entry(reader));
  TRY(reader.finish("the list of a tree"));
  TRY(check_manifest(manifest));
  return manifest;
}

}  // namespace dt
