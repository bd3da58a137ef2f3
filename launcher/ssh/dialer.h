#pragma once

#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// Connects to the first of a host's addresses that answers. Each attempt starts 250 ms after the
/// one before it. So an address that drops packets costs no more than that. This is RFC 8305's
/// "happy eyeballs" without its sorting, which the resolver has done.
class Dialer {
 public:
  struct Target {
    std::vector<Address> addresses;
    std::string from_ip = {};  ///< connect from this address; empty: any
  };
  /// `on_done` is called once, from the Loop, and may destroy the Dialer. Its argument is a
  /// connected non-blocking socket, or the error of each address: Errc::refused when no process
  /// listens at any of them, else Errc::unreachable. There is no deadline: destroying the Dialer
  /// cancels the attempts.
  Dialer(Loop& loop, Target target, std::function<void(Result<Fd>)> on_done);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

 private:
  struct Attempt {
    size_t address = 0;
    Fd socket;
    Watch watch;
  };
  void start_next();
  void ended(size_t address);
  void attempt_failed(std::string why);

  Loop& loop_;
  Target target_;
  std::function<void(Result<Fd>)> on_done_;
  std::vector<Attempt> attempts_;
  size_t next_ = 0;     ///< index of the first address that is not tried yet
  size_t failed_ = 0;   ///< number of addresses that have failed
  size_t refused_ = 0;  ///< number of those whose port is closed
  std::vector<std::string> failures_;
  Timer stagger_;
};

}  // namespace dt
