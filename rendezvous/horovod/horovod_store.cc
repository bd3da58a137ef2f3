#include "rendezvous/horovod/horovod_store.h"

#include <utility>

namespace dt {

namespace {

/// Reads a path /scope/key; false when a name is empty.
template <class Path>
bool read_path(std::string_view target, Path& path) {
  if (!target.starts_with('/')) return false;
  target.remove_prefix(1);
  const size_t slash = target.find('/');
  if (slash == std::string_view::npos) return false;
  path = {target.substr(0, slash), target.substr(slash + 1)};
  return !path.scope.empty() && !path.key.empty() && path.key.find('/') == std::string_view::npos;
}

/// True for the key of a rank's host name, false for that of its addresses.
bool is_host_key(std::string_view key) {
  return key.starts_with("rank_");
}

}  // namespace

HorovodLimits HorovodLimits::for_ranks(size_t ranks) {
  // A rank is in three groups of a process set: all ranks, its host, its local rank. In each it has
  // two values, and there is the scope.
  constexpr size_t process_sets = 64;
  constexpr size_t keys_of_rank = size_t{3} * 3;
  constexpr size_t address_bytes_max = 256;
  HorovodLimits limits;
  limits.keys += process_sets * keys_of_rank * ranks;
  limits.value_bytes += address_bytes_max * ranks;
  // Process sets are connected one after the other, but two can overlap.
  limits.bytes += 2 * ranks * (address_bytes_max * ranks);
  return limits;
}

HttpLimits HorovodStore::http_limits() const {
  return {.body_bytes_max = limits_.value_bytes};
}

size_t HorovodStore::request_bytes_max() const {
  return http_limits().head_bytes_max + limits_.value_bytes;
}

HorovodStore::Served HorovodStore::serve(ByteSpan received, Bytes& out, size_t out_bytes_max) {
  Served served;
  while (!served.close && out.size() < out_bytes_max) {
    const HttpFront front = read_http_request(received.subspan(served.used), http_limits());
    if (front.status != HttpStatus::ok) {
      append_http_answer(out, front.status, {}, false);
      return {.used = received.size(), .close = true};
    }
    if (!front.request) break;
    ++requests_;
    served.used += front.length;
    served.close = !front.request->keep_alive;
    ByteSpan body;
    const HttpStatus status = answer(*front.request, &body);
    append_http_answer(out, status, body, !served.close);
  }
  return served;
}

HttpStatus HorovodStore::answer(const HttpRequest& request, ByteSpan* body) {
  Path path;
  if (!read_path(request.target, path)) return HttpStatus::bad_request;
  if (request.method == "GET") return get(path, body);
  if (request.method == "PUT") return put(path, request.body);
  if (request.method != "DELETE") return HttpStatus::method_not_allowed;
  connected(path);
  return HttpStatus::ok;
}

const HorovodStore::Value* HorovodStore::find(const Path& path) const {
  const auto scope = scopes_.find(path.scope);
  if (scope == scopes_.end()) return nullptr;
  const auto value = scope->second.values.find(path.key);
  return value == scope->second.values.end() ? nullptr : &value->second;
}

HttpStatus HorovodStore::get(const Path& path, ByteSpan* body) const {
  const Value* value = find(path);
  if (value == nullptr) return HttpStatus::not_found;
  *body = value->bytes;
  return HttpStatus::ok;
}

HttpStatus HorovodStore::put(const Path& path, ByteSpan value) {
  const bool new_scope = !scopes_.contains(path.scope);
  const Value* old = find(path);
  const size_t keys = keys_ + (new_scope ? 1 : 0) + (old == nullptr ? 1 : 0);
  const size_t bytes = bytes_ + (new_scope ? path.scope.size() : 0) +
                       (old == nullptr ? path.key.size() : 0) + value.size() -
                       (old == nullptr ? 0 : old->bytes.size());
  if (keys > limits_.keys || bytes > limits_.bytes) {
    was_full_ = true;
    return HttpStatus::insufficient_storage;
  }
  keys_ = keys;
  bytes_ = bytes;
  const bool awaited = old != nullptr && !old->connected;
  Scope& scope = scopes_[std::string(path.scope)];
  scope.values[std::string(path.key)] = {.bytes = Bytes(value.begin(), value.end())};
  if (!awaited && !is_host_key(path.key)) ++scope.unconnected;
  return HttpStatus::ok;
}

void HorovodStore::connected(const Path& path) {
  const auto scope = scopes_.find(path.scope);
  if (scope == scopes_.end()) return;
  auto& [values, unconnected] = scope->second;
  const auto value = values.find(path.key);
  if (value == values.end() || is_host_key(path.key)) return;
  if (!std::exchange(value->second.connected, true)) --unconnected;
  // No rank connects before all have put their addresses, so no rank of the group is missing.
  if (unconnected > 0) return;
  keys_ -= 1 + values.size();
  bytes_ -= scope->first.size();
  for (const auto& [key, stored] : values)
    bytes_ -= key.size() + stored.bytes.size();
  scopes_.erase(scope);
}

}  // namespace dt
