#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/api/init_options.h"
#include "comm/api/own_context.h"
#include "comm/training/ps/api/connect_servers.h"
#include "comm/training/strategy/worker_record.h"
#include "rendezvous/store/client.h"

#include <memory>
#include <optional>
#include <string>

namespace dt {

/// Returns the context of a process without a job.
OwnContext lone_context();

/// A task on its way into the job, for a strategy that joins by itself. It is connected to the
/// rendezvous, and to no other task. One thread at a time.
///
///   open ─▶ compare ─▶ join (all ranks wait for each other) | take (servers alone are dialed)
class JobEntry {
 public:
  /// Connects to the rendezvous. None: this process belongs to no job.
  static Result<std::optional<JobEntry>> open(const dtrain_init_options* identity);

  /// -1: this task has no rank.
  int rank() const { return client_->self().rank; }
  int workers() const { return client_->table().world_size(); }

  /// The ranks whose records compare() awaits.
  enum class Awaited : uint8_t {
    all,     ///< but it returns when one of them is gone: join() names that one
    living,  ///< all that are not gone
    first,   ///< rank 0, if it is not gone
  };
  /// Publishes this worker's record, and compares all records of other workers for this strategy.
  /// The n-th strategy of one process belongs to the n-th of another. Fails when a worker
  /// cannot take part or differs from rank 0, and blames that worker at every rank.
  Result<> compare(const WorkerRecord& own, Awaited awaited);

  /// Joins all other ranks, as dtrain_init does.
  Result<OwnContext> join();
  /// The contexts of all ranks, and of those on this host. The second one ends first.
  struct HostContexts {
    OwnContext job;
    OwnContext host;
  };
  /// Joins all other ranks, and then makes a group of those on this host.
  Result<HostContexts> join_host();
  /// Returns the connection for parameter servers.
  JoinedTask take() { return joined_task(options_, std::move(client_)); }

 private:
  JobEntry(InitOptions options, std::unique_ptr<RendezvousClient> client, Time deadline)
      : options_(std::move(options)), client_(std::move(client)), deadline_(deadline) {}
  Result<> publish(const WorkerRecord& own);
  /// Waits for awaited records, at most for `wait`, and returns all that exist.
  Result<WorkerRecords> collect(Awaited awaited, Duration wait);
  bool is_gone(int rank) const;

  InitOptions options_;
  std::unique_ptr<RendezvousClient> client_;
  Time deadline_;
  std::string prefix_ = {};  ///< of the records' keys
};

}  // namespace dt
