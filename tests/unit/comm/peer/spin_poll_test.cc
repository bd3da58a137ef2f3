#include "comm/peer/spin_poll.h"

#include "base/io/fd.h"
#include "tests/unit/comm/peer/connected_pair.h"

#include <doctest/doctest.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace dt {
namespace {

TEST_CASE("a task stays awake only where each task of its host can have a core") {
  CHECK(SpinPoll(4, 4).stays_awake());
  CHECK_FALSE(SpinPoll(5, 4).stays_awake());
  TaskTable crowded;
  crowded.tasks.resize(100'000);
  CHECK_FALSE(SpinPoll(crowded, 0).stays_awake());
  // All of them are on another host.
  CHECK(SpinPoll(crowded, 1).stays_awake());
}

TEST_CASE("a wait ends with a ready descriptor, and at its deadline without one") {
  for (const size_t tasks : {size_t{1}, size_t{2}}) {
    SpinPoll poll(tasks, 1);
    poll.note_request();
    const Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    pollfd waiting = {.fd = event.get(), .events = POLLIN, .revents = 0};
    const Time deadline = Clock::now() + milliseconds(2);
    CHECK(poll.wait({&waiting, 1}, {}, deadline) == 0);
    CHECK(Clock::now() >= deadline);
    CHECK(poll.wait({&waiting, 1}, {}, Time::min()) == 0);
    const uint64_t one = 1;
    REQUIRE(::write(event.get(), &one, sizeof one) == sizeof one);
    poll.note_request();
    CHECK(poll.wait({&waiting, 1}, {}, Time::max()) == 1);
    CHECK(waiting.revents == POLLIN);
  }
}

TEST_CASE("a wait ends when a connection through shared memory has changed") {
  for (const size_t tasks : {size_t{1}, size_t{2}}) {
    SpinPoll poll(tasks, 1);
    poll.note_request();
    ConnectedPair pair;
    MessageConnection worker(std::move(pair.dialer), {.message_bytes_max = 100});
    MessageConnection server(std::move(pair.acceptor), {.message_bytes_max = 100});
    MessageConnection* const waiting[] = {&server};
    pollfd doorbell = {.fd = pair.acceptor_doorbell.get(), .events = POLLIN, .revents = 0};
    REQUIRE(worker.send(1, Bytes(10)));
    REQUIRE(worker.advance());
    CHECK(poll.wait({&doorbell, 1}, waiting, Time::max()) == 0);
    REQUIRE(server.advance());
    CHECK(poll.wait({&doorbell, 1}, waiting, Clock::now() + milliseconds(2)) == 0);

    std::thread later([&] {
      while (pair.acceptor_asleep->load() == 0)
        std::this_thread::yield();
      REQUIRE(worker.send(2, Bytes(10)));
      REQUIRE(worker.advance());
    });
    poll.wait({&doorbell, 1}, waiting, Time::max());
    later.join();
    CHECK(server.changed());
  }
}

}  // namespace
}  // namespace dt
