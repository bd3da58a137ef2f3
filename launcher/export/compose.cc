#include "launcher/export/compose.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/mounts/mount.h"
#include "launcher/config/resources/role_resources.h"
#include "launcher/config/role.h"
#include "launcher/export/containers.h"
#include "launcher/export/left_out.h"
#include "launcher/export/yaml_text.h"
#include "launcher/plan/success_rule.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace dt {
namespace {

/// Compose replaces variables in all values, after it has read the YAML.
std::string protected_text(std::string_view text) {
  std::string result;
  for (const char c : text)
    result.append(c == '$' ? 2 : 1, c);
  return result;
}

YamlValue compose_text(std::string_view text) {
  return YamlValue::text(protected_text(text));
}

/// dtrain itself ends its tasks after --grace; a container gets that, and time for its own end.
std::string stop_grace(Duration grace) {
  constexpr Duration more = seconds(10);
  return format("{}s", std::chrono::ceil<std::chrono::seconds>(grace + more).count());
}

/// True for tasks that end by themselves. Compose would start them again and again.
bool is_finite(const Role& role) {
  return role.ranked || role.name == evaluator_role;
}

std::string restart_policy(const Role& role) {
  if (role.restarts == 0) return "no";
  if (role.restarts_always && !is_finite(role)) return "always";
  return role.restarts == restarts_unlimited ? "on-failure"
                                             : format("on-failure:{}", role.restarts);
}

YamlValue environment_of(const Container& container) {
  YamlValue environment = YamlValue::map();
  for (const auto& [name, value] : container.environment)
    environment.set(name, value ? compose_text(*value) : YamlValue());
  return environment;
}

YamlValue code_volume(const ExportJob& job) {
  YamlValue volume = YamlValue::map();
  volume.set("type", YamlValue::text("bind"));
  volume.set("source", compose_text(job.code->root));
  volume.set("target", compose_text(code_target(job.config)));
  // Results of --fetch come back by themselves: they are written into the tree.
  volume.set("read_only", YamlValue::flag(!job.config.fetch));
  return volume;
}

/// True for a folder of this machine. Other mounts need a program, or an administrator.
bool is_bound(const Mount& mount) {
  return mount.command.empty() && !mount.source.starts_with(nfs_scheme);
}

/// Returns the folders that containers have from this machine.
YamlValue volumes_of(const ExportJob& job) {
  YamlValue volumes = YamlValue::list();
  if (job.code) volumes.add(code_volume(job));
  for (const Mount& mount : job.config.mounts) {
    if (!is_bound(mount)) continue;
    YamlValue volume = YamlValue::map();
    volume.set("type", YamlValue::text("bind"));
    volume.set("source", compose_text(mount.source));
    volume.set("target", compose_text(mount.target));
    volume.set("read_only", YamlValue::flag(mount.read_only));
    volumes.add(std::move(volume));
  }
  return volumes;
}

/// The GPUs of the machine that containers have got so far: they get the next ones, in order.
struct DealtGpus {
  int next = 0;
  int sharers = 0;  ///< tasks that share the GPU `next`
};

/// Returns the GPUs of a task. All containers are on one machine: that of --gpu-bind is its rank's.
std::vector<std::string> gpus_of(const ExportJob& job, const Container& container,
                                 const std::optional<GpuCount>& count, DealtGpus& dealt) {
  const int rank = container.task.rank;
  if (!count && job.config.placement.gpu_bind == GpuBind::rank && rank >= 0)
    return {format("{}", rank)};
  if (!count) return {};
  if (count->shares()) {
    const std::string shared = format("{}", dealt.next);
    if (++dealt.sharers == count->sharers) dealt = {.next = dealt.next + 1};
    return {shared};
  }
  if (dealt.sharers > 0) dealt = {.next = dealt.next + 1};
  std::vector<std::string> gpus;
  for (int gpu = 0; gpu < count->whole; ++gpu)
    gpus.push_back(format("{}", dealt.next++));
  return gpus;
}

YamlValue deploy_of(const std::vector<std::string>& gpus) {
  YamlValue device = YamlValue::map();
  device.set("driver", YamlValue::text("nvidia"));
  device.set("device_ids", YamlValue::list(gpus));
  device.set("capabilities", YamlValue::list({"gpu"}));
  YamlValue devices = YamlValue::list();
  devices.add(std::move(device));
  YamlValue reservations = YamlValue::map();
  reservations.set("devices", std::move(devices));
  YamlValue resources = YamlValue::map();
  resources.set("reservations", std::move(reservations));
  YamlValue deploy = YamlValue::map();
  deploy.set("resources", std::move(resources));
  return deploy;
}

YamlValue service_of(const ExportJob& job, const Plan& plan, const Container& container,
                     DealtGpus& dealt) {
  const Role& role = *find_role(plan.roles, container.task.id.role);
  YamlValue service = YamlValue::map();
  service.set("image", compose_text(container.image));
  service.set("hostname", YamlValue::text(container.name));
  YamlValue words = YamlValue::list();
  for (const std::string& word : container.command)
    words.add(compose_text(word));
  service.set("command", std::move(words));
  if (const std::string folder = working_folder(job); !folder.empty())
    service.set("working_dir", compose_text(folder));
  service.set("environment", environment_of(container));
  if (YamlValue volumes = volumes_of(job); !volumes.items().empty())
    service.set("volumes", std::move(volumes));
  service.set("init", YamlValue::flag(true));
  service.set("restart", YamlValue::text(restart_policy(role)));
  service.set("stop_grace_period", YamlValue::text(stop_grace(job.config.grace)));
  const RoleResources& wanted = role.resources;
  if (wanted.cpus > 0) service.set("cpus", YamlValue::text(format("{}", wanted.cpus)));
  if (wanted.memory_bytes > 0)
    service.set("mem_limit", YamlValue::text(format("{}b", wanted.memory_bytes)));
  const std::vector<std::string> gpus = gpus_of(job, container, wanted.gpus, dealt);
  if (!gpus.empty()) service.set("deploy", deploy_of(gpus));
  return service;
}

Result<> check_images(const std::vector<Container>& containers) {
  const auto found = std::ranges::find_if(
      containers, [](const Container& container) { return container.image.empty(); });
  if (found == containers.end()) return {};
  const std::string& role = found->task.id.role;
  return fail(Errc::input,
              format("role {0}: a container needs an image; add image = \"NAME:TAG\" to the file, "
                     "there or in [roles.{0}], or give --image NAME:TAG",
                     role));
}

/// The tasks whose end is the end of the job.
std::vector<size_t> deciding_tasks(const Plan& plan, const SuccessOptions& success) {
  std::vector<size_t> deciding;
  const std::vector<TaskRule> rules = success_rule(plan, success);
  for (size_t at = 0; at < rules.size(); ++at)
    if (rules[at].decides) deciding.push_back(at);
  return deciding;
}

void list_restarts(const std::vector<Role>& roles, Exported& exported) {
  for (const Role& role : roles) {
    if (!role.restarts_always) continue;
    if (is_finite(role)) {
      exported.warnings.push_back(
          format("role {}: restart always would start tasks again that have ended; it becomes {}",
                 role.name, restart_policy(role)));
    } else if (role.restarts != restarts_unlimited) {
      exported.left_out.push_back(format("the limit of {} restarts of {}, which restarts always",
                                         role.restarts, role.name));
    }
  }
}

void list_code(const ExportJob& job, Exported& exported) {
  const RunConfig& config = job.config;
  if (config.sync && config.sync->repository) {
    exported.left_out.push_back(format("the code of {}, which the image must have",
                                       printable(name_of_repository(*config.sync->repository))));
  }
  if (config.chdir && !job.code && !config.chdir->starts_with('/'))
    exported.left_out.push_back(
        format("the folder {} of this machine, since no [code] is mounted", *config.chdir));
  if (config.fetch && !job.code) exported.left_out.emplace_back("the results of --fetch");
}

/// Lists all that the file lacks.
void list_left_out(const ExportJob& job, const Containers& containers, size_t deciding,
                   Exported& exported) {
  const size_t tasks = containers.all.size();
  if (!job.config.hosts.empty() || !job.config.host_source.program.empty())
    exported.left_out.emplace_back("the hosts, since compose starts all containers on one machine");
  if (tasks > 1) {
    exported.left_out.emplace_back(
        "the rendezvous of dtrain run, by which programs of libdtrain, Horovod and MPI meet");
  }
  if (deciding > 1) {
    exported.left_out.push_back(format(
        "the success of {} tasks together, since up ends with the first container that exits",
        deciding));
  }
  list_restarts(containers.plan.roles, exported);
  list_code(job, exported);
  for (const Mount& mount : job.config.mounts)
    if (!is_bound(mount))
      exported.left_out.push_back(
          format("the mount of {} at {}", printable(mount.source), printable(mount.target)));
  if (std::string options = options_left_out(job.options, part_in_compose); !options.empty())
    exported.left_out.push_back(std::move(options));
}

/// How `docker compose up` ends.
struct JobEnd {
  std::string service = {};  ///< whose end is that of the job; empty: none
  bool is_of_all = false;    ///< the job ends when all tasks have ended
};

JobEnd end_of(const Containers& containers, const std::vector<size_t>& deciding) {
  if (deciding.empty()) return {};
  const bool several = deciding.size() > 1;
  return {.service = containers.all[deciding.front()].name,
          .is_of_all = several && deciding.size() == containers.all.size()};
}

/// Returns the comment at the top.
std::string head_of(const ExportJob& job, const JobEnd& end,
                    const std::vector<std::string>& left_out) {
  const std::string file = job.output.empty() ? "FILE" : shell_quote(printable(job.output));
  std::string head = format(
      "# The job of {}, for docker compose on one machine. Start it:\n"
      "#   docker compose -f {} up{}\n",
      printable(job.source), file, end.service.empty() ? "" : " --exit-code-from " + end.service);
  if (end.is_of_all) {
    head += format(
        "# Where compose has this option, up ends with the first failure or with all:\n"
        "#   docker compose -f {} up --abort-on-container-failure\n",
        file);
  }
  if (!left_out.empty()) head += "# Not expressed here:\n";
  for (const std::string& one : left_out)
    head += format("# - {}\n", printable(one, 400));
  return head;
}

}  // namespace

Result<Exported> compose_file(const ExportJob& job) {
  Containers containers = TRY(containers_of(job));
  TRY(check_images(containers.all));
  const std::vector<size_t> deciding = deciding_tasks(containers.plan, job.config.success);
  Exported exported = {.text = {}, .left_out = {}, .warnings = std::move(containers.warnings)};
  list_left_out(job, containers, deciding.size(), exported);
  YamlValue services = YamlValue::map();
  DealtGpus dealt;
  for (const Container& container : containers.all)
    services.set(container.name, service_of(job, containers.plan, container, dealt));
  YamlValue document = YamlValue::map();
  document.set("services", std::move(services));
  const std::string text = TRY(yaml_text(document));
  exported.text = head_of(job, end_of(containers, deciding), exported.left_out) + text;
  return exported;
}

}  // namespace dt
