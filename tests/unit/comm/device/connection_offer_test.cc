#include "comm/device/connection_offer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using Way = ConnectionVerdict::Way;

ConnectionOffer offer(const std::string& uuid) {
  return {.in_use = {.host = "a", .uuids = {uuid}, .nccl_version = 22809}};
}

TEST_CASE("the variable has three values") {
  const auto of = [](const char* value) {
    return device_collectives({{"DTRAIN_DEVICE_COLLECTIVES", value}});
  };
  CHECK(device_collectives({}).value() == DeviceCollectives::gpus);
  CHECK(of("").value() == DeviceCollectives::gpus);
  CHECK(device_collectives({{"DTRAIN_GPU_SHARE", "1"}}).value() == DeviceCollectives::staged);
  CHECK(of("auto").value() == DeviceCollectives::automatic);
  CHECK(of("nccl").value() == DeviceCollectives::nccl);
  CHECK(of("staged").value() == DeviceCollectives::staged);
  CHECK(of("NCCL").error().message ==
        "DTRAIN_DEVICE_COLLECTIVES is 'NCCL'; it can be staged, auto or nccl");
}

TEST_CASE("NCCL connects devices that differ, of one version") {
  CHECK(decide(std::vector{offer("GPU-1"), offer("GPU-2")}).way == Way::nccl);
}

TEST_CASE("an obstacle means staging, but a failure where NCCL is required") {
  std::vector<ConnectionOffer> offers = {offer("GPU-1"), offer("GPU-2")};
  offers[1].failure = "there is no NCCL";
  ConnectionVerdict verdict = decide(offers);
  CHECK(verdict.way == Way::staged);
  CHECK(verdict.reason == "rank 1 (a): there is no NCCL");
  offers[0].requires_nccl = true;
  verdict = decide(offers);
  CHECK(verdict.way == Way::failed);
  CHECK(verdict.reason == "DTRAIN_DEVICE_COLLECTIVES is nccl, but rank 1 (a): there is no NCCL");
}

TEST_CASE("ranks that share a GPU, or have other versions, are an obstacle") {
  std::vector<ConnectionOffer> offers = {offer("GPU-1"), offer("GPU-2"), offer("GPU-1")};
  CHECK(decide(offers).way == Way::staged);
  offers[2] = offer("GPU-3");
  offers[2].in_use.nccl_version = 22803;
  CHECK(decide(offers).way == Way::staged);
  CHECK(decide(offers).reason.find("NCCL needs one version") != std::string::npos);
}

TEST_CASE("up to 16 ranks of one place are peers") {
  std::vector<ConnectionOffer> offers = {offer("GPU-1"), offer("GPU-2")};
  CHECK_FALSE(decide(offers).peers);
  offers[0].peer_place = "here";
  CHECK_FALSE(decide(offers).peers);
  offers[1].peer_place = "there";
  CHECK_FALSE(decide(offers).peers);
  offers[1].peer_place = "here";
  CHECK(decide(offers).peers);
  CHECK_FALSE(decide(offers).share);
  offers[1].in_use.may_share = true;
  CHECK(decide(offers).share);
  offers[1].in_use.may_share = false;
  offers.resize(16, offers[0]);
  for (size_t i = 0; i < offers.size(); ++i)
    offers[i].in_use.uuids = {std::to_string(i)};
  CHECK(decide(offers).peers);
  offers.push_back(offers[0]);
  offers[16].in_use.uuids = {"16"};
  CHECK_FALSE(decide(offers).peers);
}

TEST_CASE("offers and verdicts survive their encoding, and wrong bytes do not") {
  ConnectionOffer own = offer("GPU-1");
  own.requires_nccl = true;
  own.failure = "no driver";
  own.peer_place = "here";
  const Bytes bytes = encode(own);
  CHECK(decode_connection_offer(bytes).value() == own);
  ConnectionVerdict verdict = {.way = Way::failed, .reason = "why", .peers = true, .share = true};
  verdict.id.bytes[5] = 7;
  const Bytes encoded = encode(verdict);
  const ConnectionVerdict decoded = decode_connection_verdict(encoded).value();
  CHECK(decoded.way == Way::failed);
  CHECK(decoded.reason == "why");
  CHECK(decoded.id.bytes[5] == 7);
  CHECK(decoded.peers);
  CHECK(decoded.share);
  for (size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode_connection_offer(ByteSpan(bytes).first(length)).has_value());
  for (size_t length = 0; length < encoded.size(); ++length)
    CHECK_FALSE(decode_connection_verdict(ByteSpan(encoded).first(length)).has_value());
  Bytes wrong = bytes;
  wrong[0] = std::byte{9};
  CHECK_FALSE(decode_connection_offer(wrong).has_value());
  wrong = encoded;
  wrong[0] = std::byte{9};
  CHECK_FALSE(decode_connection_verdict(wrong).has_value());
}

}  // namespace
}  // namespace dt
