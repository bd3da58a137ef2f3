#include "comm/device/connection_offer.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/kernels/peer_signals.cuh"

#include <algorithm>
#include <array>
#include <string_view>

namespace dt {

namespace {

constexpr size_t text_bytes_max = 1000;
constexpr std::string_view variable = "DTRAIN_DEVICE_COLLECTIVES";
constexpr std::array<std::string_view, 3> names = {"staged", "auto", "nccl"};

std::string cut(const std::string& text) {
  return printable(text, text_bytes_max);
}

std::string rank_text(size_t rank, const ConnectionOffer& offer) {
  const std::string& host = offer.in_use.host;
  return host.empty() ? format("rank {}", rank) : format("rank {} ({})", rank, printable(host));
}

/// Returns why NCCL cannot connect the ranks; empty: it can.
std::string find_obstacle(std::span<const ConnectionOffer> offers) {
  for (size_t i = 0; i < offers.size(); ++i)
    if (!offers[i].failure.empty())
      return format("{}: {}", rank_text(i, offers[i]), offers[i].failure);
  for (size_t i = 1; i < offers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto conflict = find_conflict({static_cast<int>(j), &offers[j].in_use},
                                          {static_cast<int>(i), &offers[i].in_use});
      if (conflict) return *conflict;
    }
  }
  return {};
}

/// True when all processes have one place, and are few enough for a kernel.
bool are_peers(std::span<const ConnectionOffer> offers) {
  const std::string& place = offers.front().peer_place;
  return !place.empty() && offers.size() <= peer_ranks_max &&
         std::ranges::all_of(offers, [&](const auto& offer) { return offer.peer_place == place; });
}

}  // namespace

Result<DeviceCollectives> device_collectives(const Environment& environment) {
  const auto found = environment.find(std::string(variable));
  if (found == environment.end() || found->second.empty())
    return may_share_gpus(environment) ? DeviceCollectives::staged : DeviceCollectives::gpus;
  const auto* const name = std::ranges::find(names, found->second);
  if (name != names.end()) return static_cast<DeviceCollectives>(name - names.begin());
  return fail(Errc::input, format("{} is '{}'; it can be staged, auto or nccl", variable,
                                  printable(found->second, 40)));
}

ConnectionVerdict decide(std::span<const ConnectionOffer> offers) {
  using Way = ConnectionVerdict::Way;
  const std::string obstacle = find_obstacle(offers);
  if (obstacle.empty()) {
    return {.peers = are_peers(offers), .share = std::ranges::any_of(offers, [](const auto& offer) {
                                          return offer.in_use.may_share;
                                        })};
  }
  if (std::ranges::none_of(offers, &ConnectionOffer::requires_nccl))
    return {.way = Way::staged, .reason = obstacle};
  return {.way = Way::failed, .reason = format("{} is nccl, but {}", variable, obstacle)};
}

Bytes encode(const ConnectionOffer& offer) {
  Writer writer;
  writer.number(offer.requires_nccl).text(cut(offer.failure));
  encode(offer.in_use, writer);
  writer.text(cut(offer.peer_place));
  return writer.take();
}

Result<ConnectionOffer> decode_connection_offer(ByteSpan bytes) {
  Reader reader(bytes);
  ConnectionOffer offer;
  offer.requires_nccl = reader.number<bool>();
  offer.failure = reader.text();
  offer.in_use = decode_devices_in_use(reader);
  offer.peer_place = reader.text();
  TRY(reader.finish("offer of a device"));
  return offer;
}

Bytes encode(const ConnectionVerdict& verdict) {
  Writer writer;
  writer.number(verdict.way).text(cut(verdict.reason));
  writer.raw(std::as_bytes(std::span(verdict.id.bytes)))
      .number(verdict.peers)
      .number(verdict.share);
  return writer.take();
}

Result<ConnectionVerdict> decode_connection_verdict(ByteSpan bytes) {
  Reader reader(bytes);
  ConnectionVerdict verdict;
  verdict.way = reader.number<ConnectionVerdict::Way>();
  if (verdict.way > ConnectionVerdict::Way::failed) reader.refuse();
  verdict.reason = reader.text();
  for (auto& byte : verdict.id.bytes)
    byte = reader.number<std::remove_reference_t<decltype(byte)>>();
  verdict.peers = reader.number<bool>();
  verdict.share = reader.number<bool>();
  TRY(reader.finish("verdict on devices"));
  return verdict;
}

}  // namespace dt
