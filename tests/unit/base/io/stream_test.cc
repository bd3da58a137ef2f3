#include "base/io/stream.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace dt {
namespace {

/// A stream over one end of a socket pair, or of two pipes, and the raw other end.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::unique_ptr<Stream> stream;
  Fd peer_in;   ///< receives what the stream wrote
  Fd peer_out;  ///< empty: the same descriptor
  std::string received;
  int drained = 0;
  int ends = 0;
  std::optional<Error> why;

  Stream::Handlers handlers() {
    return {.on_bytes =
                [this](ByteSpan bytes) {
                  received += as_text(bytes);
                  return bytes.size();
                },
            .on_end =
                [this](std::optional<Error> error) {
                  ++ends;
                  why = std::move(error);
                },
            .on_drained = [this] { ++drained; }};
  }
  void open_socket(Stream::Handlers handlers) {
    SocketPair pair = make_socketpair().value();
    REQUIRE(set_nonblocking(pair.ours.get()));
    peer_in = std::move(pair.theirs);
    stream = Stream::open(*loop, std::move(pair.ours), Fd(), std::move(handlers)).value();
  }
  void open_pipes(Stream::Handlers handlers) {
    Pipe in = make_pipe().value();
    Pipe out = make_pipe().value();
    REQUIRE(set_nonblocking(in.read.get()));
    REQUIRE(set_nonblocking(out.write.get()));
    peer_out = std::move(in.write);
    peer_in = std::move(out.read);
    stream =
        Stream::open(*loop, std::move(in.read), std::move(out.write), std::move(handlers)).value();
  }
  void peer_writes(std::string_view text) const {
    REQUIRE(write_all(peer_out ? peer_out.get() : peer_in.get(), as_bytes(text)));
  }
  std::string peer_reads(size_t size) const {
    std::string text(size, '\0');
    for (size_t had = 0; had < size;) {
      const ssize_t n = ::read(peer_in.get(), text.data() + had, size - had);
      REQUIRE(n >= 0);
      if (n == 0) return text.substr(0, had);
      had += static_cast<size_t>(n);
    }
    return text;
  }
  /// How many handlers run in rounds without waiting: this shows a busy loop.
  void glance(int rounds = 5) const {
    for (int i = 0; i < rounds; ++i)
      REQUIRE(loop->run_once(Clock::now()));
  }
};

const std::string megabytes(size_t{4} << 20, 'm');

TEST_CASE("bytes arrive both ways, over one descriptor or two") {
  for (const bool pipes : {false, true}) {
    CAPTURE(pipes);
    Fixture f;
    pipes ? f.open_pipes(f.handlers()) : f.open_socket(f.handlers());
    f.peer_writes("hello");
    run_until(*f.loop, [&] { return f.received == "hello"; });
    f.stream->write(as_bytes("world"));
    CHECK(f.peer_reads(5) == "world");
  }
}

TEST_CASE("what on_bytes does not use stays in front of what comes next") {
  Fixture f;
  auto handlers = f.handlers();
  handlers.on_bytes = [&f](ByteSpan bytes) {
    f.received = as_text(bytes);
    return f.received.ends_with("!") ? bytes.size() : size_t{1};
  };
  f.open_socket(std::move(handlers));
  f.peer_writes("abc");
  run_until(*f.loop, [&] { return f.received == "abc"; });
  CHECK(f.stream->unread() == 2);
  f.peer_writes("!");
  run_until(*f.loop, [&] { return f.received == "bc!"; });
  CHECK(f.stream->unread() == 0);
}

TEST_CASE("what the kernel does not take at once is queued and leaves in order") {
  for (const bool pipes : {false, true}) {
    CAPTURE(pipes);
    Fixture f;
    pipes ? f.open_pipes(f.handlers()) : f.open_socket(f.handlers());
    f.stream->write(as_bytes(megabytes));
    f.stream->write(as_bytes("end"));
    CHECK(f.stream->unsent() > 0);
    CHECK(f.drained == 0);
    REQUIRE(set_nonblocking(f.peer_in.get()));
    std::string all;
    run_until(*f.loop, [&] {
      char buffer[65536];
      for (ssize_t n = 0; (n = ::read(f.peer_in.get(), buffer, sizeof buffer)) > 0;)
        all.append(buffer, static_cast<size_t>(n));
      return f.drained > 0;
    });
    CHECK(f.drained == 1);
    CHECK(f.stream->unsent() == 0);
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(f.peer_in.get(), buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<size_t>(n));
    CHECK(all == megabytes + "end");
  }
}

