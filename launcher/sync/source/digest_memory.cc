#include "launcher/sync/source/digest_memory.h"

#include "base/format.h"
#include "base/io/atomic_file.h"
#include "base/io/file.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace dt {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t memory_mark = 0x31736467'69647464;  // "dtdigds1"
constexpr std::string_view file_end = ".digests";

std::string file_of(const std::string& folder, const std::string& root) {
  const Digest digest = sha256(as_bytes(root));
  std::string name;
  for (const std::byte byte : std::span(digest).first(16))
    name += format("{:02x}", static_cast<unsigned>(byte));
  return format("{}/{}{}", folder, name, file_end);
}

void write_known(Writer& writer, const DigestMemory::Known& known) {
  writer.text(known.path).number(known.facts.inode).number(known.facts.size);
  writer.number(known.facts.mtime_ns).number(known.facts.ctime_ns).raw(known.digest);
}

DigestMemory::Known read_known(Reader& reader) {
  DigestMemory::Known known;
  known.path = reader.text();
  known.facts.inode = reader.number<uint64_t>();
  known.facts.size = reader.number<uint64_t>();
  known.facts.mtime_ns = reader.number<int64_t>();
  known.facts.ctime_ns = reader.number<int64_t>();
  std::ranges::copy(reader.raw(known.digest.size()), known.digest.begin());
  return known;
}

/// Returns the memory in these bytes, or nothing if they are torn or of another tree.
std::vector<DigestMemory::Known> read_memory(ByteSpan bytes, const std::string& root) {
  constexpr size_t known_bytes_min = 4 + 4 * 8 + sizeof(Digest);
  if (bytes.size() < sizeof(Digest)) return {};
  const ByteSpan content = bytes.first(bytes.size() - sizeof(Digest));
  if (!std::ranges::equal(sha256(content), bytes.last(sizeof(Digest)))) return {};
  Reader reader(content);
  if (reader.number<uint64_t>() != memory_mark || reader.text() != root) return {};
  const uint32_t count = reader.count(known_bytes_min);
  std::vector<DigestMemory::Known> all;
  all.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    all.push_back(read_known(reader));
  if (!reader.finish("")) return {};
  return all;
}

/// Removes the files that were used longest ago.
void prune(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code fault;
  for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    const fs::file_time_type used = at->last_write_time(fault);
    if (!fault && at->path().string().ends_with(file_end)) files.emplace_back(used, at->path());
  }
  if (files.size() <= DigestMemory::trees_max) return;
  std::ranges::sort(files);
  files.resize(files.size() - DigestMemory::trees_max);
  for (const auto& [used, file] : files)
    fs::remove(file, fault);
}

}  // namespace

DigestMemory DigestMemory::load(const std::string& folder, const std::string& root) {
  DigestMemory memory(file_of(folder, root), root);
  const auto text = read_text_file(memory.file_, bytes_max);
  if (text) memory.known_ = read_memory(as_bytes(*text), root);
  return memory;
}

std::optional<Digest> DigestMemory::find(std::string_view path, const FileFacts& facts) const {
  const auto at = std::ranges::lower_bound(
      known_, path, {}, [](const Known& known) { return std::string_view(known.path); });
  if (at == known_.end() || at->path != path || at->facts != facts) return std::nullopt;
  return at->digest;
}

void DigestMemory::keep(const std::string& path, const FileFacts& facts, const Digest& digest,
                        WallClock::time_point hashed) {
  const std::chrono::nanoseconds changed(std::max(facts.mtime_ns, facts.ctime_ns));
  if (hashed.time_since_epoch() - changed > settling) keep_known(path, facts, digest);
}

void DigestMemory::keep_known(const std::string& path, const FileFacts& facts,
                              const Digest& digest) {
  kept_.push_back({.path = path, .facts = facts, .digest = digest});
}

Result<> DigestMemory::save() {
  std::vector<Known> kept = std::exchange(kept_, {});
  std::ranges::sort(kept, {}, &Known::path);
  if (kept == known_) {
    std::error_code fault;
    fs::last_write_time(file_, fs::file_time_type::clock::now(), fault);
    return {};
  }
  Writer writer;
  writer.number(memory_mark).text(root_).number(static_cast<uint32_t>(kept.size()));
  for (const Known& known : kept)
    write_known(writer, known);
  writer.raw(sha256(writer.view()));
  // It would not be read back.
  if (writer.view().size() > bytes_max) return {};
  known_ = std::move(kept);
  const std::string folder = fs::path(file_).parent_path().string();
  TRY(make_folders(folder));
  AtomicFile file = TRY(AtomicFile::create(file_));
  TRY(file.write(writer.view()));
  TRY(file.commit_without_sync());
  prune(folder);
  return {};
}

}  // namespace dt
