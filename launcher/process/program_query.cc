#include "launcher/process/program_query.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace dt {

namespace {

/// Returns the bytes that a pipe holds now. A pipe holds 64 KiB, so a program that prints no more
/// does not block before its end.
std::string read_available(int pipe) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < ProgramQuery::output_bytes_max) {
    pollfd readable = {.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 1 || (readable.revents & POLLIN) == 0) break;
    const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<ProgramQuery>> ProgramQuery::start(Loop& loop, ChildRequest request,
                                                          Duration patience, Done on_done) {
  Pipe pipe = TRY(make_pipe());
  request.output = pipe.write.get();
  request.error = pipe.write.get();
  request.new_session = true;
  Child child = TRY(Child::start(std::move(request)));
  std::unique_ptr<ProgramQuery> query(
      new ProgramQuery(std::move(child), std::move(pipe.read), std::move(on_done)));
  ProgramQuery& it = *query;
  it.watch_ = TRY(loop.watch(it.child_.pidfd(), EPOLLIN, [&it](uint32_t) { it.ended(); }));
  it.timer_ = loop.after(patience, [&it] {
    it.late_ = true;
    it.child_.signal_group(SIGKILL);
  });
  return query;
}

void ProgramQuery::ended() {
  watch_ = Watch();
  timer_ = Timer();
  const bool reaped = child_.reap().has_value();
  // A copy: the callback may destroy this object.
  const Done on_done = on_done_;
  on_done({.output = reaped ? read_available(output_.get()) : "", .late = late_});
}

}  // namespace dt
