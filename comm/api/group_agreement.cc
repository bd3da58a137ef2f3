#include "comm/api/group_agreement.h"

#include "base/finally.h"
#include "base/format.h"
#include "base/text.h"
#include "comm/collective/descriptor.h"
#include "comm/driver/stack_dump.h"
#include "comm/engine/groups.h"
#include "comm/group/collective_stop.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dt {

namespace {

/// A member looks for the reasons of a long wait after this time, and then more and more seldom.
constexpr Duration first_look_after = milliseconds(100);
constexpr Duration pause_max = seconds(4);
/// How long the launcher may take for a reply.
constexpr Duration reply_max = seconds(10);
constexpr size_t members_named_max = 16;
constexpr size_t others_named_max = 4;
// Parts of keys, behind the call's own part:
constexpr std::string_view decision_part = "/decision";
constexpr std::string_view arrived_part = "/arrived";
constexpr std::string_view read_part = "/read";
constexpr std::string_view proposal_part = "/proposal/";  ///< before the rank

/// "[0, 2, 5]", "[0, 1, … 30 more]"; with the name, if there is one.
std::string list_text(const std::vector<int>& ranks, std::string_view name) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(ranks.size(), members_named_max); ++i)
    text += format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > members_named_max)
    text += format(", … {} more", ranks.size() - members_named_max);
  text += "]";
  return name.empty() ? text : text + " and " + quoted_name(name);
}

uint64_t digest_of(std::span<const int> ranks, std::string_view name = {}) {
  Writer writer;
  for (const int rank : ranks)
    writer.number(rank);
  writer.text(name);
  return hash_of_name(as_text(writer.view()));
}

std::string label_of(const GroupCall& call) {
  const std::string kind = call.split.empty() ? "group" : "split";
  return call.name.empty() ? kind : format("{} \"{}\"", kind, printable(call.name));
}

}  // namespace

/// The list of a member, and the lowest number that is new to it.
struct GroupAgreement::Proposal {
  uint32_t number = 0;
  int place = -1;       ///< of its part in the memory of its host; -1: none
  uint64_t digest = 0;  ///< of the list in its order, and the name
  std::string text;     ///< both, for messages: `[0, 2] and the name "rows"`

  Bytes encoded() const {
    Writer writer;
    writer.number(number).number(int32_t{place}).number(digest).text(text);
    return writer.take();
  }
  static Result<Proposal> decode(ByteSpan bytes) {
    Reader reader(bytes);
    Proposal proposal;
    proposal.number = reader.number<uint32_t>();
    proposal.place = reader.number<int32_t>();
    proposal.digest = reader.number<uint64_t>();
    proposal.text = printable(reader.text(), reason_bytes_max);
    TRY(reader.finish("proposal for a group"));
    return proposal;
  }
};

/// The group, or why there is none.
struct GroupAgreement::Decision {
  std::optional<OperationFailure> failure = {};
  uint32_t number = 0;
  std::vector<int> places = {};  ///< by rank in the group

  Bytes encoded() const {
    Writer writer;
    writer.number(uint8_t{failure ? uint8_t{1} : uint8_t{0}});
    if (failure) {
      writer.number(failure->code).number(int32_t{failure->blamed_rank});
      writer.text(failure->reason.substr(0, reason_bytes_max));
      return writer.take();
    }
    writer.number(number);
    for (const int place : places)
      writer.number(place);
    return writer.take();
  }
  static Result<Decision> decode(ByteSpan bytes, size_t members) {
    Reader reader(bytes);
    Decision decision;
    if (reader.number<uint8_t>() != 0) {
      OperationFailure& failure = decision.failure.emplace();
      failure.code = reader.number<Errc>();
      failure.blamed_rank = reader.number<int32_t>();
      failure.reason = printable(reader.text(), reason_bytes_max);
    } else {
      decision.number = reader.number<uint32_t>();
      while (decision.places.size() < members)
        decision.places.push_back(reader.number<int32_t>());
    }
    TRY(reader.finish("decision about a group"));
    return decision;
  }
};

/// One call until its end.
struct GroupAgreement::Round {
  const GroupCall& call;
  std::string id;
  Time deadline;  ///< of running_time()

  std::string key(std::string_view part) const { return id + std::string(part); }
};

GroupAgreement::GroupAgreement(Driver& driver, int rank, uint32_t generation)
    : driver_(driver), rank_(rank), prefix_(format("{}{}/", group_key_prefix, generation)) {
}

Result<uint32_t> GroupAgreement::make(const GroupCall& call) {
  const OperationMark mark(call.split.empty() ? "group" : "split", call.name);
  Result<uint32_t> number = call.ranks.size() == 1 ? make_alone() : agree(call);
  if (number) return number;
  return tl::unexpected(std::move(number).error().during(label_of(call)));
}

