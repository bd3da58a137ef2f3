#pragma once

#include "base/io/loop.h"
#include "base/io/socket.h"
#include "base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// Connects to the first of a host's addresses that answers: each is given a short start over the
/// next (RFC 8305's "happy eyeballs" without its sorting, which the resolver has done), so that an
/// address that swallows packets costs a quarter of a second and not the whole patience.
class Dialer {
 public:
  struct Target {
    std::vector<Address> addresses;
    std::string from_ip = {};  ///< connect from this address; empty: any
  };
  /// `on_done` is called once, from the Loop: with a connected non-blocking socket, or with what
  /// each address said. May destroy the Dialer. There is no deadline: destroying gives up.
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
  size_t next_ = 0;    ///< the first address that is not tried yet
  size_t failed_ = 0;  ///< how many have failed
  std::vector<std::string> failures_;
  Timer stagger_;
};

}  // namespace dt
