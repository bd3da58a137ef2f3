#pragma once

#include "base/clock.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Reads the hosts of the job from their source, and calls back from the loop. A second call ends
/// the first one.
using OnHostsRead = std::function<void(Result<std::vector<Host>>)>;
using ReadHosts = std::function<void(OnHostsRead)>;

/// The readings of the hosts' source while a restart waits. One that fails is a warning, once for
/// each cause.
class HostReading {
 public:
  /// `read`: empty where the hosts do not change.
  HostReading(Loop& loop, Log& log, ReadHosts read)
      : loop_(loop), log_(log), read_(std::move(read)), read_at_(loop.now()) {}

  bool has_source() const { return read_ != nullptr; }
  /// Starts to read, unless there is no source, or it is being read.
  void start();
  /// The same, unless it was read within this time.
  void start_after(Duration pause);
  bool is_under_way() const { return state_->is_under_way; }
  /// True when take() has something to say.
  bool is_done() const { return state_->result.has_value(); }
  /// Returns the hosts of a reading that has ended well since the last call.
  std::optional<std::vector<Host>> take();

 private:
  struct State {
    bool is_under_way = false;
    std::optional<Result<std::vector<Host>>> result = {};
  };

  Loop& loop_;
  Log& log_;
  ReadHosts read_;
  Time read_at_;
  std::shared_ptr<State> state_ = std::make_shared<State>();  ///< a reading may outlive this object
  std::string failure_;                                       ///< of the last reading
};

}  // namespace dt
