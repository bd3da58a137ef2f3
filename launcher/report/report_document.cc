#include "launcher/report/report_document.h"

#include "base/io/signals.h"
#include "base/version.h"
#include "launcher/report/json_values.h"
#include "launcher/report/report.h"
#include "launcher/report/stall_text.h"

#include <algorithm>
#include <chrono>

namespace dt {
namespace {

Json count(uint64_t number) {
  return Json(static_cast<int64_t>(number));
}

Json rank_or_null(int rank) {
  return rank >= 0 ? Json(rank) : Json();
}

Json::Array texts(const std::vector<std::string>& all) {
  return {all.begin(), all.end()};
}

Json error_json(const std::optional<TaskError>& error) {
  if (!error) return {};
  return Json::Object{{"message", error->message}, {"frame", text_or_null(error->frame)}};
}

Json failure_json(const std::optional<Failure>& failure, const std::vector<std::string>& lines) {
  if (!failure) return {};
  return Json::Object{{"role", failure->task.role},
                      {"index", failure->task.index},
                      {"rank", rank_or_null(failure->rank)},
                      {"host", failure->host},
                      {"pid", failure->pid > 0 ? Json(failure->pid) : Json()},
                      {"cause", failure->cause},
                      {"error", error_json(failure->error)},
                      {"last_stderr", texts(lines)}};
}

Json exit_json(const std::optional<ExitStatus>& status) {
  if (!status) return {};
  const bool killed = status->signal != 0;
  return Json::Object{{"code", killed ? Json() : Json(status->code)},
                      {"signal", killed ? Json(signal_name(status->signal)) : Json()},
                      {"oom", status->out_of_memory}};
}

Json resources_json(const std::optional<ResourceUse>& used) {
  if (!used) return {};
  return Json::Object{{"user_s", in_seconds(used->user)},
                      {"system_s", in_seconds(used->system)},
                      {"max_rss_bytes", used->max_rss_bytes},
                      {"major_faults", used->major_faults},
                      {"voluntary_switches", used->voluntary_switches},
                      {"involuntary_switches", used->involuntary_switches}};
}

Json output_json(const JobRecord& record, size_t task) {
  if (task >= record.output.size()) return {};
  const OutputCount& output = record.output[task];
  return Json::Object{{"stdout_bytes", count(output.stdout_bytes)},
                      {"stderr_bytes", count(output.stderr_bytes)},
                      {"lost_bytes", count(output.lost_bytes)},
                      {"dropped_bytes", count(output.dropped_bytes)}};
}

Json::Array attempts_json(const TaskRecord& task, Time began) {
  const auto since_start = [began](const std::optional<Time>& when) {
    return when ? Json(in_seconds(*when - began)) : Json();
  };
  Json::Array attempts;
  for (const AttemptRecord& attempt : task.earlier) {
    attempts.emplace_back(Json::Object{{"pid", attempt.pid > 0 ? Json(attempt.pid) : Json()},
                                       {"started_at_s", since_start(attempt.started)},
                                       {"ended_at_s", since_start(attempt.ended)},
                                       {"exit", exit_json(attempt.exit)}});
  }
  return attempts;
}

Json task_json(const JobRecord& record, size_t number) {
  const Task& task = record.plan.tasks[number];
  const TaskRecord& seen = record.tasks[number];
  const TaskPlace place = number < record.places.size() ? record.places[number] : TaskPlace();
  const auto since_start = [&record](const std::optional<Time>& when) {
    return when ? Json(in_seconds(*when - record.began)) : Json();
  };
  return Json::Object{{"role", task.id.role},
                      {"index", task.id.index},
                      {"rank", rank_or_null(task.rank)},
                      {"local_rank", rank_or_null(task.local_rank)},
                      {"host", record.plan.hosts[static_cast<size_t>(task.agent)].host.name},
                      {"address", text_or_null(place.address)},
                      {"gpus", text_or_null(place.gpus)},
                      {"pid", seen.pid > 0 ? Json(seen.pid) : Json()},
                      {"started_at_s", since_start(seen.started)},
                      {"ended_at_s", since_start(seen.ended)},
                      {"exit", exit_json(seen.exit)},
                      {"resources", resources_json(seen.used)},
                      {"completed", seen.ended ? Json(seen.completed) : Json()},
                      {"output", output_json(record, number)},
                      {"earlier_attempts", attempts_json(seen, record.began)}};
}

Json::Array generations_json(const JobRecord& record) {
  Json::Array generations;
  std::optional<Time> last_end;
  for (const GenerationRecord& one : record.generations) {
    generations.emplace_back(Json::Object{
        {"number", static_cast<int64_t>(generations.size()) + 1},
        {"began_at_s", in_seconds(one.began - record.began)},
        {"ended_at_s", one.ended ? Json(in_seconds(*one.ended - record.began)) : Json()},
        {"waited_s", last_end ? Json(in_seconds(one.began - *last_end)) : Json()},
        {"world_size", one.world_size},
        {"hosts", texts(one.hosts)},
        {"failure", failure_json(one.failure, one.last_stderr)},
        {"reason", text_or_null(one.reason)}});
    last_end = one.ended;
  }
  return generations;
}

Json::Array hosts_json(const JobRecord& record) {
  Json::Array hosts;
  for (size_t agent = 0; agent < record.plan.hosts.size(); ++agent) {
    const PlannedHost& host = record.plan.hosts[agent];
    hosts.emplace_back(Json::Object{{"name", host.host.name},
                                    {"slots", host.host.slots},
                                    {"tasks", host.task_count()},
                                    {"contained_by", text_or_null(record.contained_by[agent])}});
  }
  return hosts;
}

Json sync_json(const std::optional<SyncRecord>& sync) {
  if (!sync) return {};
  Json::Array hosts;
  for (const auto& [name, tree] : sync->hosts) {
    hosts.emplace_back(Json::Object{{"name", name},
                                    {"folder", tree.folder},
                                    {"files_sent", count(tree.files_sent)},
                                    {"bytes_sent", count(tree.bytes_sent)}});
  }
  return Json::Object{
      {"root", sync->tree.root},          {"commit", text_or_null(sync->tree.commit)},
      {"dirty", sync->tree.dirty},        {"files", count(sync->tree.files)},
      {"bytes", count(sync->tree.bytes)}, {"hosts", std::move(hosts)}};
}

Json rendezvous_json(const std::optional<RendezvousServer::Counters>& counters) {
  if (!counters) return {};
  return Json::Object{{"connections", count(counters->accepted)},
                      {"rejected", count(counters->rejected)},
                      {"refused", count(counters->refused)},
                      {"requests", count(counters->requests)},
                      {"horovod_requests", count(counters->horovod_requests)}};
}

}  // namespace

Json report_document(const JobRecord& record, const std::vector<std::string>& command,
                     const std::optional<Outcome>& outcome, Time now) {
  const Outcome so_far = outcome.value_or(Outcome());
  Json::Array tasks;
  for (size_t task = 0; task < record.plan.tasks.size(); ++task)
    tasks.push_back(task_json(record, task));
  Json::Array stalls;
  for (const StallRecord& stall : record.stalls)
    stalls.push_back(stall_json(stall, record.plan, record.began));
  const auto duration = now - record.began;
  const auto end = record.began_at + duration_cast<WallClock::duration>(duration);
  return Json::Object{
      {"report_version", 1},
      {"version", build_version},
      {"job", text_or_null(record.job)},
      {"name", text_or_null(record.name)},
      {"command", texts(command)},
      {"start", utc_text(record.began_at)},
      {"end", outcome ? Json(utc_text(end)) : Json()},
      {"duration_s", outcome ? Json(in_seconds(duration)) : Json()},
      {"exit_status", outcome ? Json(outcome->exit_status) : Json()},
      {"reason", text_or_null(so_far.reason)},
      {"failure", failure_json(so_far.failure, record.last_stderr)},
      {"failed_tasks", so_far.failed_tasks},
      {"world_size", record.plan.world_size},
      {"roles", roles_json(record.plan, command)},
      {"cluster", cluster_json(record.plan)},
      {"hosts", hosts_json(record)},
      {"tasks", std::move(tasks)},
      {"generations", generations_json(record)},
      {"sync", sync_json(record.sync)},
      {"stalls", std::move(stalls)},
      {"counters", Json::Object{{"rendezvous", rendezvous_json(record.rendezvous)}}}};
}

}  // namespace dt