TEST_CASE("on_drained comes from the loop, never from within write") {
  Fixture f;
  f.open_socket(f.handlers());
  f.stream->write(as_bytes("a"));
  CHECK(f.stream->unsent() == 0);
  CHECK(f.drained == 0);
  run_until(*f.loop, [&] { return f.drained == 1; });
  f.glance();
  CHECK(f.drained == 1);
}

TEST_CASE("on_drained may write again, many times") {
  Fixture f;
  auto handlers = f.handlers();
  handlers.on_drained = [&f] {
    if (++f.drained < 50) f.stream->write(as_bytes("x"));
  };
  f.open_socket(std::move(handlers));
  f.stream->write(as_bytes("x"));
  run_until(*f.loop, [&] { return f.drained == 50; });
  CHECK(f.peer_reads(50) == std::string(50, 'x'));
}

TEST_CASE("each handler may destroy the stream and still use what it captured") {
  const auto mark = std::make_shared<std::string>("alive");
  SUBCASE("on_bytes") {
    Fixture f;
    auto handlers = f.handlers();
    handlers.on_bytes = [&f, mark](ByteSpan bytes) {
      f.stream.reset();
      f.received = *mark + std::string(as_text(bytes));
      return bytes.size();
    };
    f.open_socket(std::move(handlers));
    f.peer_writes("!");
    run_until(*f.loop, [&] { return f.received == "alive!"; });
  }
  SUBCASE("on_drained") {
    Fixture f;
    auto handlers = f.handlers();
    handlers.on_drained = [&f, mark] {
      f.stream.reset();
      f.received = *mark;
    };
    f.open_socket(std::move(handlers));
    f.peer_writes("there are bytes to read in the same round");
    f.stream->write(as_bytes("a"));
    run_until(*f.loop, [&] { return f.received == "alive"; });
  }
  SUBCASE("on_end") {
    Fixture f;
    auto handlers = f.handlers();
    handlers.on_end = [&f, mark](const std::optional<Error>&) {
      f.stream.reset();
      f.received = *mark;
    };
    f.open_socket(std::move(handlers));
    f.peer_in.reset();
    run_until(*f.loop, [&] { return f.received == "alive"; });
  }
  CHECK(mark.use_count() == 1);
}

