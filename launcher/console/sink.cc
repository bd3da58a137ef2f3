#include "launcher/console/sink.h"

#include "base/format.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dt {

Result<std::unique_ptr<Sink>> Sink::open(Loop& loop, int fd, std::function<void(Error)> on_broken) {
  std::unique_ptr<Sink> sink(new Sink(loop, fd, std::move(on_broken)));
  struct stat about = {};
  if (fstat(fd, &about) < 0) {
    // The descriptor was closed when dtrain started (>&-): text is dropped, without on_broken.
    sink->is_broken_ = true;
    return sink;
  }
  sink->terminal_ = isatty(fd) != 0;
  if (S_ISSOCK(about.st_mode)) {
    sink->kind_ = Kind::socket;
  } else if (S_ISFIFO(about.st_mode) || sink->terminal_) {
    sink->own_ = Fd(::open(format("/proc/self/fd/{}", fd).c_str(),
                           O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    sink->kind_ = sink->own_ ? Kind::own : Kind::shared;
  }
  return sink;
}

void Sink::write(std::string text, std::function<void()> on_written) {
  write_part(std::move(text), std::move(on_written), {});
}

void Sink::write_part(std::string text, std::function<void()> on_written, Part part) {
  if (is_broken_ || text.empty()) {
    if (on_written) on_written();
    return;
  }
  if (before_text_) before_text_();
  if (line_writer_ != nullptr && line_writer_ != part.writer) text.insert(text.begin(), '\n');
  line_writer_ = part.unfinished ? part.writer : nullptr;
  queue_.push_back({std::move(text), std::move(on_written)});
  if (!watch_) flush();
}

void Sink::forget_writers() {
  for (Piece& piece : queue_)
    piece.on_written = {};
}

ssize_t Sink::write_some(std::string_view text) {
  switch (kind_) {
    case Kind::socket:
      return ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::own:
      return ::write(own_.get(), text.data(), text.size());
    case Kind::shared:
      // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
      return ::write(fd_, text.data(), std::min<size_t>(text.size(), 4096));
    case Kind::file:
      break;
  }
  return ::write(fd_, text.data(), text.size());
}

void Sink::flush() {
  // A callback may write again; the outer call continues with that text.
  if (flushing_) return;
  flushing_ = true;
  while (!queue_.empty() && !is_broken_) {
    Piece& piece = queue_.front();
    const ssize_t n = write_some(std::string_view(piece.text).substr(offset_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      broken(errno);
      break;
    }
    offset_ += static_cast<size_t>(n);
    if (offset_ == piece.text.size()) {
      const auto on_written = std::move(piece.on_written);
      queue_.pop_front();
      offset_ = 0;
      if (on_written) on_written();
    }
    if (kind_ == Kind::shared) break;  // one write for each event of the loop
  }
  flushing_ = false;
  wait_for_room();
}

void Sink::wait_for_room() {
  if (queue_.empty()) {
    watch_ = Watch();
    return;
  }
  if (watch_) return;
  auto watch = loop_.watch(own_ ? own_.get() : fd_, EPOLLOUT, [this](uint32_t) { flush(); });
  if (watch) {
    watch_ = *std::move(watch);
  } else {
    broken(EPERM);
  }
}

void Sink::broken(int number) {
  is_broken_ = true;
  // Queued text is dropped, and its senders continue.
  const std::deque<Piece> dropped = std::exchange(queue_, {});
  offset_ = 0;
  watch_ = Watch();
  for (const Piece& piece : dropped) {
    if (piece.on_written) piece.on_written();
  }
  on_broken_(Error{number == EPIPE ? Errc::closed : Errc::os, errno_text(number)});
}

}  // namespace dt
