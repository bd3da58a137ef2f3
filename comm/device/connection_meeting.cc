#include "comm/device/connection_meeting.h"

#include "base/format.h"
#include "comm/collective/descriptor.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dt {

namespace {

constexpr Duration ask_every = seconds(1);
constexpr std::string_view failure = "failure";

}  // namespace

std::string key_of(std::string_view what, const NcclUniqueId& id) {
  return format("{}/{:016x}", what, hash_of_name({id.bytes, sizeof id.bytes}));
}

Result<ConnectionVerdict> ConnectionMeeting::decide(
    const char* step, const ConnectionOffer& own,
    const std::function<Result<NcclUniqueId>()>& make_id) const {
  const std::string key = format("{}/verdict", step);
  if (self_.rank > 0) {
    TRY(store_.set(rank_key(step, self_.rank), encode(own)));
    const Bytes bytes = TRY(store_.wait(key, Duration::zero()));
    return decode_connection_verdict(bytes);
  }
  auto verdict = collect(step, own, make_id);
  if (verdict) {
    TRY(store_.set(key, encode(*verdict)));
    return verdict;
  }
  // The others learn of a death themselves. Else they must not wait for a verdict.
  const Errc code = verdict.error().code;
  if (code == Errc::peer_lost || code == Errc::closed) return verdict;
  const std::string reason = "rank 0: " + verdict.error().message;
  (void)store_.set(key, encode({.way = ConnectionVerdict::Way::failed, .reason = reason}));
  return verdict;
}

void ConnectionMeeting::report_failure(const NcclUniqueId& id) const {
  // Without the report they wait until their time limit.
  (void)store_.set(key_of(failure, id), Bytes(1));
}

bool ConnectionMeeting::has_failed(const NcclUniqueId& id) const {
  return store_.wait(key_of(failure, id), milliseconds(1)).has_value();
}

std::function<Result<>()> ConnectionMeeting::with_failures(const NcclUniqueId& id,
                                                           std::function<Result<>()> check) const {
  return
      [this, id, check = std::move(check), next = Clock::now() + ask_every]() mutable -> Result<> {
        TRY(check());
        if (Clock::now() < next) return {};
        next = Clock::now() + ask_every;
        return has_failed(id) ? fail(Errc::peer_lost, "another rank has failed") : Result<>();
      };
}

/// Rank 0: waits for the offers of all.
Result<ConnectionVerdict> ConnectionMeeting::collect(
    const char* step, const ConnectionOffer& own,
    const std::function<Result<NcclUniqueId>()>& make_id) const {
  std::vector<ConnectionOffer> offers = {own};
  for (int rank = 1; rank < self_.size; ++rank) {
    const Bytes bytes = TRY(store_.wait(rank_key(step, rank), Duration::zero()));
    ConnectionOffer offer = TRY(decode_connection_offer(bytes));
    offers.push_back(std::move(offer));
  }
  ConnectionVerdict verdict = dt::decide(offers);
  if (verdict.way != ConnectionVerdict::Way::nccl || !make_id) return verdict;
  auto id = make_id();
  if (id) {
    verdict.id = *id;
    return verdict;
  }
  offers[0].failure = std::move(id).error().message;
  return dt::decide(offers);
}

/// The note lasts, since the others may read it when rank 0 has left.
Result<bool> ConnectionMeeting::leave(const std::string& key, bool closed, Time deadline) const {
  const auto left = [&] { return std::max(deadline - Clock::now(), Duration(1)); };
  if (self_.rank > 0) {
    TRY(store_.set(rank_key("left", self_.rank), Writer().number(closed).take()));
    const Bytes answer = TRY(store_.wait(key, left()));
    return Reader(answer).number<bool>();
  }
  bool all = closed;
  for (int rank = 1; rank < self_.size; ++rank) {
    const Bytes note = TRY(store_.wait(rank_key("left", rank), left()));
    all = Reader(note).number<bool>() && all;
  }
  TRY(store_.note(key, Writer().number(all).take()));
  return all;
}

}  // namespace dt
