#include "launcher/console/input.h"

#include "base/format.h"
#include "launcher/console/foreground.h"
#include "launcher/protocol/message.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace dt {

namespace {

constexpr Duration background_retry = milliseconds(500);
/// The credit of a reader that has ended.
constexpr uint32_t no_reader = std::numeric_limits<uint32_t>::max();

}  // namespace

bool has_unread(int fd) {
  struct stat about = {};
  if (fstat(fd, &about) < 0) return false;
  if (S_ISREG(about.st_mode)) return ::lseek(fd, 0, SEEK_CUR) < about.st_size;
  int waiting = 0;
  const bool counts = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode);
  return counts && ::ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

InputReader::InputReader(Loop& loop, int fd, size_t readers, Handlers handlers)
    : loop_(loop), fd_(fd), handlers_(std::move(handlers)), credits_(readers, stream_window_bytes) {
}

Result<std::unique_ptr<InputReader>> InputReader::open(Loop& loop, int fd, size_t readers,
                                                       Handlers handlers) {
  std::unique_ptr<InputReader> reader(new InputReader(loop, fd, readers, std::move(handlers)));
  reader->choose_kind();
  reader->always_ready_ = !loop.watch(reader->source(), 0, [](uint32_t) {});
  reader->wait();
  return reader;
}

void InputReader::choose_kind() {
  struct stat about = {};
  if (fstat(fd_, &about) < 0) return;
  socket_ = S_ISSOCK(about.st_mode);
  // O_NONBLOCK belongs to the open file, which other processes share: we open one of our own.
  if (S_ISFIFO(about.st_mode) || isatty(fd_) != 0) {
    own_ = Fd(::open(format("/proc/self/fd/{}", fd_).c_str(),
                     O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  }
}

ssize_t InputReader::read_now(std::span<std::byte> buffer) const {
  return socket_ ? ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT)
                 : ::read(source(), buffer.data(), buffer.size());
}

uint32_t InputReader::room() const {
  const uint32_t least = *std::ranges::min_element(credits_);
  return least == no_reader ? 0 : std::min(least, stream_chunk_bytes);
}

void InputReader::wait() {
  watch_ = Watch();
  timer_ = Timer();
  if (ended_ || room() == 0) return;
  if (in_background(fd_)) {
    timer_ = loop_.after(background_retry, [this] { wait(); });
  } else if (always_ready_) {
    timer_ = loop_.after(Duration::zero(), [this] { read_some(); });
  } else if (auto watch = loop_.watch(source(), EPOLLIN, [this](uint32_t) { read_some(); })) {
    watch_ = *std::move(watch);
  }
}

void InputReader::read_some() {
  if (in_background(fd_)) {
    wait();
    return;
  }
  std::array<std::byte, stream_chunk_bytes> buffer;
  const ssize_t n = read_now(std::span(buffer).first(room()));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    wait();
    return;
  }
  if (n <= 0) {
    ended_ = true;
    handlers_.on_end();
  } else {
    for (uint32_t& credit : credits_) {
      if (credit != no_reader) credit -= static_cast<uint32_t>(n);
    }
    handlers_.on_bytes(ByteSpan(buffer).first(static_cast<size_t>(n)));
  }
  wait();
}

void InputReader::taken(size_t reader, uint32_t bytes) {
  if (credits_[reader] == no_reader) return;
  credits_[reader] += bytes;
  wait();
}

void InputReader::reader_ended(size_t reader) {
  credits_[reader] = no_reader;
  wait();
}

}  // namespace dt
