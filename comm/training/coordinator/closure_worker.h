#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/rendezvous_view.h"
#include "comm/training/coordinator/closure_messages.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dt {

/// Runs the closures that the job's coordinator sends, one after the other, on the calling thread.
class ClosureWorker {
 public:
  using Function = std::function<ClosureOutcome(ByteSpan argument)>;
  struct Options {
    std::unique_ptr<RendezvousView> rendezvous;
    Claim claim;
    Duration dead_after = seconds(5);
    std::string coordinator = "chief";  ///< its role
    std::map<std::string, Function, std::less<>> closures = {};
  };
  explicit ClosureWorker(Options options);
  ClosureWorker(const ClosureWorker&) = delete;
  ClosureWorker& operator=(const ClosureWorker&) = delete;

  /// Connects to the coordinator, until the deadline at most, and serves it. Returns when the
  /// coordinator ends. Fails with Errc::input when the job has no task of that role. Fails with
  /// Errc::timeout when none has started a coordinator, and with Errc::peer_lost when it dies.
  Result<> serve(Time deadline);

 private:
  /// The next message of the coordinator, with its number.
  struct Received {
    uint32_t number = 0;
    ClosureMessage message;
  };
  Result<> check();
  Result<Received> receive();
  Result<> send(uint32_t number, const ClosureOutcome& outcome);
  Result<> wait(bool sends);
  Result<> lost(const Error& why);
  ClosureOutcome run(const RunClosure& closure) const;

  Options options_;
  TaskEntry coordinator_ = {};
  bool left_ = false;  ///< the coordinator has ended well
  std::unique_ptr<MessageConnection> connection_ = {};
};

}  // namespace dt
