// The requests of a Horovod job's ranks to their rendezvous during the start, all from this
// machine. Each request is one of the gloo controller's client and has a connection of its own. The
// ranks do not connect to each other. The rendezvous' address comes from Horovod's variables.
// Prints the milliseconds until the last rank was through.
//
//    horovod_load RANKS

#include "base/clock.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr size_t address_bytes = 136;  // of gloo, for one peer
constexpr Duration between_polls = milliseconds(10);
constexpr Duration before_retry = milliseconds(500);
constexpr int tries_max = 3;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr) return value;
  std::fputs("horovod_load runs under a launcher that sets Horovod's variables\n", stderr);
  std::exit(2);
}

sockaddr_in rendezvous_address() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<uint16_t>(std::atoi(variable("HOROVOD_GLOO_RENDEZVOUS_PORT"))));
  inet_pton(AF_INET, variable("HOROVOD_GLOO_RENDEZVOUS_ADDR"), &address.sin_addr);
  return address;
}

/// One rank's client.
class Store {
 public:
  explicit Store(const sockaddr_in& address) : address_(address) {}

  void put(const std::string& path, const std::string& value) { ask("PUT", path, value); }
  bool has(const std::string& path) { return ask("GET", path, ""); }
  void wait(const std::string& path) {
    while (!has(path))
      std::this_thread::sleep_for(between_polls);
  }
  void connected(const std::string& path) { ask("DELETE", path, ""); }

 private:
  /// Returns true when the key exists. Ends the program after `tries_max` requests without an
  /// answer, as a worker would.
  bool ask(const char* method, const std::string& path, const std::string& body) {
    const std::string request =
        format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{}", method, path,
               body.size(), body);
    for (int i = 0; i < tries_max; ++i) {
      const int status = try_once(request);
      if (status == 200 || status == 404) return status == 200;
      std::this_thread::sleep_for(before_retry);
    }
    std::fprintf(stderr, "horovod_load: no answer to %s %s\n", method, path.c_str());
    std::_Exit(1);
  }
  int try_once(const std::string& request) {
    const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) < 0 ||
        ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
      return 0;
    }
    std::string answer;
    std::array<char, 4096> buffer;
    while (!is_whole(answer)) {
      const ssize_t n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
      if (n <= 0) return 0;
      answer.append(buffer.data(), static_cast<size_t>(n));
    }
    return std::atoi(answer.c_str() + std::string_view("HTTP/1.1 ").size());
  }
  static bool is_whole(const std::string& answer) {
    constexpr std::string_view name = "Content-Length: ";
    const size_t head = answer.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const size_t length =
        std::strtoul(answer.c_str() + answer.find(name) + name.size(), nullptr, 10);
    return answer.size() >= head + 4 + length;
  }

  sockaddr_in address_;
};

/// Makes the requests by which a rank connects to its group.
template <class Barrier>
void meet(Store& store, const std::string& scope, int rank, int size, Barrier& all_connected) {
  const auto path = [&scope](std::string_view prefix, int of) {
    return format("/{}/{}{}", scope, prefix, of);
  };
  store.put(path("rank_", rank), "node");
  for (int i = 0; i < rank; ++i)
    store.has(path("rank_", i));
  store.put(path("", rank), std::string(address_bytes * static_cast<size_t>(size - 1), 'a'));
  for (int i = 0; i < size; ++i) {
    if (i == rank) continue;
    store.wait(path("", i));
    store.has(path("", i));
  }
  all_connected.arrive_and_wait();
  store.connected(path("", rank));
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  using namespace dt;
  const int ranks = argc == 2 ? std::atoi(argv[1]) : 0;
  if (ranks < 1) return std::fputs("usage: horovod_load RANKS\n", stderr), 2;
  const sockaddr_in address = rendezvous_address();
  std::barrier all(ranks);
  const Time begin = Clock::now();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Store store(address);
      meet(store, "global", rank, ranks, all);
      meet(store, "local_node", rank, ranks, all);
      meet(store, format("cross_{}", rank), 0, 1, all);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::printf("%.1f\n", std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  return 0;
}
