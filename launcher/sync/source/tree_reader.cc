#include "launcher/sync/source/tree_reader.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/source/folder_below.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dt {

Result<TreeReader> TreeReader::open(const std::string& root) {
  Fd opened = TRY(open_tree_root(root));
  return TreeReader(std::move(opened));
}

tl::unexpected<Error> TreeReader::fail_changed() const {
  return fail(Errc::mismatch,
              format("--sync: the file '{}' changed while the tree was sent; run again",
                     printable(entry_.path)));
}

Result<> TreeReader::begin(const TreeEntry& entry) {
  entry_ = entry;
  bytes_ = 0;
  sha_ = Sha256();
  file_ = open_file_below(root_, entry.path);
  if (!file_ && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return fail_changed();
  if (!file_) return fail_errno(format("--sync: cannot read the file '{}'", printable(entry.path)));
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0)
    return fail_errno(format("--sync: cannot read the file '{}'", printable(entry.path)));
  if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) != entry.size)
    return fail_changed();
  return {};
}

Result<ByteSpan> TreeReader::read() {
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), piece_.data(), piece_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0)
    return fail_errno(format("--sync: cannot read the file '{}'", printable(entry_.path)));
  const ByteSpan piece = ByteSpan(piece_).first(static_cast<size_t>(count));
  bytes_ += piece.size();
  if (bytes_ > entry_.size) return fail_changed();
  if (!piece.empty()) {
    sha_.add(piece);
    return piece;
  }
  file_.reset();
  if (bytes_ != entry_.size || sha_.finish() != entry_.digest) return fail_changed();
  return ByteSpan();
}

}  // namespace dt