TEST_CASE("the end of the other side is reported once, after all its bytes") {
  for (const bool pipes : {false, true}) {
    CAPTURE(pipes);
    Fixture f;
    pipes ? f.open_pipes(f.handlers()) : f.open_socket(f.handlers());
    f.peer_writes(std::string(50'000, 'z'));
    f.peer_in.reset();
    f.peer_out.reset();
    run_until(*f.loop, [&] { return f.ends > 0; });
    f.glance();
    CHECK(f.ends == 1);
    CHECK(f.received.size() == 50'000);
    f.stream->write(as_bytes("nobody hears this"));
    CHECK(f.stream->unsent() == 0);
  }
}

TEST_CASE("a paused stream reads nothing, and a hang-up meanwhile does not keep the loop busy") {
  for (const bool pipes : {false, true}) {
    CAPTURE(pipes);
    Fixture f;
    pipes ? f.open_pipes(f.handlers()) : f.open_socket(f.handlers());
    f.stream->pause();
    f.peer_writes("late");
    f.peer_in.reset();
    f.peer_out.reset();
    f.glance();
    const Time deadline = Clock::now() + milliseconds(5);
    REQUIRE(f.loop->run_once(deadline));
    CHECK(Clock::now() >= deadline);
    CHECK(f.received.empty());
    CHECK(f.ends == 0);
    f.stream->resume();
    run_until(*f.loop, [&] { return f.ends == 1; });
    CHECK(f.received == "late");
  }
}

TEST_CASE("pausing within on_bytes stops after this call") {
  Fixture f;
  auto handlers = f.handlers();
  handlers.on_bytes = [&f](ByteSpan bytes) {
    f.received += as_text(bytes);
    f.stream->pause();
    return bytes.size();
  };
  f.open_socket(std::move(handlers));
  f.peer_writes("one");
  run_until(*f.loop, [&] { return f.received == "one"; });
  f.peer_writes("two");
  f.glance();
  CHECK(f.received == "one");
  f.stream->resume();
  run_until(*f.loop, [&] { return f.received == "onetwo"; });
}

TEST_CASE("close_after_sending ends our direction after all is sent, and still reads") {
  for (const bool pipes : {false, true}) {
    CAPTURE(pipes);
    Fixture f;
    pipes ? f.open_pipes(f.handlers()) : f.open_socket(f.handlers());
    f.stream->write(as_bytes("bye"));
    f.stream->close_after_sending();
    f.stream->write(as_bytes("too late"));
    CHECK(f.peer_reads(100) == "bye");
    f.peer_writes("answer");
    run_until(*f.loop, [&] { return f.received == "answer"; });
    CHECK(f.ends == 0);
  }
}

TEST_CASE("close_after_sending waits for a queue") {
  Fixture f;
  f.open_socket(f.handlers());
  f.stream->write(as_bytes(megabytes));
  f.stream->close_after_sending();
  REQUIRE(set_nonblocking(f.peer_in.get()));
  size_t total = 0;
  bool end = false;
  run_until(*f.loop, [&] {
    char buffer[65536];
    ssize_t n = 0;
    while ((n = ::read(f.peer_in.get(), buffer, sizeof buffer)) > 0)
      total += static_cast<size_t>(n);
    end = n == 0;
    return end;
  });
  CHECK(total == megabytes.size());
}

TEST_CASE("writing to a peer that is gone ends the stream, without SIGPIPE on a socket") {
  Fixture f;
  f.open_socket(f.handlers());
  f.peer_in.reset();
  f.stream->write(as_bytes("lost"));
  CHECK(f.ends == 0);
  run_until(*f.loop, [&] { return f.ends == 1; });
  CHECK(f.stream->unsent() == 0);
}

/// Ignores SIGPIPE during its life, as every program with pipes to children must.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;
  ~PipeSignalIgnored() { sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

TEST_CASE("a pipe whose reader is gone ends the stream although the other pipe lives") {
  const PipeSignalIgnored ignored;
  SUBCASE("while idle") {
    Fixture f;
    f.open_pipes(f.handlers());
    f.peer_in.reset();
    run_until(*f.loop, [&] { return f.ends == 1; });
    CHECK(f.why == Error{Errc::closed, "Broken pipe"});
  }
  SUBCASE("while writing; what the other side still said comes first") {
    Fixture f;
    f.open_pipes(f.handlers());
    f.peer_writes("last words");
    f.peer_in.reset();
    f.stream->write(as_bytes(megabytes));
    run_until(*f.loop, [&] { return f.ends == 1; });
    CHECK(f.received == "last words");
    CHECK(f.why.has_value());
  }
  SUBCASE("while writing; what the other side says later comes first, too") {
    Fixture f;
    f.open_pipes(f.handlers());
    f.peer_in.reset();
    f.stream->write(as_bytes("lost"));
    f.glance();
    CHECK(f.ends == 0);
    f.peer_writes("last words");
    f.peer_out.reset();
    run_until(*f.loop, [&] { return f.ends == 1; });
    CHECK(f.received == "last words");
    CHECK(f.why == Error{Errc::closed, "Broken pipe"});
  }
  SUBCASE("after our own end it is nothing") {
    Fixture f;
    f.open_pipes(f.handlers());
    f.stream->close_after_sending();
    f.peer_in.reset();
    f.glance();
    CHECK(f.ends == 0);
    f.peer_writes("still heard");
    run_until(*f.loop, [&] { return f.received == "still heard"; });
  }
}

TEST_CASE("a reset connection ends with its reason") {
  Fixture f;
  f.open_socket(f.handlers());
  // A Unix socket closed with unread bytes resets its peer.
  f.stream->write(as_bytes("never read"));
  f.peer_in.reset();
  run_until(*f.loop, [&] { return f.ends == 1; });
  CHECK(f.why == Error{Errc::closed, "Connection reset by peer"});
}

}  // namespace
}  // namespace dt
