#include "tests/programs/fake_nccl_hub.h"

#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace fake_nccl {

namespace {

/// ncclRedOp_t
enum Operation : int32_t { sum, product, maximum, minimum, average };

struct Header {
  Call call = {};
  int32_t status = success;
  uint64_t bytes = 0;  ///< that follow
};

bool send_all(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* to, size_t bytes) {
  return bytes == 0 || ::recv(fd, to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

bool send_message(int fd, Header header, const Bytes& elements) {
  header.bytes = elements.size();
  // One call, since a second packet would wait for the answer to the first.
  Bytes message(sizeof header + elements.size());
  std::memcpy(message.data(), &header, sizeof header);
  std::copy(elements.begin(), elements.end(), message.begin() + sizeof header);
  return send_all(fd, message.data(), message.size());
}

bool receive_message(int fd, Header& header, Bytes& elements) {
  if (!receive_all(fd, &header, sizeof header)) return false;
  elements.resize(header.bytes);
  return receive_all(fd, elements.data(), elements.size());
}

template <class T>
T fold_two(T a, T b, int op) {
  return static_cast<T>(op == sum       ? a + b
                        : op == product ? a * b
                        : op == maximum ? std::max(a, b)
                                        : std::min(a, b));
}

/// Folds `more` into the other, as numbers of type T between the two conversions.
template <class T, class Stored, class Read, class Write>
void fold_as(Bytes& into, const Bytes& more, int op, const Read& read, const Write& write) {
  for (size_t at = 0; at + sizeof(Stored) <= into.size(); at += sizeof(Stored)) {
    Stored a = {};
    Stored b = {};
    std::memcpy(&a, &into[at], sizeof a);
    std::memcpy(&b, &more[at], sizeof b);
    const Stored result = write(fold_two<T>(read(a), read(b), op));
    std::memcpy(&into[at], &result, sizeof result);
  }
}

template <class T>
void fold_numbers(Bytes& into, const Bytes& more, int op) {
  const auto same = [](T value) { return value; };
  fold_as<T, T>(into, more, op, same, same);
}

template <class Half>
void fold_halves(Bytes& into, const Bytes& more, int op) {
  const auto write = [](float value) {
    Half half;
    dt::from_float(value, half);
    return half;
  };
  fold_as<float, Half>(into, more, op, [](Half half) { return dt::to_float(half); }, write);
}

void fold(Bytes& into, const Bytes& more, const Call& call) {
  using Fold = void (*)(Bytes&, const Bytes&, int);
  // By ncclDataType_t. 32 and 64 bits of unsigned numbers are those of signed sums, but not of
  // maxima.
  constexpr Fold folds[] = {
      fold_numbers<int8_t>,      fold_numbers<uint8_t>,       fold_numbers<int32_t>,
      fold_numbers<uint32_t>,    fold_numbers<int64_t>,       fold_numbers<uint64_t>,
      fold_halves<dt::Float16>,  fold_numbers<float>,         fold_numbers<double>,
      fold_halves<dt::BFloat16>, fold_halves<dt::Float8E4M3>, fold_halves<dt::Float8E5M2>};
  folds[static_cast<size_t>(call.type)](into, more, call.op);
}

template <class T>
Bytes bytes_as(double value) {
  T element = {};
  if constexpr (std::is_floating_point_v<T>)
    element = static_cast<T>(value);
  else
    dt::from_float(static_cast<float>(value), element);
  Bytes bytes(sizeof element);
  std::memcpy(bytes.data(), &element, sizeof element);
  return bytes;
}

/// Returns an element of this type of floats.
Bytes float_of(int type, double value) {
  if (type == 6) return bytes_as<dt::Float16>(value);
  if (type == 7) return bytes_as<float>(value);
  if (type == 8) return bytes_as<double>(value);
  return bytes_as<dt::BFloat16>(value);
}

/// As NCCL, multiplies the elements of a rank by 1/n, rounded to their type, before it adds them.
Bytes part_of_average(Bytes elements, const Call& call, size_t ranks) {
  const Bytes factor = float_of(call.type, 1.0 / static_cast<double>(ranks));
  Bytes factors;
  while (factors.size() < elements.size())
    factors.insert(factors.end(), factor.begin(), factor.end());
  fold(elements, factors, {.type = call.type, .op = product});
  return elements;
}

/// A rank that waits for the result of a call.
struct Waiting {
  int fd = -1;
  Call call = {};
  Bytes elements = {};
};

/// The state of a hub. Its thread alone uses it.
class Hub {
 public:
  explicit Hub(int listener) : listener_(listener) {}
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  ~Hub() {
    for (const auto& [fd, rank] : ranks_)
      ::close(fd);
    ::close(listener_);
  }

  /// Returns when a rank has joined, and none is left.
  void serve() {
    bool joined = false;
    while (!joined || !ranks_.empty()) {
      std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
      for (const auto& [fd, rank] : ranks_)
        polled.push_back({fd, POLLIN, 0});
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      for (size_t i = 1; i < polled.size(); ++i) {
        if (polled[i].revents != 0) read(polled[i].fd);
      }
      if (polled[0].revents == 0) continue;
      ranks_[::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)] = -1;
      joined = true;
    }
  }

 private:
  void read(int fd) {
    Header header;
    Waiting waiting = {.fd = fd};
    if (!receive_message(fd, header, waiting.elements)) {
      forget(fd);
      return;
    }
    waiting.call = header.call;
    const int rank = ranks_[fd];
    switch (header.call.kind) {
      case Kind::send:
        sent_[{rank, header.call.peer}].push_back(std::move(waiting));
        reply(fd, success, {});
        deliver({rank, header.call.peer});
        break;
      case Kind::receive:
        receiving_[{header.call.peer, rank}] = std::move(waiting);
        deliver({header.call.peer, rank});
        break;
      case Kind::join:
        ranks_[fd] = header.call.peer;
        size_ = header.call.count;
        waiting.call.peer = 0;
        arrive(header.call.peer, std::move(waiting));
        break;
      default:
        arrive(rank, std::move(waiting));
    }
  }

  /// A rank is gone. Its calls get no reply: the number of its descriptor may soon be another's.
  void forget(int fd) {
    const auto drop = [fd](Waiting& waiting) {
      if (waiting.fd == fd) waiting.fd = -1;
    };
    for (auto& [number, round] : rounds_)
      for (auto& [rank, waiting] : round)
        drop(waiting);
    for (auto& [route, waiting] : receiving_)
      drop(waiting);
    ::close(fd);
    ranks_.erase(fd);
  }

  void deliver(const std::pair<int, int>& route) {
    const auto receiver = receiving_.find(route);
    std::deque<Waiting>& sent = sent_[route];
    if (receiver == receiving_.end() || sent.empty()) return;
    const Waiting& to = receiver->second;
    const Waiting& from = sent.front();
    const bool same = to.call.count == from.call.count && to.call.type == from.call.type;
    reply(to.fd, same ? success : invalid_usage, same ? from.elements : Bytes());
    sent.pop_front();
    receiving_.erase(receiver);
  }

  /// A rank's next call of a collective.
  void arrive(int rank, Waiting waiting) {
    const size_t number = called_[rank]++;
    std::map<int, Waiting>& round = rounds_[number];
    round[rank] = std::move(waiting);
    if (round.size() < size_) return;
    const Call& call = round.begin()->second.call;
    const bool same = std::all_of(round.begin(), round.end(),
                                  [&](const auto& entry) { return entry.second.call == call; });
    for (const auto& [to, one] : round) {
      if (same)
        reply(one.fd, success, result_for(to, round));
      else
        reply(one.fd, invalid_usage, {});
    }
    rounds_.erase(number);
  }

  static Bytes result_for(int rank, std::map<int, Waiting> round) {
    Call call = round.begin()->second.call;
    if (call.op == average) {
      for (auto& [from, waiting] : round)
        waiting.elements = part_of_average(std::move(waiting.elements), call, round.size());
      call.op = sum;
    }
    if (call.kind == Kind::join || (call.kind == Kind::reduce && call.peer != rank)) return {};
    if (call.kind == Kind::broadcast) return round.at(call.peer).elements;
    Bytes result = round.begin()->second.elements;
    for (auto other = std::next(round.begin()); other != round.end(); ++other) {
      const Bytes& more = other->second.elements;
      if (call.kind == Kind::all_gather)
        result.insert(result.end(), more.begin(), more.end());
      else
        fold(result, more, call);
    }
    if (call.kind != Kind::reduce_scatter) return result;
    const auto bytes = static_cast<ptrdiff_t>(call.count * bytes_of(call.type));
    return {result.begin() + rank * bytes, result.begin() + (rank + 1) * bytes};
  }

  static void reply(int fd, int status, const Bytes& elements) {
    // The connection of a rank that is gone ends at the next poll.
    static_cast<void>(send_message(fd, {.status = status}, elements));
  }

  int listener_;
  size_t size_ = 1;
  std::map<int, int> ranks_ = {};  ///< by descriptor
  std::map<int, size_t> called_ = {};
  std::map<size_t, std::map<int, Waiting>> rounds_ = {};
  std::map<std::pair<int, int>, std::deque<Waiting>> sent_ = {};  ///< by sender and receiver
  std::map<std::pair<int, int>, Waiting> receiving_ = {};
};

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

size_t bytes_of(int type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < 0 || static_cast<size_t>(type) >= std::size(bytes)
             ? 0
             : bytes[static_cast<size_t>(type)];
}

bool has_operation(const Call& call) {
  if (call.op == average) return call.type >= 6 && call.type <= 9;
  return call.op >= sum && call.op <= minimum;
}

uint16_t start_hub() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, any, size) != 0 || ::listen(listener, SOMAXCONN) != 0 ||
      ::getsockname(listener, any, &size) != 0) {
    ::close(listener);
    return 0;
  }
  std::thread([listener] { Hub(listener).serve(); }).detach();
  return ntohs(address.sin_port);
}

Rank::Rank(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  static_cast<void>(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

Rank::~Rank() {
  ::close(fd_);
}

int Rank::run(const Call& call, const Bytes& elements, Bytes& result) {
  Header header = {.call = call};
  if (!send_message(fd_, header, elements) || !receive_message(fd_, header, result))
    return remote_error;
  return header.status;
}

void Rank::close_early() const {
  ::shutdown(fd_, SHUT_RDWR);
}

}  // namespace fake_nccl
