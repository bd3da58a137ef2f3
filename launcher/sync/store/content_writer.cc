#include "launcher/sync/store/content_writer.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/store/file_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace dt {

namespace {

tl::unexpected<Error> cannot_store(const TreeEntry& entry, std::string_view where,
                                   std::string_view why) {
  return fail(Errc::os,
              format("cannot store {} on this host: {}: {}", printable(entry.path), where, why));
}

}  // namespace

Result<ContentWriter> ContentWriter::create(const TreeEntry& entry, Place place) {
  const std::string path = place.folder + "/" + place.draft;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd file(::open(path.c_str(), flags, place.mode));
  if (!file) return cannot_store(entry, place.folder, errno_text(errno));
  return ContentWriter(entry, std::move(place), std::move(file));
}

ContentWriter::~ContentWriter() {
  if (file_) ::unlink(path_of(place_.draft).c_str());
}

Result<> ContentWriter::write(ByteSpan bytes) {
  if (bytes.size() > entry_.size - received_) {
    return fail(Errc::protocol, format("more than the {} bytes of {} arrived", entry_.size,
                                       printable(entry_.path)));
  }
  received_ += bytes.size();
  hash_.add(bytes);
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_store(entry_, place_.folder, errno_text(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<> ContentWriter::commit() {
  if (received_ != entry_.size || hash_.finish() != entry_.digest) {
    return fail(Errc::protocol,
                format("{} arrived with another content than its tree has: {} of {} bytes, or "
                       "another SHA-256; run again",
                       printable(entry_.path), received_, entry_.size));
  }
  const Result<> flushed = flush_if_remote(file_.get());
  if (!flushed) return cannot_store(entry_, place_.folder, flushed.error().message);
  const std::string path = path_of(place_.whole);
  const bool named =
      place_.draft == place_.whole || std::rename(path_of(place_.draft).c_str(), path.c_str()) == 0;
  if (!named) return cannot_store(entry_, path, errno_text(errno));
  file_.reset();
  return {};
}

}  // namespace dt
