#pragma once

#include "base/clock.h"
#include "comm/driver/store_calls.h"
#include "comm/driver/wait_reporter.h"
#include "comm/engine/engine.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/local_store.h"

#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// This rank's side of the job's rendezvous: requests to the store, notices of other tasks, and
/// reports of long waits. A rank that is alone has a store of its own here. Requires the driver's
/// mutex.
class JobRendezvous {
 public:
  struct Parts {
    Engine& engine;
    Mesh* mesh = nullptr;                           ///< null when this rank is alone
    std::unique_ptr<RendezvousClient> client = {};  ///< null when this rank is alone
    Duration stall_after = Duration::zero();        ///< as in EngineSettings
  };
  explicit JobRendezvous(Parts parts);

  StoreCalls& calls() { return calls_; }
  WaitReporter& reporter() { return wait_reporter_; }

  /// Posts a request. Waits for keys fail after a death. The caller must remove the call.
  void post(StoreCall& call, const Request& request, Time now);
  /// Hands the store's replies to the calls that wait for them. After a death, waits for keys fail.
  void answer();
  /// Ends the waits of a rank that is alone whose time has passed.
  void expire(Time now);
  /// The time of the next expire(); Time::max() for none.
  Time next_deadline() const;

  /// Sends and reads all that can be sent and read.
  void read(Time now);
  /// Called when the connection is lost, also when the application has closed our epoll descriptor:
  /// no event can arrive any more.
  void lose(Time now);
  /// Returns the notices so far but the first `count`.
  std::vector<Notice> notices_from(size_t count) const;
  /// Sends a report of long waits if one is due. Returns true when it has read what had arrived. So
  /// operations may have ended.
  bool report_waits(Time now);

  /// Ends the connection.
  void close() { parts_.client.reset(); }

 private:
  Parts parts_;
  std::unique_ptr<LocalStore> local_store_;  ///< null when there is a client
  StoreCalls calls_;
  std::vector<Notice> notices_;     ///< all of the rendezvous
  bool launcher_connected_ = true;  ///< the connection to the rendezvous is open
  WaitReporter wait_reporter_;      ///< of long waits, to the launcher
};

}  // namespace dt
