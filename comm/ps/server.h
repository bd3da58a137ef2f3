#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/ps/message_connection.h"
#include "comm/ps/state/server_state.h"
#include "comm/transport/peer_listener.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The key under which a parameter server publishes its endpoint: "ps/ps/0/endpoint", which is the
/// prefix of no other one.
std::string ps_endpoint_key(const TaskId& task);

/// A parameter server: the task of this process, which has no rank. It serves all tasks of the job
/// that connect, at any time. One thread and one poll(2), which sleeps while no task asks.
class PsServer {
 public:
  struct Options {
    Claim claim;
    uint16_t held_port = 0;  ///< as in PeerListener::Options
    Duration dead_after = seconds(5);
    PsLimits limits = {};
    size_t message_bytes_max = ps_message_bytes_max;
    std::string checkpoint = {};    ///< the beginning of the files' names; empty: none are made
    uint64_t checkpoint_every = 0;  ///< steps; 0: only at the end
    int stop_fd = -1;               ///< the server ends when it is readable; -1: none
    std::function<void(const std::string& text)> report = {};  ///< gets warnings and news
  };
  /// Restores the last checkpoint that all servers have, listens, and publishes the endpoint.
  /// Requires that `client` outlives the server.
  static Result<std::unique_ptr<PsServer>> start(RendezvousClient& client, Options options,
                                                 Time deadline);
  PsServer(const PsServer&) = delete;
  PsServer& operator=(const PsServer&) = delete;

  /// Serves until all ranked tasks have died or left, or until it is stopped; then makes the last
  /// checkpoint. Fails with Errc::closed when the launcher is lost.
  Result<> run();

 private:
  struct Client {
    std::unique_ptr<MessageConnection> connection;
    bool ready = true;
  };
  PsServer(RendezvousClient& client, Options options);
  Result<> restore(Time deadline);
  Result<> listen(Time deadline);
  Result<bool> round();
  void wait();
  void accept();
  Result<> admit(PeerHandshake& handshake) const;
  Result<> read_rendezvous();
  void advance(uint32_t worker, Client& client);
  void serve_files();
  Result<> serve_file(const PsFileRequest& request);
  void deliver();
  void keep_checkpoint();
  Result<> save_step();
  std::optional<uint32_t> number_of(const TaskId& task) const;
  void report(const std::string& text) const;

  RendezvousClient& client_;
  Options options_;
  uint32_t index_ = 0;
  uint32_t servers_ = 0;
  std::unique_ptr<PsServerState> state_;
  std::optional<PeerListener> listener_;
  std::map<uint32_t, Client> clients_;  ///< by the worker's number
  uint64_t saved_step_ = 0;
  std::vector<pollfd> polled_;
  bool stopped_ = false;
  bool rendezvous_ready_ = true;
};

}  // namespace dt
