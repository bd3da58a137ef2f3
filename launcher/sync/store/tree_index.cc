#include "launcher/sync/store/tree_index.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view magic = "dtrain tree index 1\n";
/// Below this size no entry is encoded.
constexpr size_t placed_bytes_min = 80;
constexpr size_t index_bytes_max = size_t{256} << 20;

void write_placed(Writer& writer, const PlacedEntry& placed) {
  const TreeEntry& entry = placed.entry;
  writer.text(entry.path).number(entry.kind).number(entry.executable).number(entry.size);
  writer.raw(entry.digest).text(entry.target);
  writer.number(placed.facts.size).number(placed.facts.inode);
  writer.number(placed.facts.mtime_ns).number(placed.facts.ctime_ns);
}

PlacedEntry read_placed(Reader& reader) {
  PlacedEntry placed;
  placed.entry.path = reader.text();
  const auto kind = reader.number<uint8_t>();
  if (kind > static_cast<uint8_t>(TreeEntry::Kind::folder)) reader.refuse();
  placed.entry.kind = static_cast<TreeEntry::Kind>(kind);
  placed.entry.executable = reader.number<bool>();
  placed.entry.size = reader.number<uint64_t>();
  const ByteSpan digest = reader.raw(placed.entry.digest.size());
  std::ranges::copy(digest, placed.entry.digest.begin());
  placed.entry.target = reader.text();
  placed.facts.size = reader.number<uint64_t>();
  placed.facts.inode = reader.number<uint64_t>();
  placed.facts.mtime_ns = reader.number<int64_t>();
  placed.facts.ctime_ns = reader.number<int64_t>();
  return placed;
}

}  // namespace

Bytes encode(const TreeIndex& index) {
  Writer writer;
  writer.raw(as_bytes(magic)).number(static_cast<uint32_t>(index.placed.size()));
  for (const PlacedEntry& placed : index.placed)
    write_placed(writer, placed);
  const Digest digest = sha256(writer.view());
  writer.raw(digest);
  return writer.take();
}

Result<TreeIndex> decode_tree_index(ByteSpan bytes) {
  const auto cut = [] { return fail(Errc::protocol, "the index of a tree is cut"); };
  if (bytes.size() < magic.size() + sizeof(Digest)) return cut();
  const ByteSpan content = bytes.first(bytes.size() - sizeof(Digest));
  const Digest digest = sha256(content);
  if (!std::ranges::equal(digest, bytes.last(sizeof(Digest)))) return cut();
  if (!as_text(content).starts_with(magic)) return cut();
  Reader reader(content.subspan(magic.size()));
  TreeIndex index;
  const uint32_t count = reader.count(placed_bytes_min);
  index.placed.reserve(count);
  for (uint32_t i = 0; i < count && reader.ok(); ++i)
    index.placed.push_back(read_placed(reader));
  TRY(reader.finish("the index of a tree"));
  return index;
}

TreeIndex read_tree_index(const std::string& path) {
  const Result<std::string> text = read_text_file(path, index_bytes_max);
  if (!text) return {};
  Result<TreeIndex> index = decode_tree_index(as_bytes(*text));
  return index ? *std::move(index) : TreeIndex{};
}

Result<> write_tree_index(const std::string& path, const TreeIndex& index) {
  const std::string draft = path + ".new";
  const auto cannot = [&](std::string_view why) {
    return fail(Errc::os, format("cannot write {}: {}", printable_path(path), why));
  };
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return cannot(errno_text(errno));
  const Result<> written = write_all(file.get(), encode(index));
  if (!written) return cannot(written.error().message);
  file.reset();
  if (std::rename(draft.c_str(), path.c_str()) != 0) return cannot(errno_text(errno));
  return {};
}

TreeIndex merged(TreeIndex a, const TreeIndex& b) {
  TreeIndex both;
  both.placed.reserve(a.placed.size() + b.placed.size());
  const auto path = [](const PlacedEntry& placed) -> const std::string& {
    return placed.entry.path;
  };
  std::ranges::merge(std::move(a.placed), b.placed, std::back_inserter(both.placed), {}, path,
                     path);
  const auto repeated = std::ranges::unique(both.placed);
  both.placed.erase(repeated.begin(), repeated.end());
  return both;
}

}  // namespace dt
