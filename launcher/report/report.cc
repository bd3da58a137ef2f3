#include "launcher/report/report.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/plan/role_ports.h"
#include "launcher/report/json_values.h"
#include "launcher/report/planned_arguments.h"

#include <algorithm>
#include <csignal>
#include <functional>

namespace dt {

std::string failure_cause(const ExitStatus& status) {
  if (status.shell_status() == 128 + SIGTERM)
    return status.text() +
           " (SIGTERM not sent by dtrain: is its host being taken away? Then start the job again)";
  return status.text();
}

std::string process_text(const Failure& ended) {
  const std::string who = ended.rank >= 0 ? format("rank {}", ended.rank) : ended.task.text();
  return ended.pid > 0 ? format("{} (host {}, pid {})", who, ended.host, ended.pid)
                       : format("{} (host {})", who, ended.host);
}

std::string failure_text(const Failure& failure, const std::vector<std::string>& last_lines,
                         std::string_view stream) {
  std::string text = format("{} {}: {}", process_text(failure),
                            failure.pid > 0 ? "failed" : "could not be started", failure.cause);
  if (failure.error) text += "\n  " + failure.error->text();
  if (!last_lines.empty()) {
    text += format("\nlast lines of its {}:", stream);
    for (const std::string& line : last_lines)
      text += "\n  " + line;
  }
  return text;
}

namespace {

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command)
    text += (text.empty() ? "" : " ") + shell_quote(printable(word, 4096));
  return text;
}

std::string number_or_dash(int number) {
  return number >= 0 ? format("{}", number) : "-";
}

Json::Array words_json(const std::vector<std::string>& command) {
  return {command.begin(), command.end()};
}

size_t cluster_size(const Plan& plan) {
  return plan.tasks.size() + plan.external_layout->tasks_elsewhere;
}

/// Returns " at host:port" for a task of a given cluster, or with a port of its role.
std::string given_endpoint(const Plan& plan, const Task& task) {
  const std::string* address =
      plan.external_layout ? plan.external_layout->cluster.address_of(task.id) : nullptr;
  if (address != nullptr) return " at " + printable(*address);
  const auto port = fixed_port(plan, task);
  return port ? format(" at port {}", *port) : "";
}

Json task_json(const Plan& plan, const Task& task, const std::vector<std::string>& words) {
  Json::Object json = {{"role", task.id.role}, {"index", task.id.index}};
  const auto add = [&json, &task](const char* name, int number) {
    json.emplace_back(name, task.rank >= 0 ? Json(number) : Json());
  };
  add("rank", task.rank);
  add("local_rank", task.local_rank);
  add("local_size", plan.local_size(task));
  add("cross_rank", task.cross_rank);
  add("cross_size", task.cross_size);
  json.emplace_back("host", plan.hosts[static_cast<size_t>(task.agent)].host.name);
  if (!words.empty()) json.emplace_back("command", words_json(words));
  return json;
}

/// Returns a line for the first task of each role, if macros change its command.
std::string words_text(const Plan& plan, const PlannedWords& planned) {
  std::string text;
  for (const Role& role : plan.roles) {
    const auto first = std::ranges::find_if(
        plan.tasks, [&role](const Task& task) { return task.id.role == role.name; });
    if (first == plan.tasks.end()) continue;
    const std::vector<std::string> words = planned.changed(*first);
    if (!words.empty()) text += format("{} gets: {}\n", first->id.text(), command_text(words));
  }
  return text;
}

Json::Array ports_json(const std::vector<uint16_t>& ports) {
  Json::Array all;
  for (const uint16_t port : ports)
    all.emplace_back(int{port});
  return all;
}

Json role_resources_json(const RoleResources& asks) {
  if (!asks.are_given()) return {};
  const auto gpus = [&asks] {
    if (!asks.gpus) return Json();
    return asks.gpus->shares() ? Json(1.0 / asks.gpus->sharers) : Json(asks.gpus->whole);
  };
  return Json::Object{
      {"cpus", asks.cpus > 0 ? Json(asks.cpus) : Json()},
      {"gpus", gpus()},
      {"memory_bytes",
       asks.memory_bytes > 0 ? Json(static_cast<int64_t>(asks.memory_bytes)) : Json()}};
}

}  // namespace

