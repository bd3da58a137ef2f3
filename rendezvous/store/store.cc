#include "rendezvous/store/store.h"

#include "base/format.h"
#include "base/text.h"

#include <cassert>
#include <utility>

namespace dt {

namespace {

Reply error_reply(Errc code, std::string message) {
  return {.error = Error{code, std::move(message)}};
}

}  // namespace

Store::Store(TaskTable table, StoreLimits limits) : limits_(limits), membership_(std::move(table)) {
  Writer writer;
  encode(writer, membership_.table());
  table_ = writer.take();
}

Result<> Store::join(ClientId client, const TaskId& task, int64_t pid, uint32_t attempt) {
  TRY(membership_.join(task, client, pid, attempt));
  clients_.emplace(client, Client());
  return {};
}

void Store::disconnect(ClientId client) {
  const auto at = clients_.find(client);
  if (at == clients_.end()) return;
  const Client gone = std::move(at->second);
  clients_.erase(at);
  const std::set<WaitList::Id> waiting = waits_.of_client(client);
  for (const WaitList::Id id : waiting)
    waits_.remove(id);
  collections_.remove_client(client);
  for (const std::string& key : gone.ephemeral)
    erase(key);
  membership_.disconnect(client);
}

void Store::note(const Notice& notice) {
  if (!membership_.note(notice)) return;
  std::vector<ClientId> all;
  all.reserve(clients_.size());
  for (const auto& [client, state] : clients_)
    all.push_back(client);
  deliveries_.push_back({std::move(all), 0, notice});
}

void Store::handle(ClientId client, uint32_t id, Request request, Time now) {
  assert(clients_.contains(client));
  const Asked asked{client, id, now};
  const auto carry_out = [&]() -> Answer {
    TRY(membership_.check_current(client));
    return std::visit([&](auto& which) { return on(asked, which); }, request);
  };
  Answer answer = carry_out();
  if (!answer) {
    reply(client, id, {.error = std::move(answer).error()});
    return;
  }
  std::optional<Reply>& now_known = *answer;
  if (now_known) reply(client, id, *std::move(now_known));
}

Store::Answer Store::on(const Asked& asked, SetRequest& request) {
  const bool ephemeral = request.lifetime == Lifetime::connection;
  TRY(put(request.key, std::move(request.value),
          ephemeral ? std::optional(asked.client) : std::nullopt));
  return Reply();
}

Store::Answer Store::on(const Asked&, const GetRequest& request) {
  TRY(check_key(request.key));
  const Bytes* value = find(request.key);
  return value == nullptr ? Reply() : Reply{.value = *value};
}

Store::Answer Store::on(const Asked& asked, const WaitRequest& request) {
  TRY(check_key(request.key));
  if (find(request.key) != nullptr) return Reply();
  TRY(check_may_wait(asked.client, request.key));
  waits_.add({.key = request.key,
              .client = asked.client,
              .request = asked.id,
              .deadline = asked.now + request.timeout});
  return std::nullopt;
}

Store::Answer Store::on(const Asked&, const AddRequest& request) {
  TRY(check_key(request.key));
  int64_t sum = 0;
  if (const Bytes* value = find(request.key)) {
    const auto number = parse_integer(as_text(*value));
    if (!number) {
      return fail(Errc::input, format("'{}' holds no decimal number to add to: '{}'",
                                      shown_key(request.key), printable(as_text(*value), 40)));
    }
    sum = *number;
  }
  if (__builtin_add_overflow(sum, request.amount, &sum)) {
    return fail(Errc::input, format("'{}' would overflow 64 bits", shown_key(request.key)));
  }
  TRY(replace(request.key, to_bytes(format("{}", sum))));
  return Reply{.number = sum};
}

Store::Answer Store::on(const Asked&, CompareAndSetRequest& request) {
  TRY(check_key(request.key));
  const Bytes* value = find(request.key);
  const bool as_expected =
      request.expected ? value != nullptr && *value == *request.expected : value == nullptr;
  if (as_expected) {
    TRY(replace(request.key, std::move(request.value)));
    return Reply{.number = 1};
  }
  return value == nullptr ? Reply() : Reply{.value = *value};
}

Store::Answer Store::on(const Asked&, const EraseRequest& request) {
  TRY(check_key(request.key));
  return Reply{.number = erase(request.key) ? 1 : 0};
}

Store::Answer Store::on(const Asked& asked, const CollectRequest& request) {
  // The empty prefix is valid: it matches every key.
  if (!request.prefix.empty()) TRY(check_key(request.prefix));
  const size_t present = count_keys(request.prefix);
  if (present >= request.count) return collected(request.prefix);
  TRY(check_may_wait(asked.client, request.prefix));
  collections_.add({request.prefix, request.count}, present,
                   {.key = {},
                    .client = asked.client,
                    .request = asked.id,
                    .deadline = asked.now + request.timeout});
  return std::nullopt;
}

/// The server has passed it on.
Store::Answer Store::on(const Asked& /*asked*/, const WaitReport& /*report*/) {
  return Reply();
}

const Bytes* Store::find(const std::string& key) const {
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second.value;
}

Result<> Store::put(const std::string& key, Bytes value, std::optional<ClientId> owner) {
  TRY(check_key(key));
  TRY(check_value(key, value));
  const auto at = entries_.find(key);
  const bool is_new = at == entries_.end();
  if (is_new && entries_.size() >= limits_.keys) {
    return fail(Errc::refused, format("cannot set '{}': the job has {} keys, the most there may be",
                                      shown_key(key), entries_.size()));
  }
  const size_t before = is_new ? 0 : key.size() + at->second.value.size();
  const size_t after = bytes_ - before + key.size() + value.size();
  if (after > limits_.bytes) {
    return fail(Errc::refused, format("cannot set '{}': the job's values would take {} bytes, at "
                                      "most {} are allowed",
                                      shown_key(key), after, limits_.bytes));
  }
  bytes_ = after;
  if (!is_new) disown(key, at->second);
  if (owner) clients_.at(*owner).ephemeral.insert(key);
  entries_[key] = Entry{std::move(value), owner};
  const std::set<WaitList::Id> waiting = waits_.for_key(key);
  for (const WaitList::Id id : waiting) {
    const Wait waited = waits_.remove(id);
    reply(waited.client, waited.request, {});
  }
  if (!is_new) return {};
  for (const Collections::Goal& goal : collections_.key_added(key))
    reply_to_all(collections_.take(goal), collected(goal.prefix));
  return {};
}

Result<> Store::replace(const std::string& key, Bytes value) {
  const auto at = entries_.find(key);
  return put(key, std::move(value), at == entries_.end() ? std::nullopt : at->second.owner);
}

bool Store::erase(const std::string& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return false;
  bytes_ -= key.size() + at->second.value.size();
  disown(key, at->second);
  entries_.erase(at);
  collections_.key_erased(key);
  return true;
}

void Store::disown(const std::string& key, const Entry& entry) {
  if (!entry.owner) return;
  const auto owner = clients_.find(*entry.owner);
  if (owner != clients_.end()) owner->second.ephemeral.erase(key);
}

Result<> Store::check_may_wait(ClientId client, std::string_view key) const {
  const size_t waits = waits_.of_client(client).size() + collections_.of_client(client);
  if (waits < limits_.waits_per_client) return {};
  return fail(Errc::refused, format("cannot wait for '{}': {} waits are the most for one client",
                                    shown_key(key), limits_.waits_per_client));
}

size_t Store::count_keys(const std::string& prefix) const {
  size_t count = 0;
  for (auto at = entries_.lower_bound(prefix);
       at != entries_.end() && at->first.starts_with(prefix); ++at)
    ++count;
  return count;
}

Reply Store::collected(const std::string& prefix) const {
  std::vector<StoreEntry> entries;
  size_t bytes = 0;
  for (auto at = entries_.lower_bound(prefix);
       at != entries_.end() && at->first.starts_with(prefix); ++at) {
    const auto& [key, entry] = *at;
    bytes += key.size() + entry.value.size();
    if (bytes > collected_bytes_max) {
      return error_reply(Errc::refused, format("cannot collect '{}': its keys and values have more "
                                               "than {} bytes, the most in one reply",
                                               shown_key(prefix), collected_bytes_max));
    }
    entries.push_back({key, entry.value});
  }
  return {.value = encode(entries)};
}

void Store::expire(Time now) {
  const std::vector<WaitList::Id> due = waits_.due(now);
  for (const WaitList::Id id : due) {
    const Wait given_up = waits_.remove(id);
    std::string message = format("timed out waiting for key '{}'", shown_key(given_up.key));
    reply(given_up.client, given_up.request, error_reply(Errc::timeout, std::move(message)));
  }
  // Clients of one goal have similar deadlines, so each list is made once.
  std::map<std::string, std::vector<Wait>> by_prefix;
  for (Collections::Due& due_one : collections_.take_due(now))
    by_prefix[due_one.goal.prefix].push_back(std::move(due_one.wait));
  for (const auto& [prefix, waits] : by_prefix)
    reply_to_all(waits, collected(prefix));
}

void Store::reply(ClientId client, uint32_t id, Reply reply) {
  deliveries_.push_back({{client}, id, std::move(reply)});
}

void Store::reply_to_all(const std::vector<Wait>& waits, const Reply& reply) {
  const SharedReply shared{std::make_shared<const Bytes>(encode(reply))};
  for (const Wait& wait : waits)
    deliveries_.push_back({{wait.client}, wait.request, shared});
}

void Store::postpone(Duration by) {
  waits_.postpone(by);
  collections_.postpone(by);
}

std::vector<Delivery> Store::take_deliveries() {
  return std::exchange(deliveries_, {});
}

Bytes Store::welcome(ClientId client, Duration dead_after, const EngineSettings& engine) const {
  return encode_welcome(membership_.task_of(client), table_, membership_.gone(), dead_after,
                        engine);
}

}  // namespace dt
