#include "launcher/kept/job_logs.h"

#include "base/bytes.h"
#include "base/format.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace dt {
namespace {

constexpr size_t chunk_bytes = size_t{64} << 10;

/// Returns the offset of the first byte behind a hole at the file's front; `size` when there is
/// none.
uint64_t first_data(int file, uint64_t size) {
  const off_t found = ::lseek(file, 0, SEEK_DATA);
  if (found < 0) return errno == ENXIO ? size : 0;
  return static_cast<uint64_t>(found);
}

uint64_t size_of(int file) {
  struct stat about = {};
  return ::fstat(file, &about) < 0 ? 0 : static_cast<uint64_t>(about.st_size);
}

}  // namespace

uint64_t tail_offset(int file, uint64_t from, uint64_t size, int64_t lines) {
  std::array<std::byte, chunk_bytes> buffer = {};
  uint64_t end = size;
  int64_t found = 0;
  while (end > from) {
    const uint64_t begin = end - std::min<uint64_t>(end - from, buffer.size());
    const auto bytes = std::span(buffer).first(end - begin);
    if (!read_all_at(file, begin, bytes)) return from;
    for (uint64_t at = end; at > begin; --at) {
      const bool ends_line = bytes[at - begin - 1] == std::byte{'\n'};
      // The end of the last line begins none.
      if (ends_line && at < size && ++found == lines) return at;
    }
    end = begin;
  }
  return lines == 0 ? size : from;
}

void JobLogs::add(const std::vector<LogFile>& files) {
  for (const LogFile& file : files) {
    const bool known = std::ranges::any_of(
        readers_, [&file](const Reader& reader) { return reader.file.path == file.path; });
    const bool terminal = file.of_error ? options_.err_terminal : options_.out_terminal;
    if (!known) readers_.push_back({.file = file, .tagger = LineTagger(file.tag, terminal)});
  }
}

Result<> JobLogs::begin(Reader& reader) {
  reader.opened = Fd(::open(reader.file.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!reader.opened) return {};
  const int file = reader.opened.get();
  const uint64_t size = size_of(file);
  const uint64_t front = first_data(file, size);
  reader.offset = options_.tail ? tail_offset(file, front, size, *options_.tail) : front;
  if (front == 0 || reader.offset != front) return {};
  return write_(true, format("dtrain: {}: the oldest {} bytes were dropped (--keep-output)\n",
                             reader.file.path, front));
}

Result<bool> JobLogs::read_on(Reader& reader) {
  if (!reader.opened) TRY(begin(reader));
  if (!reader.opened) return false;
  const int file = reader.opened.get();
  const uint64_t size = size_of(file);
  // The file has been emptied, where the file system makes no holes.
  if (size < reader.offset) reader.offset = 0;
  if (size == reader.offset) return false;
  std::array<std::byte, chunk_bytes> buffer = {};
  // A reader that is far behind finds a hole where it would continue.
  const off_t data = ::lseek(file, static_cast<off_t>(reader.offset), SEEK_DATA);
  if (data > 0) reader.offset = static_cast<uint64_t>(data);
  const auto bytes =
      std::span(buffer).first(std::min<uint64_t>(size - reader.offset, buffer.size()));
  TRY(read_all_at(file, reader.offset, bytes));
  reader.offset += bytes.size();
  std::string lines;
  reader.tagger.add(as_text(bytes), lines);
  TRY(write_(reader.file.of_error, lines));
  return true;
}

Result<bool> JobLogs::show_new() {
  bool any = false;
  for (Reader& reader : readers_) {
    // A file is shown to its end at first: lines of one task stand together then.
    const bool is_new = !reader.opened;
    for (;;) {
      const bool more = TRY(read_on(reader));
      any = any || more;
      if (!more || !is_new) break;
    }
  }
  return any;
}

Result<> JobLogs::finish() {
  for (Reader& reader : readers_) {
    std::string lines;
    reader.tagger.end(lines);
    TRY(write_(reader.file.of_error, lines));
  }
  return {};
}

}  // namespace dt
