#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/rendezvous_view.h"
#include "comm/peer/server_dial.h"
#include "comm/peer/spin_poll.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/part_copy.h"
#include "comm/training/ps/state/push_turn.h"
#include "comm/training/ps/tensor_split.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The connections of a worker to the servers of all parts. Carries requests to them, and their
/// replies back. For one thread at a time.
///
/// When a server dies, or a request takes too long, that exchange and all later ones fail. With two
/// copies of each part, the exchange waits for the server that takes over, and repeats its request
/// there.
class ServerLinks {
 public:
  struct Options {
    Claim claim;
    std::string role = "ps";  ///< of the servers
    uint32_t copies = 1;      ///< of each part, as the servers keep
    Duration dead_after = seconds(5);
    Duration call_timeout = {};  ///< of each later call; zero: none
    /// Shared memory to the servers of this host. None: where each task of the host can have a
    /// core. On busier hosts, TCP moves more bytes each time that a task gets a core.
    std::optional<bool> shares_memory = {};
  };
  /// `knowledge` learns from the reply by which the server of part 0 accepts a connection. It
  /// outlives this object.
  ServerLinks(std::unique_ptr<RendezvousView> rendezvous, Options options, PsKnowledge& knowledge);
  ServerLinks(const ServerLinks&) = delete;
  ServerLinks& operator=(const ServerLinks&) = delete;

  /// Dials all tasks of the role. Fails with Errc::input when the job has none, and with
  /// Errc::timeout, which names the servers that do not serve.
  Result<> connect(Time deadline);

  using Requests = std::map<uint32_t, PsRequest>;  ///< by part
  /// Replies with the bytes that their values refer to.
  struct Replies {
    std::map<uint32_t, std::shared_ptr<const Bytes>> bodies;
    std::map<uint32_t, PsReply> decoded;
  };
  /// Sends the requests, and returns the reply to each. With `values`, long values of the replies
  /// are received where they belong.
  Result<Replies> exchange(const Requests& requests, TensorSplit* values = nullptr);
  /// Limits the time of each later exchange.
  void limit_calls(Duration limit) { options_.call_timeout = limit; }
  bool broken() const { return broken_.has_value(); }

  /// The number of servers, and of parts.
  uint32_t count() const { return static_cast<uint32_t>(servers_.size()); }
  /// The server that has the part now.
  const TaskEntry& server(uint32_t part) const { return servers_[part].task; }
  const TaskTable& tasks() const { return rendezvous_->table(); }
  const TaskEntry& self() const { return rendezvous_->self(); }
  /// Returns a view for another thread.
  Result<std::unique_ptr<RendezvousView>> another_view() { return rendezvous_->another(); }
  const Options& options() const { return options_; }

 private:
  /// The part of one server by placement.
  struct Server {
    TaskEntry task;  ///< of the server that has taken over, if one has
    std::unique_ptr<MessageConnection> connection = {};
    std::optional<uint32_t> attach = {};  ///< the connection's first request, while it is under way
    std::optional<uint32_t> request = {};           ///< under way
    std::shared_ptr<const MessageParts> body = {};  ///< of that request
    std::shared_ptr<const Bytes> reply = {};
  };
  bool shares_memory() const;
  Result<PeerEndpoint> await_endpoint(const Server& server, Time deadline);
  Result<> connect_to(Server& server, Time deadline);
  Result<> reconnect(Server& server, Time deadline);
  Result<> send(Server& server);
  Result<> take_message(Server& server, MessageConnection::Received message);
  void expect_reply(Server& server);
  void end_request(Server& server);
  void drop_requests();
  Result<> send_all(const Requests& requests);
  std::optional<std::span<std::byte>> place(uint32_t server,
                                            const MessageConnection::Arriving& arriving);
  Result<> await_replies(Time deadline);
  Result<bool> advance(Server& server);
  void wait(Time deadline);
  Result<> read_rendezvous();
  void server_ended(uint32_t number, const Notice& notice);
  Result<> await_notice(const Server& server, Time deadline);
  Result<> lost(Server& server, const Error& why);
  uint32_t part_of(const Server& server) const;

  std::unique_ptr<RendezvousView> rendezvous_;
  Options options_;
  PsKnowledge& knowledge_;
  std::vector<Server> servers_;   ///< by part
  std::vector<TaskEntry> tasks_;  ///< of the servers
  PsServers ring_;
  uint64_t session_ = 0;
  TensorSplit* values_ = nullptr;  ///< the place for the replies of the requests under way
  uint32_t last_request_ = 0;
  SpinPoll poll_;
  Fd doorbell_;  ///< servers of this host ring it; none without them
  std::vector<MessageConnection*> waiting_;
  std::optional<Error> broken_;
};

}  // namespace dt
