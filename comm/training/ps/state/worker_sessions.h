#pragma once

#include "base/result.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/step_coordinator.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The workers of one parameter server, and the requests of each that have no reply yet. Only the
/// last attempt of a worker counts, and only the session of its last client. A client may come
/// back, and repeat its last request that has changed something. No I/O, no clock.
class WorkerSessions {
 public:
  /// `requests_max`: of a worker, without a reply.
  WorkerSessions(const std::vector<PsWorker>& workers, size_t requests_max);

  size_t size() const { return workers_.size(); }
  std::optional<uint32_t> find(const TaskId& task) const;
  /// "worker:0 on node1".
  std::string name(uint32_t worker) const;
  /// The last one that is known.
  uint32_t attempt(uint32_t worker) const { return workers_[worker].attempt; }
  /// True for a worker that has ended, and does not return.
  bool gone(uint32_t worker) const;
  /// "has left". Requires that it has ended.
  std::string ending(uint32_t worker) const;
  /// Fails with Errc::refused when a later attempt of the worker is known.
  Result<> check_attempt(uint32_t worker, uint32_t attempt) const;
  /// Fails also when the worker has ended.
  Result<> check_current(uint32_t worker, uint32_t attempt) const;

  /// A later attempt has begun: it has no session and no requests.
  void restart(uint32_t worker, uint32_t attempt);
  /// The worker has ended: its requests get no reply. Returns false for old news.
  bool end(uint32_t worker, const Notice& notice);
  /// Called with the first request of a client. Another client than before begins without requests.
  /// Returns false when the client has come back.
  bool begin(uint32_t worker, uint64_t session);

  void add_request(uint32_t worker) { ++workers_[worker].under_way; }
  /// Fails with Errc::refused when the worker has too many requests without a reply.
  Result<> check_requests(uint32_t worker) const;
  /// A request gets its reply. Returns false when the worker is gone.
  bool take_reply(uint32_t worker);
  /// A request changes something: its answer is kept.
  void begin_change(uint32_t worker, uint32_t request);
  void keep_answer(uint32_t worker, uint32_t request, PsReply answer);
  /// True for the last request that has changed something, from a client that has come back.
  bool repeats(uint32_t worker, uint32_t request) const;
  /// The answer to that request, without values; null: the reply is still to come.
  const PsReply* answer(uint32_t worker) const;

 private:
  /// A client of a worker, and its last request that has changed something.
  struct Session {
    uint64_t id = 0;
    bool resumed = false;  ///< its client has come back, and may repeat the request
    uint32_t last = 0;
    std::optional<PsReply> answer = {};
  };
  struct Worker {
    TaskId id;
    std::string host;
    uint32_t attempt = first_attempt;  ///< the last one that is known
    std::optional<Notice> end = {};    ///< of `attempt`
    size_t under_way = 0;              ///< requests without a reply
    Session session = {};
  };

  std::vector<Worker> workers_;
  size_t requests_max_;
};

}  // namespace dt
