#include "launcher/sync/store/file_copy.h"

#include "base/bytes.h"
#include "base/io/fd.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

namespace dt {

namespace {

constexpr size_t copy_piece_bytes = size_t{128} << 10;
constexpr uint64_t kernel_copy_bytes_max = uint64_t{1} << 30;

/// Reads at the file's position. Returns 0 at its end.
Result<size_t> read_some(int fd, std::span<std::byte> piece) {
  ssize_t count = 0;
  do {
    count = ::read(fd, piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(Errc::os, errno_text(errno));
  return static_cast<size_t>(count);
}

/// Copies by the kernel from the positions on. Returns how many bytes; fewer where it cannot.
Result<uint64_t> copy_in_kernel(int from, int to, uint64_t size) {
  uint64_t copied = 0;
  while (copied < size) {
    const auto count = static_cast<size_t>(std::min(size - copied, kernel_copy_bytes_max));
    const ssize_t n = ::copy_file_range(from, nullptr, to, nullptr, count, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
      return fail(Errc::os, errno_text(errno));
    if (n <= 0) break;
    copied += static_cast<uint64_t>(n);
  }
  return copied;
}

Result<uint64_t> copy_by_reading(int from, int to) {
  std::array<std::byte, copy_piece_bytes> piece;
  uint64_t copied = 0;
  while (true) {
    const size_t count = TRY(read_some(from, piece));
    if (count == 0) return copied;
    TRY(write_all(to, ByteSpan(piece).first(count)));
    copied += count;
  }
}

}  // namespace

Result<> FileCopier::copy(int from, int to, uint64_t size) {
  struct stat status = {};
  if (::fstat(from, &status) != 0) return fail(Errc::os, errno_text(errno));
  if (static_cast<uint64_t>(status.st_size) != size)
    return fail(Errc::not_found, "its copy here has another size");
  if (size == 0) return {};
  if (shares_blocks_ && ::ioctl(to, FICLONE, from) == 0) return {};
  if (shares_blocks_ && errno != ENOSPC && errno != EDQUOT) shares_blocks_ = false;
  uint64_t copied = 0;
  // A small file is copied faster by two calls.
  if (size > copy_piece_bytes) copied = TRY(copy_in_kernel(from, to, size));
  if (copied < size) {
    const uint64_t rest = TRY(copy_by_reading(from, to));
    copied += rest;
  }
  if (copied != size) return fail(Errc::not_found, "its copy here has another size");
  return {};
}

Result<> flush_if_remote(int fd) {
  constexpr int64_t smb2_magic = 0xFE534D42;
  constexpr int64_t cifs_magic = 0xFF534D42;
  struct statfs status = {};
  if (::fstatfs(fd, &status) != 0) return {};
  const auto type = static_cast<int64_t>(static_cast<uint32_t>(status.f_type));
  if (type != NFS_SUPER_MAGIC && type != smb2_magic && type != cifs_magic) return {};
  if (::fsync(fd) != 0) return fail(Errc::os, errno_text(errno));
  return {};
}

Result<Digest> content_digest(int fd) {
  std::array<std::byte, copy_piece_bytes> piece;
  Sha256 hash;
  while (true) {
    const size_t count = TRY(read_some(fd, piece));
    if (count == 0) return hash.finish();
    hash.add(ByteSpan(piece).first(count));
  }
}

}  // namespace dt
