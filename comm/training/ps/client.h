#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/peer/awake_poll.h"
#include "comm/peer/directory.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/server_dial.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/part_copy.h"
#include "comm/training/ps/state/placement.h"
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
#include <string_view>
#include <vector>

namespace dt {

/// A worker's use of the job's parameter servers. Each call blocks. For one thread at a time.
///
/// When a server dies, or a call takes too long, that call and all later ones fail. With two copies
/// of each part, the call waits for the server that takes over, and repeats its request there. A
/// request that a server refuses leaves the client usable.
class PsClient {
 public:
  struct Options {
    Claim claim;
    std::string role = "ps";  ///< of the servers
    uint32_t copies = 1;      ///< of each part, as the servers keep
    Duration dead_after = seconds(5);
    Duration call_timeout = {};         ///< of each later call; zero: none
    Placement::Options placement = {};  ///< without the number of servers
    /// Shared memory to the servers of this host. None: where each task of the host can have a
    /// core. On busier hosts, TCP moves more bytes each time that a task gets a core.
    std::optional<bool> shares_memory = {};
  };
  /// Dials all tasks of the role. Fails with Errc::input when the job has none, and with
  /// Errc::timeout, which names the servers that do not serve.
  static Result<std::unique_ptr<PsClient>> connect(std::unique_ptr<PsDirectory> directory,
                                                   Options options, Time deadline);
  PsClient(const PsClient&) = delete;
  PsClient& operator=(const PsClient&) = delete;

  using Declaration = PsDeclaration;
  /// All workers declare the same variables in one order. Returns when they have their initial
  /// values.
  Result<> declare(std::span<const Declaration> variables);

  /// One array of a call. The variable is known by its name.
  struct Array {
    std::string_view name;
    bool sparse = false;
    std::span<const int64_t> rows = {};
    ByteSpan gradient = {};
    std::span<std::byte> values = {};
  };
  struct PushOptions {
    double learning_rate = 0;  ///< 0: that of each variable
    double clip_norm = 0;      ///< 0: no clipping
  };
  struct Pushed {
    bool counted = true;  ///< false: it came too late for its step, and had no effect
    uint64_t step = 0;
    double norm = 0;  ///< of all gradients together; only with clip_norm
  };
  /// Pushes the gradients; with `pulls`, also gets the values after the push.
  Result<Pushed> push(std::span<const Array> arrays, bool pulls, const PushOptions& options);
  Result<uint64_t> pull(std::span<const Array> arrays);

  /// Returns the bytes of one number of a declared variable.
  Result<size_t> element_size(std::string_view variable) const;

  Result<> set_mode(PsMode::Kind kind, uint32_t count);
  /// Each server writes its file, "PATH.ps-0-of-2" of server 0.
  Result<> save(const std::string& path);
  /// Restores the files of save(), after all servers have checked theirs. Fails with
  /// Errc::mismatch when they are of different steps.
  Result<uint64_t> load(const std::string& path);
  Result<uint64_t> step();
  Result<> barrier();
  /// Returns the status of each server.
  Result<std::vector<PsStatus>> status();
  const PsMode& mode() const { return knowledge_.mode; }
  const TaskTable& tasks() const { return directory_->table(); }
  const TaskEntry& self() const { return directory_->self(); }
  std::string table() const { return placement_.table(); }
  /// Returns the directory for another thread.
  Result<std::unique_ptr<PsDirectory>> another_directory() { return directory_->another(); }
  const Options& options() const { return options_; }
  uint32_t servers() const { return static_cast<uint32_t>(servers_.size()); }
  /// The worker takes part no more. Waits at most `limit`.
  void leave(Duration limit);

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
  struct Variable {
    VariableSpec spec;
    std::vector<PlacedShard> shards;
  };
  using Requests = std::map<uint32_t, PsRequest>;  ///< by server
  /// Replies with the bytes that their values refer to.
  struct Replies {
    std::map<uint32_t, std::shared_ptr<const Bytes>> bodies;
    std::map<uint32_t, PsReply> decoded;
  };

  PsClient(std::unique_ptr<PsDirectory> directory, Options options);
  bool shares_memory() const;
  Result<PeerEndpoint> await_endpoint(const Server& server, Time deadline);
  Result<> connect_to(Server& server, Time deadline);
  Result<> reconnect(Server& server, Time deadline);
  Result<> send(Server& server);
  Result<> take_message(Server& server, MessageConnection::Received message);
  void expect_reply(Server& server);
  void end_request(Server& server);
  void drop_requests();
  Result<Replies> exchange(const Requests& requests, TensorSplit* values = nullptr);
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
  Result<PsReply> ask_coordinator(const PsRequest& request);
  Result<Replies> ask_all(const PsRequest& request);
  Result<const Variable*> find(std::string_view name) const;
  Result<std::vector<PsTensor>> tensors_of(std::span<const Array> arrays) const;
  Requests requests_of(const PushTurn& turn, const TensorSplit& split,
                       const PushRequest& terms) const;

  std::unique_ptr<PsDirectory> directory_;
  Options options_;
  std::vector<Server> servers_;   ///< by part
  std::vector<TaskEntry> tasks_;  ///< of the servers
  PsServers ring_;
  uint64_t session_ = 0;
  Placement placement_;
  std::map<std::string, Variable, std::less<>> variables_;
  PsKnowledge knowledge_;
  TensorSplit* values_ = nullptr;  ///< the place for the replies of the requests under way
  bool initializes_ = false;       ///< this is the first rank
  uint32_t last_request_ = 0;
  AwakePoll poll_;
  Fd doorbell_;  ///< servers of this host ring it; none without them
  std::vector<MessageConnection*> waiting_;
  std::optional<Error> broken_;
};

}  // namespace dt
