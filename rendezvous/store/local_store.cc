#include "rendezvous/store/local_store.h"

#include <cassert>
#include <utility>
#include <variant>

namespace dt {

namespace {

constexpr ClientId only_client = 1;

TaskTable table_of_one() {
  return {.job = "alone", .generation = 0, .tasks = {{.id = {"worker", 0}, .rank = 0, .host = {}}}};
}

}  // namespace

LocalStore::LocalStore(StoreLimits limits) : store_(table_of_one(), limits) {
  const Result<> joined = store_.join(only_client, {"worker", 0}, 0);
  assert(joined);
}

Result<uint32_t> LocalStore::post(const Request& request, Time now) {
  const uint32_t id = ++last_request_;
  asked_.insert(id);
  store_.handle(only_client, id, request, now);
  collect();
  return id;
}

std::optional<Reply> LocalStore::take_reply(uint32_t id) {
  const auto at = replies_.find(id);
  if (at == replies_.end()) return std::nullopt;
  Reply reply = std::move(at->second);
  replies_.erase(at);
  return reply;
}

void LocalStore::forget(uint32_t id) {
  asked_.erase(id);
  replies_.erase(id);
}

void LocalStore::expire(Time now) {
  if (now < store_.next_deadline()) return;
  store_.expire(now);
  collect();
}

void LocalStore::collect() {
  for (Delivery& delivery : store_.take_deliveries()) {
    if (const auto* shared = std::get_if<SharedReply>(&delivery.message))
      delivery.message = decode_reply(*shared->encoded).value();
    Reply* reply = std::get_if<Reply>(&delivery.message);
    if (reply != nullptr && asked_.erase(delivery.request) > 0)
      replies_.emplace(delivery.request, std::move(*reply));
  }
}

}  // namespace dt