/// Returns the lowest number that is new to this rank; 0 after the end of the engine.
uint32_t GroupAgreement::next_number() {
  const auto number = driver_.with_engine(
      [](Engine& engine) { return Result<uint32_t>(engine.groups().next_number()); });
  return number.value_or(0);
}

/// For a place that no group got.
void GroupAgreement::release_place(int place) {
  (void)driver_.with_engine([&](Engine& engine) -> Result<> {
    engine.groups().release_place(place);
    return {};
  });
}

Result<uint32_t> GroupAgreement::make_alone() {
  const uint32_t number = next_number();
  if (number == 0) return fail(Errc::closed, "the context has been finalized");
  if (number >= Groups::numbers_max) return fail(Errc::unsupported, std::string(no_more_groups));
  driver_.create_group(number, {rank_});
  return number;
}

/// Members whose lists differ in their order, or by name, meet here. Others never do.
GroupAgreement::Round GroupAgreement::next_round(const GroupCall& call) {
  const Time now = driver_.running_time();
  const bool limited = call.timeout > Duration::zero() && call.timeout < Time::max() - now;
  const Time deadline = limited ? now + call.timeout : Time::max();
  if (!call.split.empty()) return {call, call.split, deadline};
  std::vector<int> sorted = call.ranks;
  std::ranges::sort(sorted);
  const uint64_t members = digest_of(sorted);
  return {call, format("{}list/{:x}.{}", prefix_, members, calls_[members]++), deadline};
}

Result<uint32_t> GroupAgreement::agree(const GroupCall& call) {
  const Round round = next_round(call);
  // After an error of the store it stays reserved: others may use that memory.
  const int place =
      driver_
          .with_engine([](Engine& engine) { return Result<int>(engine.groups().reserve_place()); })
          .value_or(-1);
  const Proposal own{next_number(), place, digest_of(call.ranks, call.name),
                     list_text(call.ranks, call.name)};
  const std::string own_key = format("{}{}", round.key(proposal_part), rank_);
  TRY(ask(SetRequest{own_key, own.encoded()}));
  const Reply arrived = TRY(ask(AddRequest{round.key(arrived_part), 1}));
  if (arrived.number == std::ssize(call.ranks)) TRY(decide(round));
  const Decision decision = TRY(await(round));
  if (decision.failure) release_place(place);
  // The decision counts, also if these fail.
  (void)ask(EraseRequest{own_key});
  acknowledge(round);
  return end(round, decision);
}

Result<uint32_t> GroupAgreement::end(const Round& round, const Decision& decision) {
  if (decision.failure) {
    failed_.push_back(round.id);
    return fail(decision.failure->code, decision.failure->reason, decision.failure->blamed_rank);
  }
  if (decision.number < next_number())
    return fail(Errc::protocol, "the number of a new group is not new");
  driver_.create_group(decision.number, GroupMembers(round.call.ranks, decision.places));
  return decision.number;
}

/// The last member removes the keys.
void GroupAgreement::acknowledge(const Round& round) {
  const Result<Reply> read = ask(AddRequest{round.key(read_part), 1});
  if (read && read->number == std::ssize(round.call.ranks)) (void)erase(round.id);
}

Result<> GroupAgreement::erase(const std::string& id) {
  for (const std::string_view part : {decision_part, arrived_part, read_part})
    TRY(ask(EraseRequest{id + std::string(part)}));
  return {};
}

/// A member that has arrived and not read yet erases it at its own end.
void GroupAgreement::erase_failed() {
  for (const std::string& id : std::exchange(failed_, {})) {
    const Result<Reply> arrived = ask(AddRequest{id + std::string(arrived_part), 0});
    const Result<Reply> read = ask(AddRequest{id + std::string(read_part), 0});
    if (!arrived || !read) return;
    if (read->number >= arrived->number && !erase(id)) return;
  }
}

Result<GroupAgreement::Decision> GroupAgreement::await(const Round& round) {
  Duration pause = first_look_after;
  const Time begin = Clock::now();
  RankWait shown{.operation = label_of(round.call) + " of " + list_text(round.call.ranks, {})};
  const Finally end([this] { driver_.note_group_wait(std::nullopt, {}); });
  while (true) {
    driver_.note_group_wait(shown, begin);
    const Duration left = round.deadline - driver_.running_time();
    const Duration wait = std::clamp(left, Duration::zero(), pause);
    const Reply reply = TRY(post(WaitRequest{round.key(decision_part), wait}, wait));
    if (!reply.error) break;
    if (reply.error->code != Errc::timeout) return tl::unexpected(*reply.error);
    const std::vector<int> missing = TRY(decide(round));
    shown.awaited.assign(missing.begin(), missing.end());
    std::optional<OperationFailure> why = reason_to_end(round, missing);
    if (why) TRY(settle(round.id, {.failure = std::move(why)}));
    pause = std::min(2 * pause, pause_max);
  }
  const Reply decided = TRY(ask(GetRequest{round.key(decision_part)}));
  return Decision::decode(decided.value.value_or(Bytes()), round.call.ranks.size());
}

