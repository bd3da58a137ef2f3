#include "comm/transport/endpoint_exchange.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

namespace {
// The part of the remaining time that the rendezvous may wait for ranks that are late. The rest is
// for connections to the ranks of an incomplete list, and for another request.
constexpr int waited_quarters = 3;
constexpr Duration wait_min = milliseconds(50);
}  // namespace

EndpointExchange::~EndpointExchange() {
  // A rank that every other rank dials may be done before the list arrives.
  if (publishing_) client_.forget(*publishing_);
  if (collecting_) client_.forget(*collecting_);
}

Result<> EndpointExchange::publish(const PeerEndpoint& endpoint) {
  publishing_ = TRY(client_.post(
      SetRequest{endpoint_key(client_.self().id), endpoint.encode(), Lifetime::connection},
      Clock::now()));
  return {};
}

Result<> EndpointExchange::ask(Duration left) {
  if (collecting_) return {};
  const Duration timeout = std::max(left / 4 * waited_quarters, wait_min);
  collecting_ = TRY(client_.post(
      CollectRequest{std::string(endpoint_key_prefix), world_size_, timeout}, Clock::now()));
  return {};
}

Result<std::optional<EndpointExchange::Endpoints>> EndpointExchange::take() {
  if (publishing_) {
    const std::optional<Reply> published = client_.take_reply(*publishing_);
    if (published && published->error) return tl::unexpected(*published->error);
    if (published) {
      published_ = true;
      publishing_.reset();
    }
  }
  if (!collecting_) return std::nullopt;
  std::optional<Reply> collected = client_.take_reply(*collecting_);
  if (!collected) return std::nullopt;
  collecting_.reset();
  if (collected->error) return tl::unexpected(*std::move(collected->error));
  const Bytes list = std::move(collected->value).value_or(Bytes());
  Endpoints endpoints;
  std::vector<StoreEntry> entries = TRY(decode_entries(list));
  for (StoreEntry& entry : entries)
    endpoints.emplace(std::move(entry.key), std::move(entry.value));
  return endpoints;
}

}  // namespace dt
