#include "launcher/network/dial_order.h"

#include "base/format.h"
#include "base/json.h"
#include "launcher/config/hosts/host_range.h"

#include <cstdint>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view token_key = "token";
constexpr std::string_view job_key = "job";
constexpr std::string_view hosts_key = "hosts";
constexpr std::string_view addresses_key = "addresses";
constexpr std::string_view patience_key = "patience_ms";
constexpr std::string_view dead_after_key = "dead_after_ms";

template <class T>
Result<T> member(const Json& order, std::string_view key) {
  const Json* const found = order.find(key);
  const T* const value = found == nullptr ? nullptr : found->as<T>();
  if (value == nullptr) return fail(Errc::input, format("no {} in the order to dial", key));
  return *value;
}

/// A list of hosts may have ranges, with commas in brackets: "n[1-3,7],m".
Result<std::vector<std::string>> expand_hosts(const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string_view range : split_at_commas(text)) {
    for (std::string& name : TRY(expand_ranges(range, {"the order to dial", text})))
      hosts.push_back(std::move(name));
  }
  return hosts;
}

}  // namespace

Claim DialOrder::claim_of(TaskId self) const {
  return {.token = token, .job = job, .self = std::move(self), .encrypt_data = true};
}

std::string DialOrder::text() const {
  Json::Array listed;
  for (const Address& address : addresses)
    listed.emplace_back(address.text());
  const Json order = Json::Object{
      {std::string(token_key), token.text()},
      {std::string(job_key), job},
      {std::string(hosts_key), compress_names(hosts)},
      {std::string(addresses_key), std::move(listed)},
      {std::string(patience_key), int64_t{duration_cast<milliseconds>(patience).count()}},
      {std::string(dead_after_key), int64_t{duration_cast<milliseconds>(dead_after).count()}}};
  return order.text() + "\n";
}

Result<DialOrder> DialOrder::parse(std::string_view text) {
  const Json order = TRY(Json::parse(text));
  DialOrder parsed;
  const std::string token = TRY(member<std::string>(order, token_key));
  parsed.token = TRY(Token::parse(token));
  parsed.job = TRY(member<std::string>(order, job_key));
  const std::string hosts = TRY(member<std::string>(order, hosts_key));
  parsed.hosts = TRY(expand_hosts(hosts));
  const auto addresses = TRY(member<Json::Array>(order, addresses_key));
  for (const Json& listed : addresses) {
    const std::string* const address = listed.as<std::string>();
    if (address == nullptr) return fail(Errc::input, "an address that is no text");
    Address parsed_address = TRY(Address::parse(*address));
    parsed.addresses.push_back(std::move(parsed_address));
  }
  if (parsed.addresses.empty()) return fail(Errc::input, "no address in the order to dial");
  const auto patience_ms = TRY(member<int64_t>(order, patience_key));
  const auto dead_after_ms = TRY(member<int64_t>(order, dead_after_key));
  parsed.patience = milliseconds(patience_ms);
  parsed.dead_after = milliseconds(dead_after_ms);
  return parsed;
}

}  // namespace dt
