// The rendezvous' store under any sequence of requests, joins, deaths and times. The input is a
// list of steps. Each step has a letter for its kind, and a byte for the task. Another byte has the
// milliseconds since the last step. A request adds a byte for its length and its encoded bytes.

#include "rendezvous/store/store.h"

#include "tests/fuzz/fuzz.h"

#include <map>
#include <utility>

namespace dt {
namespace {

constexpr int workers = 4;
/// Small limits, so that short inputs reach them.
constexpr StoreLimits limits = {.keys = 6, .bytes = 200, .waits_per_client = 3};

TaskTable small_table() {
  TaskTable table{.job = "job", .generation = 1, .tasks = {}};
  for (int i = 0; i < workers; ++i)
    table.tasks.push_back({.id = {"worker", i}, .rank = i, .host = "a", .addresses = {}});
  return table;
}

/// Returns the time by which the store must have answered a request.
Time deadline_of(const Request& request, Time now) {
  return std::visit(
      [now](const auto& which) {
        if constexpr (requires { which.timeout; }) return now + which.timeout;
        return now;
      },
      request);
}

/// The values of a store, as far as the replies to requests tell.
class Values {
 public:
  struct Value {
    Bytes bytes;
    std::optional<ClientId> owner = {};
  };

  void apply(ClientId client, const SetRequest& request, const Reply&) {
    const bool ephemeral = request.lifetime == Lifetime::connection;
    by_key_[request.key] = {request.value, ephemeral ? std::optional(client) : std::nullopt};
  }
  void apply(ClientId, const AddRequest& request, const Reply& reply) {
    by_key_[request.key].bytes = to_bytes(std::to_string(reply.number));
  }
  void apply(ClientId, const CompareAndSetRequest& request, const Reply& reply) {
    if (reply.number == 1) by_key_[request.key].bytes = request.value;
  }
  void apply(ClientId, const EraseRequest& request, const Reply& reply) {
    assert(by_key_.erase(request.key) == static_cast<size_t>(reply.number));
  }
  void apply(ClientId, const GetRequest& request, const Reply& reply) const {
    const auto at = by_key_.find(request.key);
    assert(reply.value == (at == by_key_.end() ? std::nullopt : std::optional(at->second.bytes)));
  }
  void apply(ClientId, const auto&, const Reply&) const {}

  void disconnect(ClientId client) {
    std::erase_if(by_key_, [client](const auto& entry) { return entry.second.owner == client; });
  }
  std::vector<StoreEntry> with_prefix(const std::string& prefix) const {
    std::vector<StoreEntry> entries;
    for (const auto& [key, value] : by_key_) {
      if (key.starts_with(prefix)) entries.push_back({key, value.bytes});
    }
    return entries;
  }

 private:
  std::map<std::string, Value> by_key_;
};

/// The store with its clients. One client, the observer, collects every key after each request.
class World {
 public:
  World() {
    assert(store_.join(observer, {"worker", 0}, 1));
    clients_[0] = observer;
  }

  void join(size_t task) {
    const ClientId client = next_client_++;
    const auto joined = store_.join(client, {"worker", static_cast<int>(task)}, 1);
    if (!joined) return check_message(joined.error());
    assert(!clients_[task]);
    clients_[task] = client;
    static_cast<void>(decode_welcome(store_.welcome(client, seconds(5))).value());
    hear();
  }
  void disconnect(size_t task) {
    if (task == 0 || !clients_[task]) return;
    const ClientId client = *std::exchange(clients_[task], std::nullopt);
    std::erase_if(asked_, [client](const auto& entry) { return entry.first.first == client; });
    store_.disconnect(client);
    values_.disconnect(client);
    hear();
    check_all_keys();
  }
  void note(size_t task, bool dead) {
    store_.note({dead ? Notice::Kind::dead : Notice::Kind::left,
                 {"worker", static_cast<int>(task)},
                 dead ? "killed by SIGKILL" : ""});
    hear();
  }
  void request(size_t task, ByteSpan bytes) {
    const Result<Request> request = decode_request(bytes);
    if (!request) return check_message(request.error());
    if (!clients_[task]) return;
    const std::optional<Reply> reply = ask(*clients_[task], *request);
    if (reply && !reply->error) {
      std::visit([&](const auto& which) { values_.apply(*clients_[task], which, *reply); },
                 *request);
    }
    check_all_keys();
  }
  void advance(Duration step) {
    now_ += step;
    store_.expire(now_);
    hear();
    assert(store_.next_deadline() > now_);
    for (const auto& [request, deadline] : asked_)
      assert(deadline > now_);
  }
  /// After the last deadline, no request is without its reply.
  void end() {
    advance(timeout_max + seconds(1));
    assert(asked_.empty());
    assert(store_.next_deadline() == Time::max());
  }

