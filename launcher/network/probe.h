#pragma once

#include "base/crypto.h"
#include "base/io/loop.h"
#include "base/io/network.h"
#include "base/io/socket.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/protocol/probe_target.h"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Listens on some addresses of this machine for a moment, and proves to whoever dials that they
/// lead here: 16 random bytes in, their HMAC by the job's token and this number out. So an address
/// that many machines have (a container bridge's, for one) is not taken for the wrong one's.
class ProbeListener {
 public:
  /// Where, and at which port, which somebody of ours holds; 0: any.
  struct SourceLocation {
    std::vector<InterfaceAddress> addresses;
    uint16_t held_port = 0;
  };
  struct Limits {
    size_t callers_max = 1024;       ///< beyond, the oldest is closed: an honest one is quick
    Duration patience = seconds(5);  ///< with a caller that is not done
  };
  /// Addresses that cannot be listened on are left out; an error when none can.
  static Result<std::unique_ptr<ProbeListener>> open(Loop& loop, const SourceLocation& where,
                                                     const Token& token, uint32_t number,
                                                     Limits limits);
  static Result<std::unique_ptr<ProbeListener>> open(Loop& loop, const SourceLocation& where,
                                                     const Token& token, uint32_t number) {
    return open(loop, where, token, number, Limits());
  }
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  /// Where it listens, in the order that was asked for.
  const std::vector<ProbeEndpoint>& places() const { return places_; }
  size_t callers() const { return callers_.size(); }

 private:
  struct Listener {
    Fd fd;
    Watch watch;
    Timer resume;  ///< runs while the system has no descriptor for us
  };
  struct Caller {
    std::unique_ptr<Stream> stream;
    Timer deadline;
  };
  ProbeListener(Loop& loop, const Token& token, uint32_t number, Limits limits)
      : loop_(loop), token_(token), number_(number), limits_(limits) {}
  void accept(Listener& listener);
  void add(Fd connection);
  void drop(uint64_t caller);

  Loop& loop_;
  Token token_;
  uint32_t number_;
  Limits limits_;
  std::vector<ProbeEndpoint> places_;
  std::list<Listener> listeners_;
  uint64_t next_caller_ = 0;
  std::map<uint64_t, Caller> callers_;  ///< the oldest first
};

/// Dials all addresses of all targets at once.
class ProbeDialer {
 public:
  /// Of each target those addresses that led there.
  using Reached = std::vector<ProbeTarget>;
  /// `on_done` is called once: when every call has ended, or at the deadline; after the first
  /// success to a target its other addresses have only a moment more. The launcher, which there is
  /// a relay to, is not waited for as long as the others.
  ProbeDialer(Loop& loop, const Token& token, std::vector<ProbeTarget> targets, Time deadline,
              std::function<void(Reached)> on_done);
  ProbeDialer(const ProbeDialer&) = delete;
  ProbeDialer& operator=(const ProbeDialer&) = delete;
  ~ProbeDialer();

 private:
  struct Call;
  void start(Call& call);
  void connected(Call& call);
  void end(Call& call);
  static void hang_up(Call& call);
  void check_done();
  void finish();

  Loop& loop_;
  Token token_;
  std::vector<ProbeTarget> targets_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::function<void(Reached)> on_done_;
  Timer deadline_;
  Timer last_moment_;
  Timer launcher_patience_;
  bool hurrying_ = false;
  bool done_ = false;
};

}  // namespace dt
