#include "launcher/console/sink.h"

#include "tests/unit/launcher/console/sink_fixture.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

namespace dt {
namespace {

struct Fixture : SinkFixture {
  int broken = 0;

  std::unique_ptr<Sink> open(int fd) {
    return Sink::open(*loop, fd, [this](const Error&) { ++broken; }).value();
  }
};

TEST_CASE_FIXTURE(Fixture, "Sink: a full pipe never blocks, and its descriptor stays blocking") {
  Pipe pipe = make_pipe().value();
  const auto sink = open(pipe.write.get());
  const std::string text(size_t{1} << 20, 'x');
  write(*sink, text);
  CHECK_FALSE(sink->drained());
  CHECK(written == 0);
  // Other processes share the open file: it must still be blocking.
  CHECK((fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK(read(pipe.read.get(), text.size()) == text);
  CHECK(sink->drained());
  CHECK(written == 1);
}

TEST_CASE_FIXTURE(Fixture, "Sink: a socket is written without blocking too") {
  SocketPair pair = make_socketpair().value();
  const auto sink = open(pair.ours.get());
  const std::string text(size_t{4} << 20, 'y');
  write(*sink, text);
  CHECK_FALSE(sink->drained());
  CHECK(read(pair.theirs.get(), text.size()) == text);
  CHECK(written == 1);
}

TEST_CASE_FIXTURE(Fixture, "Sink: files take everything at once, in order") {
  const TemporaryFolder folder;
  const Fd file(::open((folder.path() + "/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto sink = open(file.get());
  write(*sink, "one\n");
  write(*sink, "two\n");
  CHECK(sink->drained());
  CHECK(written == 2);
  CHECK(folder.read("file") == "one\ntwo\n");
}

TEST_CASE_FIXTURE(Fixture, "Sink: the hook before each text may write itself") {
  const TemporaryFolder folder;
  const Fd file(::open((folder.path() + "/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto sink = open(file.get());
  bool first = true;
  sink->before_text([&] {
    if (std::exchange(first, false)) write(*sink, "before\n");
  });
  write(*sink, "one\n");
  write(*sink, "two\n");
  sink->before_text({});
  write(*sink, "three\n");
  CHECK(folder.read("file") == "before\none\ntwo\nthree\n");
}

TEST_CASE_FIXTURE(Fixture, "Sink: without a reader text is dropped, and that is reported once") {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  Pipe pipe = make_pipe().value();
  const auto sink = open(pipe.write.get());
  pipe.read.reset();
  write(*sink, "a");
  write(*sink, "b");
  CHECK(broken == 1);
  CHECK(written == 2);
  CHECK(sink->drained());
  const timespec none = {};
  sigtimedwait(&pipe_signal, nullptr, &none);
  pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

TEST_CASE_FIXTURE(Fixture, "Sink: a reader that leaves later releases the waiting writers") {
  SocketPair pair = make_socketpair().value();
  const auto sink = open(pair.ours.get());
  write(*sink, std::string(size_t{4} << 20, 'z'));
  write(*sink, "more");
  pair.theirs.reset();
  const Time deadline = Clock::now() + seconds(10);
  while (broken == 0 && Clock::now() < deadline)
    CHECK(loop->run_once(deadline).has_value());
  CHECK(broken == 1);
  CHECK(written == 2);
}

TEST_CASE_FIXTURE(Fixture, "Sink: a stream that was closed at the start drops text") {
  const auto sink = open(-1);
  write(*sink, "a");
  CHECK(written == 1);
  CHECK(broken == 0);
}

}  // namespace
}  // namespace dt
