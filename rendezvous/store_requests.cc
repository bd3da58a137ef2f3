// What the Store does on each kind of request.

#include "base/format.h"
#include "base/text.h"
#include "rendezvous/store.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dt {

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
  Wait waiting;
  waiting.kind = Wait::Kind::key;
  waiting.name = request.key;
  waiting.deadline = asked.now + request.timeout;
  TRY(wait(asked, std::move(waiting)));
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

Store::Answer Store::on(const Asked& asked, const BarrierRequest& request) {
  TRY(check_key(request.name));
  const std::string name = printable(request.name);
  if (request.count < 1) {
    return fail(Errc::input,
                format("barrier '{}' needs a count of at least 1, not {}", name, request.count));
  }
  const std::set<WaitList::Id>& inside = waits_.named(Wait::Kind::barrier, request.name);
  const int agreed = inside.empty() ? request.count : waits_.at(*inside.begin()).count;
  if (agreed != request.count) {
    return fail(Errc::mismatch, format("barrier '{}' has a count of {} for those already in it, "
                                       "not {}",
                                       name, agreed, request.count));
  }
  if (std::ranges::any_of(waits_.of_client(asked.client),
                          [&](WaitList::Id id) { return inside.contains(id); })) {
    return fail(Errc::input, format("already in barrier '{}'", name));
  }
  if (inside.size() + 1 < static_cast<size_t>(request.count)) {
    Wait waiting;
    waiting.kind = Wait::Kind::barrier;
    waiting.name = request.name;
    waiting.count = request.count;
    waiting.deadline = asked.now + request.timeout;
    TRY(wait(asked, std::move(waiting)));
    return std::nullopt;
  }
  const std::set<WaitList::Id> all = inside;
  for (const WaitList::Id id : all) {
    const Wait passed = waits_.remove(id);
    reply(passed.client, passed.request, {});
  }
  return Reply();
}

Store::Answer Store::on(const Asked& asked, const WatchRequest& request) {
  // The empty prefix watches everything.
  if (!request.prefix.empty()) TRY(check_key(request.prefix));
  std::set<std::string>& watches = clients_.at(asked.client).watches;
  if (watches.size() >= limits_.watches_per_client && !watches.contains(request.prefix)) {
    return fail(Errc::refused, format("cannot watch '{}': {} watches are the most for one client",
                                      printable(request.prefix), limits_.watches_per_client));
  }
  watches.insert(request.prefix);
  watchers_[request.prefix].insert(asked.client);
  return Reply();
}

Store::Answer Store::on(const Asked& asked, MembersRequest& request) {
  const size_t tasks = membership_.table().tasks.size();
  if (request.tasks.size() > tasks) {
    return fail(Errc::input,
                format("cannot wait for {} tasks: this job has {}", request.tasks.size(), tasks));
  }
  for (const TaskId& task : request.tasks) {
    const Membership::State state = membership_.state(task);
    if (state == Membership::State::unknown) {
      return fail(Errc::input, format("{} is not a task of this job", printable(task.text())));
    }
    if (state == Membership::State::dead || state == Membership::State::left) {
      return fail(Errc::peer_lost, membership_.gone_text(task));
    }
  }
  Wait waiting;
  waiting.kind = Wait::Kind::member;
  waiting.tasks = std::move(request.tasks);
  waiting.deadline = asked.now + request.timeout;
  if (all_joined(waiting)) return Reply();
  TRY(wait(asked, std::move(waiting)));
  return std::nullopt;
}

}  // namespace dt
