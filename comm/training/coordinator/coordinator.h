#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/rendezvous_view.h"
#include "comm/training/coordinator/closure_schedule.h"
#include "comm/transport/peer_listener.h"
#include "rendezvous/secure/handshake.h"

#include <poll.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace dt {

/// The key under which a coordinator publishes its endpoint, which is the prefix of no other one.
std::string coordinator_endpoint_key(const TaskId& task);

/// Schedules closures on the workers that connect to this task. A thread of its own has the
/// connections, and sleeps while nothing happens. Any thread may call its functions.
class Coordinator {
 public:
  struct Options {
    std::unique_ptr<RendezvousView> rendezvous;
    Claim claim;
    uint16_t held_port = 0;  ///< as in PeerListener::Options
    Duration dead_after = seconds(5);
    std::string workers = "worker";          ///< their role
    ClosureSchedule::Options schedule = {};  ///< without the workers
  };
  /// Listens and publishes the endpoint. Fails with Errc::input when the job has too few tasks of
  /// the workers' role.
  static Result<std::unique_ptr<Coordinator>> start(Options options, Time deadline);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  /// Ends the workers' service. Waits at most two seconds for closures that run; others are
  /// dropped.
  ~Coordinator();

  /// As ClosureSchedule::add().
  Result<uint64_t> schedule(std::string_view name, ByteSpan argument, bool kept);
  /// Returns when all closures have finished. Fails with the first error of those since the last
  /// call, and with Errc::timeout at the deadline.
  Result<> join(Time deadline);
  /// Waits for the end of a kept closure and takes its result or error. Fails with Errc::input when
  /// there is no such closure, and with Errc::timeout at the deadline.
  Result<Bytes> fetch(uint64_t closure, Time deadline);
  /// True if all closures have finished.
  bool done();

 private:
  /// The messages to and from one worker.
  struct Connection {
    std::unique_ptr<MessageConnection> messages;
    bool ready = true;
  };
  explicit Coordinator(Options options);
  Result<> listen(Time deadline);
  Result<> start_thread();
  void work();
  void round();
  void wait();
  void accept();
  Result<> admit(PeerHandshake& handshake) const;
  void read_rendezvous();
  void advance(size_t worker, Connection& connection);
  void deliver();
  bool send(size_t worker, uint32_t number, Bytes message);
  void end_service();
  void disconnect(size_t worker);
  std::optional<size_t> number_of(const TaskId& task) const;
  Result<> await(const std::function<bool()>& reached, std::optional<uint64_t> closure,
                 std::unique_lock<std::mutex>& lock, Time deadline);

  Options options_;
  std::vector<TaskEntry> workers_;
  std::mutex mutex_;                 ///< of schedule_ and ending_
  std::condition_variable changed_;  ///< closures have finished
  ClosureSchedule schedule_;
  bool ending_ = false;
  // The members below belong to the thread once it runs.
  Fd doorbell_;
  std::optional<PeerListener> listener_;
  std::map<size_t, Connection> connections_;
  std::vector<pollfd> polled_;
  Time wake_up_at_ = {};  ///< without an event
  bool rendezvous_lost_ = false;
  std::optional<Time> end_at_;  ///< the end of the service, at the latest
  std::thread thread_;
};

}  // namespace dt
