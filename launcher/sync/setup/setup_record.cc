#include "launcher/sync/setup/setup_record.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/atomic_file.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/setup/setup_place.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr size_t record_bytes_max = size_t{1} << 20;

}  // namespace

SetupRecord SetupRecord::read(const std::string& path) {
  SetupRecord record(path);
  const Result<std::string> text = read_text_file(path, record_bytes_max);
  if (!text) return record;
  for (const std::string_view line : split(*text, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    const std::optional<int64_t> command =
        words.size() == 2 ? parse_integer(words[0]) : std::nullopt;
    if (command && *command >= 0) record.done_[static_cast<size_t>(*command)] = words[1];
  }
  return record;
}

bool SetupRecord::has(size_t command, const Digest& files) const {
  const auto found = done_.find(command);
  return found != done_.end() && found->second == digest_digits(files);
}

Result<> SetupRecord::add(size_t command, const Digest& files) {
  done_[command] = digest_digits(files);
  return write();
}

Result<> SetupRecord::remove(size_t command) {
  if (done_.erase(command) == 0) return {};
  return write();
}

Result<> SetupRecord::write() const {
  std::string text;
  for (const auto& [command, digest] : done_)
    text += format("{} {}\n", command, digest);
  AtomicFile file = TRY(AtomicFile::create(path_));
  TRY(file.write(as_bytes(text)));
  return file.commit();
}

}  // namespace dt
