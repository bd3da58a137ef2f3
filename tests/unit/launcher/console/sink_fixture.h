#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "launcher/console/sink.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <memory>
#include <string>

namespace dt {

/// Writes to a Sink, and reads what arrives, on a loop of its own.
struct SinkFixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  int written = 0;

  void write(Sink& sink, std::string text) {
    sink.write(std::move(text), [this] { ++written; });
  }
  /// Makes the descriptor non-blocking, and runs the loop until `size` bytes were read from it.
  std::string read(int fd, size_t size) {
    CHECK(set_nonblocking(fd).has_value());
    std::string all;
    const Time deadline = Clock::now() + seconds(10);
    while (all.size() < size && Clock::now() < deadline) {
      char buffer[4096];
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n > 0) all.append(buffer, static_cast<size_t>(n));
      CHECK(loop->run_once(Clock::now() + (n > 0 ? seconds(0) : milliseconds(1))).has_value());
    }
    return all;
  }
};

}  // namespace dt
