#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/ps/state/messages.h"
#include "comm/ps/state/step_coordinator.h"
#include "comm/ps/state/variable_store.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A message to a worker: the encoded reply to one of its requests.
struct PsDelivery {
  uint32_t worker = 0;
  uint32_t request = 0;
  Bytes reply;
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
/// cannot be carried out gets an error, and has no effect.
class PsServerState {
 public:
  struct Options {
    std::vector<PsWorker> workers;  ///< all tasks of the job, by number
    uint32_t server = 0;            ///< this one's index; 0 coordinates the steps
    uint32_t servers = 1;
    PsLimits limits = {};
  };
  explicit PsServerState(Options options);

  void connected(uint32_t worker) { coordinator_.connected(worker); }
  /// Called when a worker's connection has ended; it may live on. Drops its waits.
  void disconnected(uint32_t worker);
  /// Called when a task has died or left.
  void gone(const Notice& notice);
  /// True when all tasks that take part have died or left the job.
  bool all_gone() const;
  /// `body` is an encoded PsRequest.
  void handle(uint32_t worker, uint32_t request, std::shared_ptr<const Bytes> body);
  /// Refuses a request that was too long to be received.
  void refuse(uint32_t worker, uint32_t request, std::string why);

  std::vector<PsDelivery> take_deliveries();
  std::vector<PsFileRequest> take_file_requests();
  /// Answers a file request. `step`: that of a file which was only checked.
  void answer(const PsFileRequest& request, const Result<>& result,
              std::optional<uint64_t> step = {});

  /// The number of updates so far.
  uint64_t step() const;
  /// Encodes all variables with their slots: of equal states, the same bytes.
  Bytes save() const;
  /// Restores what save() of the server with this index has encoded. Fails, and changes nothing,
  /// when the job has another number of servers or other variables.
  Result<> load(ByteSpan saved);
  /// Checks as load() does, and returns the step. Changes nothing.
  Result<uint64_t> check(ByteSpan saved) const;

 private:
  using Verdict = Result<std::optional<PsReply>>;  ///< none: the reply comes later
  struct Asked {
    uint32_t worker = 0;
    uint32_t request = 0;
    std::shared_ptr<const Bytes> body;
  };
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

  bool coordinates() const { return options_.server == 0; }
  Result<> require_coordinator() const;
  Result<> admit(const Asked& asked);
  void reply(const Asked& asked, PsReply reply, std::optional<uint64_t> step = {});
  void reply_error(const Asked& asked, Error error);
  void answer_waits();
  void answer_declares();
  std::string name(uint32_t worker) const;
  Result<uint64_t> load_into(VariableStore& store, ByteSpan saved) const;

  Options options_;
  StepCoordinator coordinator_;
  VariableStore store_;
  std::vector<std::optional<Notice>> ends_;  ///< by worker
  std::map<uint32_t, size_t> under_way_;     ///< requests without a reply, by worker
  std::vector<WaitingDeclare> declares_;
  std::vector<PsDelivery> deliveries_;
  std::vector<PsFileRequest> file_requests_;
};

}  // namespace dt
