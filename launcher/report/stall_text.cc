#include "launcher/report/stall_text.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/report/json_values.h"

#include <algorithm>
#include <chrono>

namespace dt {

namespace {

constexpr size_t ranges_max = 4;
/// The message has a line before these and one behind them.
constexpr size_t missing_lines_max = 2;

std::string seconds_text(Duration duration) {
  return format("{:.1f}s", in_seconds(duration));
}

std::string operation_text(const StallRecord& stall) {
  const std::string operation = printable(stall.operation);
  return stall.group == 0 ? operation : format("{} of group {}", operation, stall.group);
}

/// Returns the name of the host of that rank.
std::string host_of(const Plan& plan, int rank) {
  const auto task = std::ranges::find(plan.tasks, rank, &Task::rank);
  if (task == plan.tasks.end()) return "?";
  return plan.hosts[static_cast<size_t>(task->agent)].host.name;
}

std::string name_of(const MissingRank& missing, const Plan& plan) {
  const std::string host = printable(host_of(plan, missing.rank));
  if (missing.state.pid == 0) return format("rank {} (host {})", missing.rank, host);
  return format("rank {} (host {}, pid {})", missing.rank, host, missing.state.pid);
}

/// Returns what a missing rank does instead.
std::string doing_text(const MissingRank& missing, const StallRecord& stall) {
  if (!missing.waits_in.empty()) {
    const std::string operation = printable(missing.waits_in);
    if (missing.awaited.empty()) return format("is in {}", operation);
    return format("waits in {} for {}", operation, rank_list_text(missing.awaited));
  }
  const std::string since =
      stall.last_before.empty() ? "" : " since " + printable(stall.last_before);
  if (missing.answered) return format("has no operation under way{}", since);
  if (missing.state.stopped()) return format("does not answer{}", since);
  return format("is in no call of libdtrain{}, or hangs in one", since);
}

std::string missing_line(const MissingRank& missing, const StallRecord& stall, const Plan& plan) {
  std::string line = format("\n  {} {}", name_of(missing, plan), doing_text(missing, stall));
  if (missing.state.pid > 0) line += "; its process " + missing.state.text();
  return line;
}

std::vector<int> ranks_of(const std::vector<MissingRank>& missing) {
  std::vector<int> ranks;
  for (const MissingRank& rank : missing)
    ranks.push_back(rank.rank);
  return ranks;
}

std::string missing_lines(const StallRecord& stall, const Plan& plan) {
  const size_t shown = stall.missing.size() <= missing_lines_max ? stall.missing.size() : 1;
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += missing_line(stall.missing[i], stall, plan);
  if (shown == stall.missing.size()) return text;
  std::vector<int> others = ranks_of(stall.missing);
  others.erase(others.begin());
  return text + format("\n  {} too: --report has what each does", rank_list_text(others));
}

/// Returns what the user can do.
std::string advice(const StallRecord& stall, const Plan& plan) {
  if (stall.missing.empty())
    return "no data moves between them: check the network, or find more by gdb -p PID";
  const MissingRank& first = stall.missing.front();
  const std::string host = printable(host_of(plan, first.rank));
  if (first.state.pid == 0)
    return format("find what rank {} does on {}; the job waits, --timeout would end it", first.rank,
                  host);
  if (first.state.stopped())
    return format("kill -CONT {} on {} continues it; the job waits, --timeout would end it",
                  first.state.pid, host);
  return format(
      "gdb -p {} on {} shows where (py-spy dump --pid, for Python); the job waits, "
      "--timeout would end it",
      first.state.pid, host);
}

Json::Array ranks_json(const std::vector<int>& ranks) {
  return {ranks.begin(), ranks.end()};
}

Json missing_json(const MissingRank& missing, const Plan& plan) {
  const bool known = missing.state.pid > 0;
  return Json::Object{{"rank", missing.rank},
                      {"host", host_of(plan, missing.rank)},
                      {"pid", known ? Json(missing.state.pid) : Json()},
                      {"state", known ? Json(missing.state.word()) : Json()},
                      {"waits_at", text_or_null(missing.state.waits_at)},
                      {"answered", missing.answered},
                      {"waits_in", text_or_null(missing.waits_in)},
                      {"waits_for", ranks_json(missing.awaited)}};
}

}  // namespace

std::string rank_list_text(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  std::string text = sorted.size() == 1 ? "rank " : "ranks ";
  size_t next = 0;
  for (size_t range = 0; range < ranges_max && next < sorted.size(); ++range) {
    const size_t first = next++;
    while (next < sorted.size() && sorted[next] == sorted[next - 1] + 1)
      ++next;
    if (range > 0) text += ", ";
    text += format("{}", sorted[first]);
    if (next - first == 2) text += format(", {}", sorted[next - 1]);
    if (next - first > 2) text += format("-{}", sorted[next - 1]);
  }
  if (next < sorted.size()) text += format(" and {} more", sorted.size() - next);
  return text;
}

std::string stall_text(const StallRecord& stall, const Plan& plan) {
  std::vector<int> waiting;
  for (const StallRecord::Waiter& waiter : stall.waiting)
    waiting.push_back(waiter.rank);
  const std::string awaited =
      stall.missing.empty() ? "each other" : rank_list_text(ranks_of(stall.missing));
  std::string text = format("{} stalls for {}: {} {} for {}", operation_text(stall),
                            seconds_text(stall.noticed - stall.began), rank_list_text(waiting),
                            waiting.size() == 1 ? "waits" : "wait", awaited);
  return text + missing_lines(stall, plan) + "\n  " + advice(stall, plan);
}

std::string stall_end_text(const StallRecord& stall) {
  return format("{} stalls no more, after {}", operation_text(stall),
                seconds_text(stall.ended.value_or(stall.noticed) - stall.began));
}

Json stall_json(const StallRecord& stall, const Plan& plan, Time start) {
  Json::Array waiting;
  for (const StallRecord::Waiter& waiter : stall.waiting)
    waiting.emplace_back(
        Json::Object{{"rank", waiter.rank}, {"waits_for", ranks_json(waiter.awaited)}});
  Json::Array missing;
  for (const MissingRank& rank : stall.missing)
    missing.push_back(missing_json(rank, plan));
  return Json::Object{{"operation", stall.operation},
                      {"group", int64_t{stall.group}},
                      {"last_before", text_or_null(stall.last_before)},
                      {"began_at_s", in_seconds(stall.began - start)},
                      {"ended_at_s", stall.ended ? Json(in_seconds(*stall.ended - start)) : Json()},
                      {"waiting", std::move(waiting)},
                      {"missing", std::move(missing)}};
}

}  // namespace dt
