#include "base/io/stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>

namespace dt {

namespace {

constexpr size_t read_bytes = size_t{64} << 10;
/// How long the other side may be silent after a failure to write to it. Its last bytes may still
/// be on their way. A program that forwards them, as ssh does, closes its input first.
constexpr Duration silence_max = seconds(1);
/// A buffer without bytes keeps this much memory. A launcher has a Stream for each of many hosts.
constexpr size_t kept_bytes_max = size_t{16} << 10;

void free_memory(Bytes& empty) {
  if (empty.capacity() > kept_bytes_max) empty = Bytes();
}

/// write(2), but without SIGPIPE on sockets; for pipes the kernel has no such flag.
ssize_t write_quietly(int fd, ByteSpan bytes) {
  const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return n < 0 && errno == ENOTSOCK ? ::write(fd, bytes.data(), bytes.size()) : n;
}

}  // namespace

Stream::Stream(Loop& loop, Fd in, Fd out, Handlers handlers)
    : loop_(loop),
      in_fd_(std::move(in)),
      out_fd_(std::move(out)),
      handlers_(std::make_shared<Handlers>(std::move(handlers))) {
}

Result<std::unique_ptr<Stream>> Stream::open(Loop& loop, Fd in, Fd out, Handlers handlers) {
  std::unique_ptr<Stream> stream(
      new Stream(loop, std::move(in), std::move(out), std::move(handlers)));
  Stream& self = *stream;
  self.in_watch_ =
      TRY(loop.watch(self.in_fd_.get(), EPOLLIN, [&self](uint32_t events) { self.ready(events); }));
  if (self.out_fd_) {
    self.out_watch_ = TRY(
        loop.watch(self.out_fd_.get(), 0, [&self](uint32_t events) { self.out_ready(events); }));
  }
  return stream;
}

void Stream::ready(uint32_t events) {
  const std::weak_ptr<Handlers> alive = handlers_;
  if ((events & EPOLLOUT) != 0) writable();
  if (!alive.expired() && (events & ~uint32_t{EPOLLOUT}) != 0) readable();
}

void Stream::out_ready(uint32_t events) {
  if (unsent() == 0 && (events & (EPOLLERR | EPOLLHUP)) != 0) {
    fail_writing(EPIPE);
  } else {
    writable();
  }
}

void Stream::readable() {
  if (paused_ || ended_) return;
  std::array<std::byte, read_bytes> buffer;  // not cleared: most reads are short
  const ssize_t n = ::read(in_fd_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0) {
    end(Error{Errc::closed, errno_text(errno)});
    return;
  }
  if (n == 0) {
    end(std::move(write_error_));
    return;
  }
  if (write_error_) await_last_words();
  in_.insert(in_.end(), buffer.begin(), buffer.begin() + n);
  // The handler owns both during the call: it may destroy this Stream.
  const auto handlers = handlers_;
  Bytes received = std::move(in_);
  const size_t used = handlers->on_bytes(received);
  if (handlers.use_count() == 1) return;
  assert(used <= received.size());
  received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>(used));
  if (received.empty()) free_memory(received);
  in_ = std::move(received);
}

void Stream::write(ByteSpan bytes) {
  if (ended_ || closing_) return;
  drained_owed_ = handlers_->on_drained != nullptr;
  if (unsent() == 0) bytes = bytes.subspan(send_some(bytes));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  update();
  // Mostly all bytes have been sent: a timer costs less than waiting for EPOLLOUT.
  if (unsent() == 0 && drained_owed_ && !reporting_drained_) {
    reporting_drained_ = loop_.after(Duration::zero(), [this] { report_drained(); });
  }
}

void Stream::report_drained() {
  if (unsent() > 0 || closing_ || !std::exchange(drained_owed_, false)) return;
  const auto handlers = handlers_;
  handlers->on_drained();
}

size_t Stream::send_some(ByteSpan bytes) {
  size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t n = write_quietly(out_fd(), bytes.subspan(taken));
    if (n >= 0) {
      taken += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      fail_writing(errno);
      return bytes.size();
    }
  }
  return taken;
}

void Stream::writable() {
  sent_ += send_some(ByteSpan(out_).subspan(sent_));
  if (unsent() == 0) {
    out_.clear();
    free_memory(out_);
    sent_ = 0;
    if (closing_) finish_writing();
  } else if (sent_ > (size_t{1} << 20)) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  update();
  report_drained();
}

void Stream::finish_writing() {
  if (out_fd_) {
    out_watch_ = Watch();
    out_fd_.reset();
  } else {
    ::shutdown(in_fd_.get(), SHUT_WR);
  }
}

void Stream::fail_writing(int error) {
  write_error_ = Error{Errc::closed, errno_text(error)};
  closing_ = true;
  finish_writing();
  await_last_words();
}

void Stream::await_last_words() {
  last_words_ = loop_.after(silence_max, [this] {
    if (!paused_) end(std::move(write_error_));
  });
}

void Stream::pause() {
  paused_ = true;
  update();
}

void Stream::resume() {
  paused_ = false;
  update();
  if (write_error_) await_last_words();
}

void Stream::close_after_sending() {
  if (ended_ || closing_) return;
  closing_ = true;
  if (unsent() == 0) finish_writing();
  update();
}

void Stream::update() {
  if (ended_) return;
  const uint32_t in = paused_ ? 0U : uint32_t{EPOLLIN};
  const uint32_t out = unsent() > 0 ? uint32_t{EPOLLOUT} : 0U;
  if (out_fd_) {
    in_watch_.set_events(in);
    out_watch_.set_events(out);
  } else {
    in_watch_.set_events(in | out);
  }
}

void Stream::end(std::optional<Error> why) {
  ended_ = true;
  in_watch_ = Watch();
  out_watch_ = Watch();
  last_words_ = Timer();
  reporting_drained_ = Timer();
  out_.clear();
  sent_ = 0;
  const auto handlers = handlers_;
  handlers->on_end(std::move(why));
}

}  // namespace dt
