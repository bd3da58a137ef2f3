#include "comm/driver/wait_reporter.h"

#include "base/format.h"
#include "comm/collective/operation.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// An update that comes so much too late follows a stop of this process, which is no wait.
constexpr Duration late_update = seconds(1);
constexpr size_t usual_waits = 8;

}  // namespace

WaitReporter::WaitReporter(Duration after) : after_(after) {
  if (after_ == Duration::zero()) return;
  waits_.reserve(usual_waits);
  last_waits_.reserve(usual_waits);
  pending_.reserve(usual_waits);
}

void WaitReporter::set_group_wait(std::optional<RankWait> wait, Time since) {
  group_wait_ = std::move(wait);
  group_since_ = since;
}

std::optional<WaitReport> WaitReporter::update(const Engine& engine, const StoreCalls& calls,
                                               Time now) {
  if (after_ == Duration::zero()) return std::nullopt;
  find_waits(engine, now);
  const auto is_reported = [](const Wait& wait) { return wait.reported != Reported::nothing; };
  const bool withdrawn =
      std::ranges::count_if(waits_, is_reported) < std::ranges::count_if(last_waits_, is_reported);
  bool due = queried_ || withdrawn || calls.waits() < keys_reported_;
  next_update_ = Time::max();
  for (const Wait& wait : waits_) {
    if (wait.reported == Reported::all) continue;
    due |= is_long(wait, now);
    if (!is_long(wait, now)) next_update_ = std::min(next_update_, wait.since + after_);
  }
  due |= group_wait_ ? group_is_long(now) && group_reported_ != Reported::all
                     : group_reported_ != Reported::nothing;
  if (group_wait_ && !group_is_long(now))
    next_update_ = std::min(next_update_, group_since_ + after_);
  if (!due) return std::nullopt;
  const bool with_keys = queried_ || keys_reported_ > 0;
  const bool with_group = group_wait_ && (queried_ || group_is_long(now));
  WaitReport all = report(engine, now);
  group_reported_ = Reported::nothing;
  if (with_group) add_group(all, now);
  keys_reported_ = 0;
  if (with_keys) add_keys(all, calls);
  reported_ = !all.waits.empty();
  return all;
}

/// Sets waits_, with the time of each since when its data has not moved.
void WaitReporter::find_waits(const Engine& engine, Time now) {
  if (next_update_ != Time::max() && now > next_update_ + late_update) {
    for (Wait& wait : waits_)
      if (wait.reported != Reported::all) wait.since = now;
  }
  std::swap(waits_, last_waits_);
  waits_.clear();
  pending_.clear();
  engine.add_waits(pending_);
  for (const PendingWait& pending : pending_) {
    const Operation& operation = *pending.operation;
    const auto last = std::ranges::find_if(last_waits_, [&](const Wait& wait) {
      return wait.pending.operation == &operation && wait.sequence == operation.sequence &&
             wait.submitted == operation.submitted && wait.pending.progress == pending.progress;
    });
    waits_.push_back(last != last_waits_.end()
                         ? *last
                         : Wait{pending, operation.sequence, operation.submitted, now});
  }
}

WaitReport WaitReporter::report(const Engine& engine, Time now) {
  WaitReport report;
  std::ranges::stable_sort(waits_, {}, &Wait::since);
  for (Wait& wait : waits_) {
    // A wait that was reported while it was short is still that rank's answer.
    if (!queried_ && !is_long(wait, now) && wait.reported == Reported::nothing) continue;
    wait.reported = is_long(wait, now) ? Reported::all : Reported::while_short;
    if (report.waits.size() == reported_waits_max) continue;
    const Operation& operation = *wait.pending.operation;
    report.waits.push_back({.operation = label(operation).substr(0, key_bytes_max),
                            .group = operation.request.group,
                            .waited = now - wait.since,
                            .awaited = engine.awaited(operation),
                            .last_before = engine.last_before(operation).substr(0, key_bytes_max)});
  }
  queried_ = false;
  return report;
}

void WaitReporter::add_group(WaitReport& report, Time now) {
  if (report.waits.size() == reported_waits_max) report.waits.pop_back();
  RankWait& wait = report.waits.emplace_back(*group_wait_);
  wait.operation = wait.operation.substr(0, key_bytes_max);
  wait.waited = now - group_since_;
  group_reported_ = group_is_long(now) ? Reported::all : Reported::while_short;
}

void WaitReporter::add_keys(WaitReport& report, const StoreCalls& calls) {
  for (const std::string& key : calls.awaited_keys()) {
    if (key.starts_with(group_key_prefix)) continue;
    if (report.waits.size() == reported_waits_max) return;
    const std::string wait = format("a wait for the key '{}'", key).substr(0, key_bytes_max);
    report.waits.push_back({.operation = wait});
    ++keys_reported_;
  }
}

}  // namespace dt
