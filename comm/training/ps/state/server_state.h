#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/saved_bytes.h"
#include "comm/training/ps/state/step_coordinator.h"
#include "comm/training/ps/state/variable_store.h"
#include "comm/training/ps/state/worker_sessions.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A message to a worker: the encoded reply to one of its requests.
struct PsDelivery {
  uint32_t worker = 0;
  uint32_t request = 0;
  MessageParts reply;
  uint32_t attempt = first_attempt;  ///< of the worker
};

/// A request as it has arrived: an encoded PsRequest within the memory of `owner`.
struct PsIncoming {
  uint32_t worker = 0;
  uint32_t request = 0;
  std::shared_ptr<const Bytes> owner = {};
  ByteSpan body = {};
  uint32_t attempt = first_attempt;  ///< of the worker
};

/// A request that needs the server's files.
struct PsFileRequest {
  uint32_t worker = 0;
  uint32_t request = 0;
  bool save = false;
  bool check_only = false;
  std::string path;
};

/// The state and the decisions of one parameter server: bytes of requests in, bytes of replies out.
/// No I/O, no clock.
///
/// Promises: each request gets exactly one reply, unless its worker is gone first. A request that
/// cannot be carried out gets an error, and has no effect. So does a request of a task that has
/// ended, and of an earlier attempt of a restarted one. A request that a client repeats in its
/// session has its effect once.
///
/// All is decided by the calls and their order. So two servers with the same calls are equal.
class PsServerState {
 public:
  struct Options {
    std::vector<PsWorker> workers;  ///< all tasks of the job, by number
    uint32_t server = 0;            ///< this one's index; 0 coordinates the steps
    uint32_t servers = 1;
    PsLimits limits = {};
  };
  explicit PsServerState(Options options);

  /// A silent server carries out everything and replies to nothing. Servers begin without that.
  void set_silent(bool silent) { silent_ = silent; }
  void limit_bytes(uint64_t bytes) { store_.limit_bytes(bytes); }
  uint64_t bytes_max() const { return store_.bytes_max(); }
  /// The number of the server that has these variables by placement.
  uint32_t server() const { return options_.server; }
  const WorkerSessions& sessions() const { return sessions_; }
  /// Called when a task has died, left or been restarted.
  void note(const Notice& notice);
  /// True when all tasks that take part have died or left the job, and none of them returns.
  bool all_gone() const;
  /// Returns false when nothing has changed: the request only reads, or is none.
  bool handle(const PsIncoming& asked);
  /// Refuses a request that was too long to be received.
  void refuse(uint32_t worker, uint32_t request, std::string why);

  std::vector<PsDelivery> take_deliveries();
  /// Returns those that were not returned before. A silent server keeps them until they are
  /// answered.
  std::vector<PsFileRequest> take_file_requests();
  /// Answers a file request. `step`: that of a file which was only checked.
  void answer(const PsFileRequest& request, const Result<>& result,
              std::optional<uint64_t> step = {});

  /// The number of updates so far.
  uint64_t step() const;
  /// Encodes all variables with their slots: of equal states, the same bytes. The arrays are not
  /// copied, so the result is valid until the next change.
  MessageParts save() const;
  /// Restores what save() of the server with this index has encoded. Fails, and changes nothing,
  /// when check() does. When the bytes cannot be read again, the variables have no values.
  Result<> load(const SavedBytes& saved);
  /// Returns the step. Fails for a damaged checkpoint, one of a job with another number of servers,
  /// and one with other variables.
  Result<uint64_t> check(const SavedBytes& saved) const;

 private:
  using Asked = PsIncoming;
  using Verdict = Result<std::optional<PsReply>>;  ///< none: the reply comes later
  struct WaitingDeclare {
    Asked asked;
    DeclareRequest request;
  };
  Verdict on(const Asked& asked, const DeclareRequest& request);
  Verdict on(const Asked& asked, const PushRequest& request);
  Verdict on(const Asked& asked, const CommitRequest& request);
  Verdict on(const Asked& asked, const PullRequest& request);
  Verdict on(const Asked& asked, const ModeRequest& request);
  Verdict on(const Asked& asked, const SaveRequest& request);
  Verdict on(const Asked& asked, const LoadRequest& request);
  Verdict on(const Asked& asked, const BarrierRequest& request);
  Verdict on(const Asked& asked, const StatusRequest& request);
  Verdict on(const Asked& asked, const LeaveRequest& request);
  Verdict on(const Asked& asked, const AttachRequest& request);

  struct Saved;
  Result<Saved> check_head(SavedReader& reader) const;
  bool coordinates() const { return options_.server == 0; }
  void restarted(uint32_t worker, uint32_t attempt);
  Result<> require_coordinator() const;
  bool only_reads(const PsRequest& request) const;
  void repeat(const Asked& asked, PsReply answer);
  void drop_requests(uint32_t worker);
  void reply(const Asked& asked, PsReply reply, std::optional<uint64_t> step = {});
  void reply_error(const Asked& asked, Error error);
  void deliver(const Asked& asked, uint32_t attempt, PsReply& reply, std::optional<uint64_t> step);
  void answer_waits();
  void answer_declares();

  Options options_;
  StepCoordinator coordinator_;
  VariableStore store_;
  WorkerSessions sessions_;
  std::vector<WaitingDeclare> declares_;
  std::vector<PsDelivery> deliveries_;
  std::vector<PsFileRequest> file_requests_;
  bool silent_ = false;
};

}  // namespace dt