Json::Array roles_json(const Plan& plan, const std::vector<std::string>& command) {
  Json::Array roles;
  for (const Role& role : plan.roles) {
    roles.emplace_back(Json::Object{
        {"name", role.name},
        {"tasks", role.count},
        {"ranked", role.ranked},
        {"restarts", role.restarts == restarts_unlimited ? Json() : Json(role.restarts)},
        {"restarts_always", role.restarts_always},
        {"command", words_json(role.command.empty() ? command : role.command)},
        {"resources", role_resources_json(role.resources)},
        {"ports", ports_json(role.ports)}});
  }
  return roles;
}

Json cluster_json(const Plan& plan) {
  return plan.external_layout ? plan.external_layout->cluster.json() : Json();
}

namespace {

/// Returns the arguments of a task; empty if they are those of its role.
using TaskWords = std::function<std::vector<std::string>(const Task& task)>;

Json::Object plan_document(const Plan& plan, const std::vector<std::string>& command,
                           const TaskWords& words_of) {
  Json::Array hosts;
  for (const PlannedHost& host : plan.hosts) {
    hosts.emplace_back(Json::Object{
        {"name", host.host.name}, {"slots", host.host.slots}, {"tasks", host.task_count()}});
  }
  Json::Array tasks;
  for (const Task& task : plan.tasks)
    tasks.push_back(task_json(plan, task, words_of(task)));
  return Json::Object{{"world_size", plan.world_size},      {"hosts", hosts},
                      {"roles", roles_json(plan, command)}, {"tasks", tasks},
                      {"cluster", cluster_json(plan)},      {"command", words_json(command)}};
}

}  // namespace

std::string plan_text(const Plan& plan, const std::vector<std::string>& command) {
  std::string text =
      format("{} processes on {} host{}{}{}\n", plan.tasks.size(), plan.host_count(),
             plan.host_count() == 1 ? "" : "s",
             plan.is_partial() ? format(", of {} in the cluster", cluster_size(plan)) : "",
             command.empty() ? "" : ": " + command_text(command));
  for (const Role& role : plan.roles) {
    if (!role.command.empty()) text += format("{}: {}\n", role.name, command_text(role.command));
    if (role.resources.are_given())
      text += format("each {} gets {}\n", role.name, role.resources.text());
  }
  size_t width = 4;
  std::vector<std::string> spares;
  for (const PlannedHost& host : plan.hosts) {
    if (host.tasks.empty()) {
      spares.push_back(host.host.name);
    } else {
      width = std::max(width, host.host.name.size());
    }
  }
  text += format("{:>5}  {:<{}}  {:>10}  {:>10}  {}\n", "rank", "host", width, "local_rank",
                 "cross_rank", "task");
  for (const Task& task : plan.tasks) {
    text += format("{:>5}  {:<{}}  {:>10}  {:>10}  {}{}\n", number_or_dash(task.rank),
                   plan.hosts[static_cast<size_t>(task.agent)].host.name, width,
                   number_or_dash(task.local_rank), number_or_dash(task.cross_rank), task.id.text(),
                   given_endpoint(plan, task));
  }
  if (!spares.empty()) text += format("spare: {}\n", compress_names(spares));
  return text;
}

Json plan_json(const Plan& plan, const std::vector<std::string>& command) {
  return plan_document(plan, command, [](const Task&) { return std::vector<std::string>(); });
}

namespace {

Json::Array mounts_json(const std::vector<Mount>& mounts) {
  Json::Array all;
  for (const Mount& mount : mounts) {
    all.emplace_back(Json::Object{{"source", mount.source},
                                  {"target", mount.target},
                                  {"read_only", mount.read_only},
                                  {"command", text_or_null(mount.command)}});
  }
  return all;
}

std::string mounts_lines(const std::vector<Mount>& mounts) {
  std::string text;
  for (const Mount& mount : mounts) {
    text += format("mount: {} at {}{}{}\n", printable(mount.source, 300),
                   printable(mount.target, 300), mount.read_only ? ", read-only" : "",
                   mount.command.empty() ? "" : ", by: " + printable(mount.command, 300));
  }
  return text;
}

}  // namespace

std::string plan_report(const Plan& plan, const RunConfig& config, Json files) {
  const PlannedWords planned(plan, config);
  if (!config.json) {
    return plan_text(plan, config.command) + words_text(plan, planned) +
           mounts_lines(config.mounts);
  }
  const auto words_of = [&planned](const Task& task) { return planned.changed(task); };
  Json::Object document = plan_document(plan, config.command, words_of);
  document.emplace_back("sync", std::move(files));
  document.emplace_back("mounts", mounts_json(config.mounts));
  return Json(std::move(document)).text(2) + "\n";
}

}  // namespace dt
