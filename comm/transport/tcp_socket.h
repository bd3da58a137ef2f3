#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/ready_set.h"
#include "rendezvous/secure/handshake.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {

/// Returns the congestion control for a connection with that shortest round trip: reno below a
/// millisecond, else cubic. Cubic ends its slow start when acknowledgements come close together,
/// from 16 segments on (HyStart, RFC 9406). On a short link they always do, and its window then
/// needs seconds to grow. Reno's slow start ends at the first lost packet. Later, both grow alike
/// on such links (RFC 9438, section 4.3).
std::string_view congestion_control_for(Duration round_trip);

/// The socket of a TcpLink, and what the mesh knows of it from epoll's events.
///
///   unused ─ connect() ▶ asked ─ open() ▶ open
///      ├── the peer connects: open() ▶ open
///      └── or asked ─┬─ fail() ▶ failed
///                    └─ close() ▶ closed
///
/// The link calls connect() and close(), and the mesh open() and fail(), perhaps on two threads.
///
/// The link clears a flag before its system call, never after. An event of bytes that arrive later
/// then sets the flag again, also when another thread waits in the mesh.
class TcpSocket {
 public:
  struct Events {
    bool readable = false;
    bool writable = false;
    bool ended = false;  ///< the peer sends nothing more, or the connection is broken
  };
  /// A connected socket.
  explicit TcpSocket(Fd fd, std::optional<Session> session = {});
  /// A socket that connects at its first use. The first connect() calls `ask`.
  explicit TcpSocket(std::function<void()> ask);

  void connect();
  /// True when it is open. Fails when it could not be connected, or was closed before.
  Result<bool> connected() const;
  /// Returns false when it was opened or closed before.
  bool open(Fd fd, Session session);
  /// Without effect on a socket that is open or closed.
  void fail(Error why);
  void close();

  /// Returns -1 while it is not open.
  int get() const { return state() == State::open ? fd_.get() : -1; }
  /// Null while it is not open, or without encryption and MACs.
  Session* session() { return state() == State::open && session_ ? &*session_ : nullptr; }

  /// Reports events. Any thread may call it.
  void report(Events events);
  /// From now on, `arrivals` gets `index` when the socket becomes readable. Called before any other
  /// thread waits in the mesh.
  void report_to(std::shared_ptr<ReadySet> arrivals, size_t index);

  bool readable() const { return readable_.load(std::memory_order_acquire); }
  bool writable() const { return writable_.load(std::memory_order_acquire); }
  /// True when a read may find something; clears the flag.
  bool take_readable() { return readable() && readable_.exchange(false); }
  bool take_writable() { return writable() && writable_.exchange(false); }
  /// The last read took all that it could, or has found the end.
  void stay_readable() { readable_.store(true, std::memory_order_release); }
  void stay_writable() { writable_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  enum class State : uint8_t { unused, asked, opening, open, failed, closed };
  State state() const { return state_.load(std::memory_order_acquire); }
  bool leave_unopened(State to);

  std::atomic<State> state_;
  std::function<void()> ask_;
  // The mesh writes these two while the state is `opening`, and error_ as well.
  Fd fd_;
  std::optional<Session> session_;
  std::optional<Error> error_;
  std::atomic<bool> readable_;
  std::atomic<bool> writable_;
  std::atomic<bool> ended_ = false;
  std::shared_ptr<ReadySet> arrivals_;
  size_t index_ = 0;
};

}  // namespace dt
