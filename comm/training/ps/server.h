#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/server_dial.h"
#include "comm/peer/spin_poll.h"
#include "comm/training/ps/replica_connection.h"
#include "comm/training/ps/served_part.h"
#include "comm/training/ps/state/part_copy.h"
#include "comm/training/ps/state/server_state.h"
#include "comm/training/ps/task_connections.h"
#include "comm/transport/peer_listener.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A parameter server: the task of this process, which has no rank. It serves all tasks of the job
/// that connect, at any time. One thread and one poll(2), which sleeps while no task asks.
///
/// With two copies of each part, the next server follows this one: a ReplicaConnection leads there.
/// The server before this one connects as a client of its own kind, which sends its inputs. When
/// the launcher reports that server's death, this one takes over its part. Connections of workers
/// wait until then.
class PsServer {
 public:
  struct Options {
    Claim claim;
    uint16_t held_port = 0;  ///< as in PeerListener::Options
    Duration dead_after = seconds(5);
    PsLimits limits = {};
    uint32_t copies = 1;  ///< of each part, on as many servers: 1 or 2
    size_t message_bytes_max = ps_message_bytes_max;
    std::string checkpoint = {};    ///< the beginning of the files' names; empty: none are made
    uint64_t checkpoint_every = 0;  ///< steps; 0: only at the end
    int stop_fd = -1;               ///< the server ends when it is readable; -1: none
    std::function<void(const std::string& text)> report = {};  ///< gets warnings and news
  };
  /// Restores the last checkpoint that all servers have, listens, and publishes the endpoint. With
  /// two copies, connects to the other servers before. A restarted server restores its own last
  /// checkpoint. Fails with Errc::input for a restarted server of several, since the others have
  /// values of another step, and for checkpoints that cannot be written. Requires that `client`
  /// outlives the server.
  static Result<std::unique_ptr<PsServer>> start(RendezvousClient& client, Options options,
                                                 Time deadline);
  PsServer(const PsServer&) = delete;
  PsServer& operator=(const PsServer&) = delete;

  /// Serves until all ranked tasks have died or left, or until it is stopped; then makes the last
  /// checkpoint. Fails with Errc::closed when the launcher is lost.
  Result<> run();

 private:
  PsServer(RendezvousClient& client, Options options);
  Result<> restore(Time deadline);
  Result<> listen(Time deadline);
  Result<> connect_replica(Time deadline);
  Result<> dial_replica(const TaskEntry& next, Time deadline);
  Result<> await_server(const TaskEntry& other, const std::function<bool()>& done, Time deadline);
  Result<bool> round();
  void wait(Time until);
  void accept();
  void add_connection(AuthenticatedConnection connection, uint32_t task, uint32_t attempt);
  Result<> admit(PeerHandshake& handshake) const;
  Result<> read_rendezvous();
  void note(const Notice& notice);
  Result<> server_ended(uint32_t server, const Notice& notice);
  void take_over(uint32_t server, bool died);
  Result<> advance_replica();
  void advance_connections();
  void advance(TaskConnection& client);
  Result<> receive(TaskConnection& client, MessageConnection::Received message);
  Result<> attach(TaskConnection& client, MessageConnection::Received message);
  Result<> acknowledge(TaskConnection& client);
  void close(TaskConnection& client, const Error& why);
  bool all_gone() const;
  bool is_previous(uint32_t number) const;
  bool is_stopped();
  ServedPart& own() { return parts_.at(index_); }
  const ServedPart& own() const { return parts_.at(index_); }
  const TaskEntry& task(uint32_t number) const { return client_.table().tasks[number]; }
  std::optional<uint32_t> number_of(const TaskId& task) const;
  void report(const std::string& text) const;

  RendezvousClient& client_;
  Options options_;
  std::vector<uint32_t> servers_;  ///< numbers of their tasks, in the order of their indices
  uint32_t index_ = 0;             ///< of this server, among them
  PsServers ring_;
  std::map<uint32_t, ServedPart> parts_;
  std::optional<PeerListener> listener_;
  Fd doorbell_;  ///< tasks of this host ring it; none with --transport tcp
  TaskConnections connections_;
  std::unique_ptr<ReplicaConnection> replica_;
  std::vector<Notice> notices_;  ///< the last one about each other task
  std::vector<pollfd> polled_;
  std::vector<MessageConnection*> waiting_;
  SpinPoll poll_;
  bool connected_ = false;  ///< to the other servers, if they are needed
  bool stopped_ = false;
  bool rendezvous_ready_ = true;
};

}  // namespace dt
