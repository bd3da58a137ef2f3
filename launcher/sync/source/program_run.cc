#include "launcher/sync/source/program_run.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/process/executable.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

/// A text that grows to `bytes_max`; more is dropped.
struct BoundedText {
  std::string& text;
  size_t bytes_max = 0;
};

/// Reads all that a pipe has now, and closes it at its end.
Result<> drain(Fd& pipe, const BoundedText& into) {
  std::array<char, size_t{64} << 10> piece;
  while (pipe) {
    const ssize_t count = ::read(pipe.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return {};
    if (count < 0) return fail_errno("cannot read a program's output");
    if (count == 0) pipe.reset();
    const size_t room = into.bytes_max - std::min(into.bytes_max, into.text.size());
    into.text.append(piece.data(), std::min(static_cast<size_t>(count), room));
    // A program that prints without end must not keep us here.
    if (room == 0) return {};
  }
  return {};
}

}  // namespace

Result<ProgramRun> ProgramRun::start(Request request) {
  const auto path = request.environment.find("PATH");
  const std::string file =
      TRY(find_executable(request.command.front(),
                          path == request.environment.end() ? "" : path->second, request.folder));
  Pipe output = TRY(make_pipe());
  Pipe messages = TRY(make_pipe());
  TRY(set_nonblocking(output.read.get()));
  TRY(set_nonblocking(messages.read.get()));
  ChildRequest wanted;
  wanted.path = file;
  wanted.arguments = request.command;
  wanted.environment = environment_entries(request.environment);
  wanted.cwd = request.folder;
  wanted.output = output.write.get();
  wanted.error = messages.write.get();
  // No terminal: a program that asks there would wait for an answer that never comes.
  wanted.new_session = !request.joins_group;
  wanted.joins_group = request.joins_group;
  Child child = TRY(Child::start(std::move(wanted)));
  ProgramRun run(std::move(child), std::move(request));
  run.output_ = std::move(output.read);
  run.messages_ = std::move(messages.read);
  return run;
}

ProgramRun::~ProgramRun() {
  if (running_ && output_) static_cast<void>(child_.kill());
}

Result<> ProgramRun::read_output(ProgramEnd& end) {
  const Time deadline = Clock::now() + request_.patience;
  const std::string shown = printable(join(request_.command, " "));
  // A process that the program leaves behind may hold the pipes open: so its end counts.
  for (bool ended = false; !ended;) {
    std::array<pollfd, 3> ready = {pollfd{.fd = child_.pidfd(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = output_.get(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = messages_.get(), .events = POLLIN, .revents = 0}};
    const int count = ::poll(ready.data(), ready.size(), poll_ms(Clock::now(), deadline));
    if (count < 0 && errno != EINTR) return fail_errno("cannot wait for a program");
    if (count == 0 && Clock::now() >= deadline)
      return fail(Errc::timeout,
                  format("'{}' did not end within {}", shown, duration_text(request_.patience)));
    ended = count > 0 && ready[0].revents != 0;
    TRY(drain(output_, {.text = end.output, .bytes_max = request_.output_bytes_max + 1}));
    TRY(drain(messages_, {.text = end.messages, .bytes_max = ProgramEnd::messages_bytes_max}));
    if (end.output.size() > request_.output_bytes_max)
      return fail(Errc::input,
                  format("'{}' printed more than {} bytes", shown, request_.output_bytes_max));
  }
  return {};
}

Result<ProgramEnd> ProgramRun::finish() {
  ProgramEnd end;
  const auto read = read_output(end);
  running_ = false;
  if (!read) {
    static_cast<void>(child_.kill());
    return tl::unexpected(read.error());
  }
  const auto executed = child_.executed();
  end.status = TRY(child_.reap());
  if (executed && !*executed) return tl::unexpected(executed->error());
  return end;
}

}  // namespace dt
