// Measures how fast BYTES move from one process to another and back, without any library. A server
// and its client cannot be faster. Prints the times of ROUNDS as `dtrain bench --format peers`
// does, in us.
//
//    copy_limits memory BYTES ROUNDS   through a ring in shared memory: one copies in, one copies
//    out copy_limits tcp BYTES ROUNDS      through one TCP connection over loopback
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Bytes = std::span<std::byte>;

constexpr size_t warm_up = 3;

[[noreturn]] void quit(const char* what) {
  std::perror(what);
  _exit(1);
}

/// Bytes from one process to another.
class Path {
 public:
  Path() = default;
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  virtual ~Path() = default;
  virtual void send(Bytes bytes) = 0;
  virtual void receive(Bytes bytes) = 0;
};

/// One writes into the slots in turn, and the other one reads. Both wait without sleeping.
struct Ring {
  static constexpr size_t slots = 8;
  static constexpr size_t slot_bytes = size_t{64} << 10;
  alignas(64) std::atomic<size_t> written = 0;
  alignas(64) std::atomic<size_t> read = 0;
  alignas(64) std::byte data[slots][slot_bytes];
};

class MemoryPath : public Path {
 public:
  MemoryPath() {
    void* const memory =
        mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) quit("mmap");
    ring_ = new (memory) Ring;
  }
  void send(Bytes bytes) override {
    for (size_t at = 0; at < bytes.size(); at += Ring::slot_bytes) {
      const size_t number = ring_->written.load(std::memory_order_relaxed);
      while (number - ring_->read.load(std::memory_order_acquire) >= Ring::slots)
        sched_yield();
      const Bytes part = bytes.subspan(at, std::min(Ring::slot_bytes, bytes.size() - at));
      std::memcpy(ring_->data[number % Ring::slots], part.data(), part.size());
      ring_->written.store(number + 1, std::memory_order_release);
    }
  }
  void receive(Bytes bytes) override {
    for (size_t at = 0; at < bytes.size(); at += Ring::slot_bytes) {
      const size_t number = ring_->read.load(std::memory_order_relaxed);
      while (ring_->written.load(std::memory_order_acquire) == number)
        sched_yield();
      const Bytes part = bytes.subspan(at, std::min(Ring::slot_bytes, bytes.size() - at));
      std::memcpy(part.data(), ring_->data[number % Ring::slots], part.size());
      ring_->read.store(number + 1, std::memory_order_release);
    }
  }

 private:
  Ring* ring_;
};

/// One direction of a connection.
class SocketPath : public Path {
 public:
  SocketPath(int from, int to) : from_(from), to_(to) {}
  void send(Bytes bytes) override {
    constexpr size_t part_bytes = size_t{256} << 10;
    while (!bytes.empty()) {
      const ssize_t n = ::send(from_, bytes.data(), std::min(part_bytes, bytes.size()), 0);
      if (n <= 0) quit("send");
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
  }
  void receive(Bytes bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::recv(to_, bytes.data(), bytes.size(), 0);
      if (n <= 0) quit("recv");
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
  }

 private:
  int from_;
  int to_;
};

std::pair<int, int> connected_sockets() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int dialed = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, generic, size) < 0 || listen(listener, 1) < 0 ||
      getsockname(listener, generic, &size) < 0 || connect(dialed, generic, size) < 0)
    quit("a connection over loopback");
  const int accepted = accept(listener, nullptr, nullptr);
  if (accepted < 0) quit("accept");
  close(listener);
  return {dialed, accepted};
}

/// Moves the bytes to a child process and back. Returns false when they come back changed.
bool measure(Path& there, Path& back, Bytes bytes, std::vector<double>& times) {
  const size_t rounds = times.size();
  const pid_t child = fork();
  if (child < 0) quit("fork");
  for (size_t round = 0; round < rounds + warm_up; ++round) {
    if (child == 0) {
      there.receive(bytes);
      back.send(bytes);
      continue;
    }
    bytes.front() = bytes.back() = static_cast<std::byte>(round);
    const auto begin = std::chrono::steady_clock::now();
    there.send(bytes);
    back.receive(bytes);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (round >= warm_up) times[round - warm_up] = time.count();
  }
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  const auto last = static_cast<std::byte>(rounds + warm_up - 1);
  return status == 0 && bytes.front() == last && bytes.back() == last;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc == 4 ? argv[1] : "";
  const size_t size = argc == 4 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const size_t rounds = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if ((kind != "memory" && kind != "tcp") || size == 0 || rounds == 0) {
    std::fprintf(stderr, "usage: copy_limits memory|tcp BYTES ROUNDS\n");
    return 2;
  }
  std::vector<std::byte> bytes(size);
  std::vector<double> times(rounds);
  bool right = false;
  if (kind == "memory") {
    MemoryPath there;
    MemoryPath back;
    right = measure(there, back, bytes, times);
  } else {
    const auto [here, other] = connected_sockets();
    SocketPath there(here, other);
    SocketPath back(other, here);
    right = measure(there, back, bytes, times);
  }
  std::ranges::sort(times);
  const auto part = [&](size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  std::printf("limit\t%s\t1\t%zu\t%zu\t%.2f\t%.2f\t%.2f\t0\t0\t0\t%d\n", argv[1], size, rounds,
              part(0), part(50), part(99), right ? 0 : 1);
  return right ? 0 : 1;
}