 private:
  static constexpr ClientId observer = 1;

  /// Returns the reply, if it comes at once.
  std::optional<Reply> ask(ClientId client, const Request& request) {
    const uint32_t id = next_request_++;
    asked_[{client, id}] = deadline_of(request, now_);
    store_.handle(client, id, request, now_);
    hear();
    const auto waiting = std::ranges::count_if(
        asked_, [client](const auto& entry) { return entry.first.first == client; });
    assert(static_cast<size_t>(waiting) <= limits.waits_per_client);
    if (const auto* collect = std::get_if<CollectRequest>(&request);
        collect != nullptr && collect->count == 0 && !last_.error) {
      assert(decode_entries(last_.value.value()).value() == values_.with_prefix(collect->prefix));
    }
    return asked_.contains({client, id}) ? std::nullopt : std::optional(last_);
  }

  void check_all_keys() {
    ask(observer, CollectRequest{"", 0, {}});
    const std::vector<StoreEntry> all = values_.with_prefix("");
    size_t bytes = 0;
    for (const StoreEntry& entry : all)
      bytes += entry.key.size() + entry.value.size();
    assert(all.size() <= limits.keys && bytes <= limits.bytes);
  }

  void hear() {
    for (const Delivery& delivery : store_.take_deliveries()) {
      for (const ClientId client : delivery.clients)
        assert(std::ranges::count(clients_, client) == 1);
      std::visit([&](const auto& message) { hear(delivery, message); }, delivery.message);
    }
  }
  void hear(const Delivery& delivery, const Reply& reply) {
    assert(delivery.clients.size() == 1);
    assert(asked_.erase({delivery.clients[0], delivery.request}) == 1);
    if (reply.error) check_message(*reply.error);
    assert(decode_reply(encode(reply)).value() == reply);
    last_ = reply;
  }
  void hear(const Delivery& delivery, const SharedReply& reply) {
    hear(delivery, decode_reply(*reply.encoded).value());
  }
  void hear(const Delivery&, const Notice& notice) {
    assert(decode_notice(encode(notice)).value() == notice);
  }

  Store store_{small_table(), limits};
  Time now_ = Time() + seconds(1000);
  std::array<std::optional<ClientId>, workers> clients_;
  ClientId next_client_ = observer + 1;
  uint32_t next_request_ = 1;
  std::map<std::pair<ClientId, uint32_t>, Time> asked_;  // requests without a reply: deadlines
  Values values_;
  Reply last_;
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  World world;
  Reader input(bytes);
  while (!input.rest().empty()) {
    const auto what = input.number<uint8_t>();
    const size_t task = input.number<uint8_t>() % workers;
    world.advance(milliseconds(input.number<uint8_t>()));
    switch (what) {
      case 'j':
        world.join(task);
        break;
      case 'd':
        world.disconnect(task);
        break;
      case 'k':
        world.note(task, true);
        break;
      case 'l':
        world.note(task, false);
        break;
      default:
        world.request(task,
                      input.raw(std::min<size_t>(input.number<uint8_t>(), input.rest().size())));
    }
  }
  world.end();
}

}  // namespace dt
