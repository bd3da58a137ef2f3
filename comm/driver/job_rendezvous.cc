#include "comm/driver/job_rendezvous.h"

#include "comm/collective/operation.h"

#include <utility>

namespace dt {

JobRendezvous::JobRendezvous(Parts parts)
    : parts_(std::move(parts)),
      local_store_(parts_.client ? nullptr : std::make_unique<LocalStore>()),
      calls_(parts_.client ? static_cast<StorePort&>(*parts_.client) : *local_store_),
      wait_reporter_(parts_.stall_after) {
  if (parts_.mesh != nullptr) notices_ = parts_.mesh->notices();
}

void JobRendezvous::post(StoreCall& call, const Request& request, Time now) {
  if (const OperationFailure* failure = parts_.engine.aborted()) calls_.fail_waits(*failure);
  calls_.post(call, request, now);
  read(now);  // which also sends
}

void JobRendezvous::answer() {
  if (calls_.empty()) return;
  calls_.collect();
  if (const OperationFailure* failure = parts_.engine.aborted()) calls_.fail_waits(*failure);
}

void JobRendezvous::expire(Time now) {
  if (local_store_) local_store_->expire(now);
}

Time JobRendezvous::next_deadline() const {
  return local_store_ ? local_store_->next_deadline() : Time::max();
}

void JobRendezvous::read(Time now) {
  if (!launcher_connected_ || !parts_.client) return;
  const Result<> pumped = parts_.client->pump();
  while (const auto notice = parts_.client->next_notice()) {
    parts_.engine.notice(*notice, now);
    notices_.push_back(*notice);
  }
  if (parts_.client->take_wait_query()) wait_reporter_.query();
  if (!pumped) lose(now);
}

void JobRendezvous::lose(Time now) {
  if (!launcher_connected_) return;
  launcher_connected_ = false;
  parts_.mesh->forget_rendezvous();
  parts_.engine.launcher_lost(now);
  calls_.fail_all({Errc::peer_lost, -1, "launcher lost"});
}

std::vector<Notice> JobRendezvous::notices_from(size_t count) const {
  if (count >= notices_.size()) return {};
  return {notices_.begin() + static_cast<std::ptrdiff_t>(count), notices_.end()};
}

bool JobRendezvous::report_waits(Time now) {
  if (!parts_.client || !launcher_connected_) return false;
  const Time monotonic = Clock::now();
  const std::optional<WaitReport> report = wait_reporter_.update(parts_.engine, calls_, monotonic);
  if (!report) return false;
  // No operation depends on the report, so a failure has no effect here.
  if (const Result<uint32_t> posted = parts_.client->post(*report, monotonic))
    parts_.client->forget(*posted);
  read(now);  // which also sends
  return true;
}

}  // namespace dt
