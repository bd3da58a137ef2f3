#pragma once

#include "base/io/fd.h"
#include "comm/transport/ready_set.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace dt {

/// The socket of a TcpLink, and what the mesh knows of it from epoll's events.
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
  explicit TcpSocket(Fd fd) : fd_(std::move(fd)) {}

  int get() const { return fd_.get(); }
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
  Fd fd_;
  std::atomic<bool> readable_ = true;
  std::atomic<bool> writable_ = true;
  std::atomic<bool> ended_ = false;
  std::shared_ptr<ReadySet> arrivals_;
  size_t index_ = 0;
};

}  // namespace dt
