#include "comm/group/agreement.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// The least time that ranks get to answer a roll call.
constexpr Duration answer_time = milliseconds(50);
/// Most ranks connect with rank 0 themselves in that time.
constexpr Duration connect_after = milliseconds(100);

}  // namespace

Bytes encode(const Verdict& verdict) {
  Writer writer;
  writer.number(int32_t{verdict.blamed_rank}).text(verdict.mismatch);
  return writer.take();
}

Result<Verdict> decode_verdict(ByteSpan bytes) {
  Reader reader(bytes);
  Verdict verdict{.blamed_rank = reader.number<int32_t>(), .mismatch = reader.text()};
  TRY(reader.finish("verdict"));
  return verdict;
}

Result<> Agreement::add(int rank, Arrival arrival, Time now) {
  const CallState state = arrival.state;
  const uint64_t sequence = arrival.sequence;
  if (empty()) connects_at_ = now + connect_after;
  TRY(arrivals_.add(rank, std::move(arrival), now));
  if (state <= CallState::waits || asked_ == sequence) return {};
  asked_ = sequence;
  answers_end_ = now + answer_time;
  peers_.send_all(EngineMessageType::roll_call, sequence, {});
  return {};
}

void Agreement::settle(uint64_t sequence) {
  if (arrivals_.empty() || arrivals_.sequence() != sequence) return;
  arrivals_.clear();
  for (int rank = 1; rank < peers_.size(); ++rank)
    confirm(rank, sequence);
}

void Agreement::confirm(int rank, uint64_t sequence) {
  peers_.send(rank, EngineMessageType::verdict, sequence, encode(Verdict()));
}

std::optional<Verdict> Agreement::decide() {
  if (!arrivals_.complete()) return std::nullopt;
  const uint64_t sequence = arrivals_.sequence();
  const std::optional<Mismatch> mismatch = compare(arrivals_.take(), peers_.job_ranks(), sequence,
                                                   [this](int rank) { return peers_.name(rank); });
  Verdict verdict = mismatch
                        ? Verdict{mismatch->blamed_rank, mismatch->text.substr(0, reason_bytes_max)}
                        : Verdict();
  peers_.send_all(EngineMessageType::verdict, sequence, encode(verdict));
  return verdict;
}

Time Agreement::next_deadline() const {
  const Time end = arrivals_.next_deadline().time;
  if (end == Time::max()) return end;
  return asks(arrivals_.sequence()) ? std::max(end, answers_end_) : end;
}

std::optional<CollectiveStop> Agreement::overdue(Time now) const {
  if (next_deadline() > now || arrivals_.complete()) return std::nullopt;
  const Arrival& first = arrivals_.of(arrivals_.next_deadline().rank);
  const std::string label =
      collective_label(first.descriptor.kind, arrivals_.sequence(), first.descriptor.name);
  return CollectiveStop{arrivals_.sequence(), missing_failure(first.timeout),
                        format("not possible after {} timed out", label)};
}

/// Ranks that have answered the roll call from before the collective are the cause. Without an
/// answer, nothing is known about a rank.
OperationFailure Agreement::missing_failure(Duration timeout) const {
  const bool asked = asks(arrivals_.sequence());
  const std::vector<int> absent = asked ? arrivals_.absent() : arrivals_.missing();
  const std::vector<int> missing = absent.empty() ? arrivals_.missing() : absent;
  return {Errc::timeout, peers_.job_rank(missing.front()),
          missing_text(peers_, timeout, missing, absent.empty() ? "answered" : "arrived")};
}

std::optional<CollectiveStop> Agreement::lost() const {
  if (arrivals_.complete() || !arrivals_.needs_all()) return std::nullopt;
  const std::vector<int> missing = arrivals_.missing();
  const auto gone =
      std::find_if(missing.begin(), missing.end(), [&](int rank) { return peers_.gone(rank); });
  if (gone == missing.end()) return std::nullopt;
  const std::string reason = peers_.gone_reason(*gone);
  return CollectiveStop{
      arrivals_.sequence(), {Errc::peer_lost, peers_.job_rank(*gone), reason}, reason};
}

void Agreement::connect_missing(Time now) {
  if (now < connects_at()) return;
  connects_at_ = Time::max();
  for (const int rank : arrivals_.missing())
    peers_.connect(rank);
}

std::string missing_text(const GroupPeers& peers, Duration timeout, const std::vector<int>& missing,
                         std::string_view what) {
  const bool one = missing.size() == 1;
  std::vector<int> ranks;
  for (const int rank : missing)
    ranks.push_back(peers.job_rank(rank));
  return format("timed out after {}: {} {} not {}", duration_text(timeout),
                one ? peers.name(missing.front()) : ranks_text(ranks), one ? "has" : "have", what);
}

}  // namespace dt
