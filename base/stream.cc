#include "base/stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {
constexpr size_t read_bytes = size_t{64} << 10;

bool is_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
}

}  // namespace

Stream::Stream(Fd in, Fd out, Handlers handlers)
    : in_fd_(std::move(in)), out_fd_(std::move(out)), handlers_(std::move(handlers)) {
  socket_ = is_socket(out_fd());
}

Result<std::unique_ptr<Stream>> Stream::open(Loop& loop, Fd in, Fd out, Handlers handlers) {
  std::unique_ptr<Stream> stream(new Stream(std::move(in), std::move(out), std::move(handlers)));
  Stream& self = *stream;
  self.in_watch_ = TRY(loop.watch(self.in_fd_.get(), EPOLLIN, [&self](uint32_t events) {
    if ((events & EPOLLOUT) != 0) {
      bool gone = false;
      self.destroyed_ = &gone;
      self.writable();
      if (gone) return;
      self.destroyed_ = nullptr;
    }
    if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) self.readable();
  }));
  if (self.out_fd_) {
    self.out_watch_ =
        TRY(loop.watch(self.out_fd_.get(), 0, [&self](uint32_t) { self.writable(); }));
  }
  return stream;
}

Stream::~Stream() {
  if (destroyed_ != nullptr) *destroyed_ = true;
}

void Stream::readable() {
  if (paused_ || ended_) {
    update();
    return;
  }
  const size_t had = in_.size();
  in_.resize(had + read_bytes);
  const ssize_t n = ::read(in_fd_.get(), in_.data() + had, read_bytes);
  in_.resize(had + static_cast<size_t>(n > 0 ? n : 0));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) {
    end(Error{Errc::closed, errno_text(errno)});
    return;
  }
  if (n == 0) {
    end(std::nullopt);
    return;
  }
  bool gone = false;
  bool* const outer = destroyed_;
  destroyed_ = &gone;
  const size_t used = handlers_.on_bytes(in_);
  if (gone) {
    if (outer != nullptr) *outer = true;
    return;
  }
  destroyed_ = outer;
  in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(used));
}

void Stream::write(ByteSpan bytes) {
  if (ended_ || closing_) return;
  const bool idle = unsent() == 0;
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  if (idle) writable();
}

void Stream::writable() {
  while (unsent() > 0 && !ended_) {
    // A peer that hangs up must not raise SIGPIPE in a process that is not ours to configure.
    const ssize_t n = socket_ ? ::send(out_fd(), out_.data() + sent_, unsent(), MSG_NOSIGNAL)
                              : ::write(out_fd(), out_.data() + sent_, unsent());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      // Reading tells the owner: what the other side still said comes first.
      closing_ = true;
      out_.clear();
      sent_ = 0;
      break;
    }
    sent_ += static_cast<size_t>(n);
  }
  if (unsent() == 0) {
    out_.clear();
    sent_ = 0;
  } else if (sent_ > (size_t{1} << 20)) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  update();
  if (unsent() == 0 && closing_) {
    if (out_fd_) {
      out_watch_ = Watch();
      out_fd_.reset();
    } else {
      ::shutdown(in_fd_.get(), SHUT_WR);
    }
  } else if (unsent() == 0 && handlers_.on_drained) {
    handlers_.on_drained();
  }
}

void Stream::pause() {
  paused_ = true;
  update();
}

void Stream::resume() {
  paused_ = false;
  update();
}

void Stream::close_after_sending() {
  closing_ = true;
  if (unsent() == 0) writable();
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
  if (ended_) return;
  ended_ = true;
  in_watch_ = Watch();
  out_watch_ = Watch();
  // A copy: the handler may destroy us, and with us itself.
  const auto on_end = handlers_.on_end;
  on_end(std::move(why));
}

}  // namespace dt