/// Decides if the proposals of all are there. Returns the ranks whose proposals are missing.
Result<std::vector<int>> GroupAgreement::decide(const Round& round) {
  const std::string prefix = round.key(proposal_part);
  const Reply reply = TRY(ask(CollectRequest{prefix, 0, {}}));
  const auto entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  std::map<int, Proposal> proposals;
  for (const StoreEntry& entry : entries) {
    const auto rank = parse_integer(std::string_view(entry.key).substr(prefix.size()));
    Proposal proposal = TRY(Proposal::decode(entry.value));
    proposals[static_cast<int>(rank.value_or(-1))] = std::move(proposal);
  }
  std::vector<int> missing;
  std::ranges::copy_if(round.call.ranks, std::back_inserter(missing),
                       [&](int rank) { return !proposals.contains(rank); });
  std::ranges::sort(missing);
  if (!missing.empty()) return missing;
  Decision decision;
  const auto& [lowest, first] = *proposals.begin();
  for (const int rank : round.call.ranks) {
    const Proposal& proposal = proposals.at(rank);
    decision.number = std::max(decision.number, proposal.number);
    decision.places.push_back(proposal.place);
    if (proposal.digest != first.digest && !decision.failure)
      decision.failure = {
          Errc::mismatch, rank,
          format("rank {} gave {}, rank {} {}", lowest, first.text, rank, proposal.text)};
  }
  if (!decision.failure && decision.number >= Groups::numbers_max)
    decision.failure = {Errc::unsupported, -1, std::string(no_more_groups)};
  TRY(settle(round.id, decision));
  return missing;
}

/// Sets the decision unless there is one.
Result<> GroupAgreement::settle(const std::string& id, const Decision& decision) {
  std::string key = id + std::string(decision_part);
  TRY(ask(CompareAndSetRequest{std::move(key), std::nullopt, decision.encoded()}));
  return {};
}

/// Returns why a member that has waited for some time ends the call.
std::optional<OperationFailure> GroupAgreement::reason_to_end(const Round& round,
                                                              std::span<const int> missing) {
  if (missing.empty()) return std::nullopt;
  using Failure = std::optional<OperationFailure>;
  const auto lost = driver_.with_engine(
      [&](const Engine& engine) { return Result<Failure>(engine.lost_among(missing)); });
  if (lost && *lost) return *lost;
  if (driver_.running_time() < round.deadline) return std::nullopt;
  return missing_failure(round, missing);
}

std::string GroupAgreement::name_of(int rank) {
  const auto name = driver_.with_engine(
      [&](const Engine& engine) { return Result<std::string>(engine.name_of(rank)); });
  return name.value_or(format("rank {}", rank));
}

OperationFailure GroupAgreement::missing_failure(const Round& round, std::span<const int> missing) {
  const bool one = missing.size() == 1;
  const std::string names = one ? name_of(missing.front()) : ranks_text(missing);
  std::string text = format("timed out after {}: {} {} not arrived",
                            duration_text(round.call.timeout), names, one ? "has" : "have");
  // They may be at calls for other groups. Without this list, the failure is the same.
  const Result<Reply> reply = ask(CollectRequest{prefix_, 0, {}});
  const auto entries = decode_entries(reply ? reply->value.value_or(Bytes()) : Bytes());
  for (const int rank : missing.first(std::min(missing.size(), others_named_max)))
    for (const StoreEntry& entry : entries.value_or(std::vector<StoreEntry>())) {
      if (!entry.key.ends_with(format("{}{}", proposal_part, rank))) continue;
      const Result<Proposal> other = Proposal::decode(entry.value);
      if (other) text += format("; rank {} makes {}", rank, other->text);
    }
  return {Errc::timeout, missing.front(), text};
}

std::string GroupAgreement::split_key(uint32_t group, std::span<const int> job_ranks, int color) {
  // Groups of other ranks may have the same number.
  return format("{}split/{:x}.{}.{}.{}", prefix_, digest_of(job_ranks), group, splits_[group],
                color);
}

void GroupAgreement::refuse(const std::string& split, const Error& why) {
  const OperationFailure failure{why.code, rank_, format("rank {}: {}", rank_, why.message)};
  (void)settle(split, {.failure = failure});
  failed_.push_back(split);
}

Result<Reply> GroupAgreement::ask(const Request& request) {
  Reply reply = TRY(post(request, Duration::zero()));
  if (reply.error) return tl::unexpected(*std::move(reply.error));
  return reply;
}

/// The reply may have an error of the store.
Result<Reply> GroupAgreement::post(const Request& request, Duration wait) {
  return driver_.ask(request, driver_.running_time() + wait + reply_max);
}

}  // namespace dt
