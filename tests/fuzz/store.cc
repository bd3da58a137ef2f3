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
constexpr StoreLimits limits = {
    .keys = 6, .bytes = 200, .waits_per_client = 3, .watches_per_client = 3};

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

/// The store with its clients. One client, the observer, watches every key. The changes that it
/// receives must add up to the values that the store returns.
class World {
 public:
  World() {
    assert(store_.join(observer, {"worker", 0}, 1));
    clients_[0] = observer;
    ask(observer, WatchRequest{""});
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
    hear();
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
    if (clients_[task]) ask(*clients_[task], *request);
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

  void ask(ClientId client, const Request& request) {
    const uint32_t id = next_request_++;
    asked_[{client, id}] = deadline_of(request, now_);
    store_.handle(client, id, request, now_);
    hear();
    if (const auto* get = std::get_if<GetRequest>(&request); get != nullptr && !last_.error) {
      const auto known = values_.find(get->key);
      assert(last_.value == (known == values_.end() ? std::nullopt : std::optional(known->second)));
    }
    if (const auto* collect = std::get_if<CollectRequest>(&request);
        collect != nullptr && collect->count == 0 && !last_.error) {
      check_collected(collect->prefix);
    }
    const auto waiting = std::ranges::count_if(
        asked_, [client](const auto& entry) { return entry.first.first == client; });
    assert(static_cast<size_t>(waiting) <= limits.waits_per_client);
  }

  void check_collected(const std::string& prefix) const {
    std::vector<StoreEntry> expected;
    for (const auto& [key, value] : values_) {
      if (key.starts_with(prefix)) expected.push_back({key, value});
    }
    assert(decode_entries(last_.value.value()).value() == expected);
  }

  void hear() {
    for (const Delivery& delivery : store_.take_deliveries()) {
      for (const ClientId client : delivery.clients)
        assert(std::ranges::count(clients_, client) == 1);
      std::visit([&](const auto& message) { hear(delivery, message); }, delivery.message);
    }
    size_t bytes = 0;
    for (const auto& [key, value] : values_)
      bytes += key.size() + value.size();
    assert(values_.size() <= limits.keys && bytes <= limits.bytes);
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
  void hear(const Delivery& delivery, const Change& change) {
    assert(std::ranges::count(delivery.clients, observer) == 1);
    assert(decode_change(encode(change)).value() == change);
    if (change.value) {
      values_[change.key] = *change.value;
    } else {
      assert(values_.erase(change.key) == 1);
    }
  }

  Store store_{small_table(), limits};
  Time now_ = Time() + seconds(1000);
  std::array<std::optional<ClientId>, workers> clients_;
  ClientId next_client_ = observer + 1;
  uint32_t next_request_ = 1;
  std::map<std::pair<ClientId, uint32_t>, Time> asked_;  // requests without a reply: deadlines
  std::map<std::string, Bytes> values_;                  // by the changes sent to the observer
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
