#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/collections.h"
#include "rendezvous/store/membership.h"
#include "rendezvous/store/wait_list.h"
#include "rendezvous/store/wire.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

/// The limits of a store. key_bytes_max and value_bytes_max limit a single request.
struct StoreLimits {
  size_t keys = 65'536;
  size_t bytes = size_t{256} << 20;  ///< of all keys and values together
  size_t waits_per_client = 256;
};

/// A reply to many requests, encoded once.
struct SharedReply {
  std::shared_ptr<const Bytes> encoded;
};

/// A message to send: the reply to one client's request, or a notice for many clients.
struct Delivery {
  std::vector<ClientId> clients;
  uint32_t request = 0;  ///< the number of the request that a Reply or a SharedReply answers
  std::variant<Reply, Notice, SharedReply> message;
};

/// The state and the decisions of the rendezvous of one generation: keys, waits and members.
/// Requests and times go in, deliveries come out; no I/O.
///
/// Promises: each request gets exactly one reply, unless its client disconnects first. A wait gets
/// its reply at its deadline at the latest, if expire() is called then.
class Store {
 public:
  explicit Store(TaskTable table, StoreLimits limits = {});

  /// Called when a client has proved the token and claims this task. From now on it may send
  /// requests, and receives notices.
  Result<> join(ClientId client, const TaskId& task, int64_t pid, uint32_t attempt = first_attempt);
  /// Removes the ephemeral keys and waits of a connection.
  void disconnect(ClientId client);
  /// Called when a task died, left or was restarted: notifies all clients, once.
  void note(const Notice& notice);
  /// Handles a request. An earlier attempt of a task that was restarted gets Errc::refused.
  void handle(ClientId client, uint32_t id, Request request, Time now);
  /// Replies to the waits whose deadline has passed.
  void expire(Time now);
  /// Extends the deadline of every wait.
  void postpone(Duration by);
  Time next_deadline() const {
    return std::min(waits_.next_deadline(), collections_.next_deadline());
  }
  std::vector<Delivery> take_deliveries();

  /// Returns the first message for a client.
  Bytes welcome(ClientId client, Duration dead_after, const EngineSettings& engine = {}) const;
  const Membership& membership() const { return membership_; }
  /// Returns the value of a key; null without it.
  const Bytes* find(const std::string& key) const;

 private:
  struct Entry {
    Bytes value;
    std::optional<ClientId> owner;  ///< of an ephemeral key
  };
  struct Client {
    std::set<std::string> ephemeral;
  };
  struct Asked {
    ClientId client = 0;
    uint32_t id = 0;
    Time now;
  };
  /// None: the reply comes later.
  using Answer = Result<std::optional<Reply>>;

  Answer on(const Asked& asked, SetRequest& request);
  Answer on(const Asked& asked, const GetRequest& request);
  Answer on(const Asked& asked, const WaitRequest& request);
  Answer on(const Asked& asked, const AddRequest& request);
  Answer on(const Asked& asked, CompareAndSetRequest& request);
  Answer on(const Asked& asked, const EraseRequest& request);
  Answer on(const Asked& asked, const CollectRequest& request);
  static Answer on(const Asked& asked, const WaitReport& report);

  Result<> put(const std::string& key, Bytes value, std::optional<ClientId> owner);
  /// As put, but an existing key keeps its lifetime.
  Result<> replace(const std::string& key, Bytes value);
  bool erase(const std::string& key);
  void disown(const std::string& key, const Entry& entry);
  Result<> check_may_wait(ClientId client, std::string_view key) const;
  /// Returns the reply to a CollectRequest: the keys with this prefix, or that they are too long.
  Reply collected(const std::string& prefix) const;
  size_t count_keys(const std::string& prefix) const;
  void reply_to_all(const std::vector<Wait>& waits, const Reply& reply);
  void reply(ClientId client, uint32_t id, Reply reply);

  StoreLimits limits_;
  Membership membership_;
  Bytes table_;  ///< encoded once for all welcomes
  std::map<ClientId, Client> clients_;
  std::map<std::string, Entry> entries_;
  size_t bytes_ = 0;
  WaitList waits_;
  Collections collections_;
  std::vector<Delivery> deliveries_;
};

}  // namespace dt
