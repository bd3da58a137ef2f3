#include "launcher/export/slurm_script.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"
#include "launcher/config/resources/role_resources.h"
#include "launcher/config/role.h"
#include "launcher/export/left_out.h"
#include "launcher/export/option_words.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// The nodes that the job needs, and the processes of each; 0: unknown.
struct NodeNeed {
  int nodes = 0;
  int tasks_per_node = 0;
  int cpus_per_task = 0;      ///< the most of all roles
  int gpus_per_node = 0;      ///< that --role-gpus wants
  uint64_t memory_bytes = 0;  ///< of each node, that --role-memory wants
  bool is_even = true;        ///< all nodes have equally many
};

/// Returns the need of a job whose hosts have slots, from its plan.
NodeNeed need_of(const Plan& plan) {
  NodeNeed need = {.nodes = static_cast<int>(plan.host_count())};
  for (const PlannedHost& host : plan.hosts) {
    if (host.task_count() == 0) continue;
    need.is_even =
        need.is_even && (need.tasks_per_node == 0 || need.tasks_per_node == host.task_count());
    need.tasks_per_node = std::max(need.tasks_per_node, host.task_count());
    double gpus = 0;
    uint64_t memory = 0;
    for (const size_t task : host.tasks) {
      const RoleResources& wanted = find_role(plan.roles, plan.tasks[task].id.role)->resources;
      need.cpus_per_task = std::max(need.cpus_per_task, wanted.cpus);
      memory += wanted.memory_bytes;
      if (wanted.gpus)
        gpus += wanted.gpus->shares() ? 1.0 / wanted.gpus->sharers : wanted.gpus->whole;
    }
    need.gpus_per_node = std::max(need.gpus_per_node, static_cast<int>(std::ceil(gpus)));
    need.memory_bytes = std::max(need.memory_bytes, memory);
  }
  return need;
}

NodeNeed need_of(const ExportJob& job) {
  if (job.plan) return need_of(*job.plan);
  return {.nodes = static_cast<int>(job.config.hosts.size())};
}

/// dtrain itself ends its tasks after --grace; Slurm gives it that, and time for its own end.
Duration target_grace(const RunConfig& config) {
  return config.grace + seconds(10);
}

int64_t whole_seconds(Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

/// Returns "hours:minutes:seconds", as sbatch takes it.
std::string time_text(Duration duration) {
  const int64_t all = whole_seconds(duration);
  return format("{:02}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

/// Returns the lines that sbatch reads. They have no words that need quotes, which it reads in its
/// own way.
std::vector<std::string> sbatch_words(const ExportJob& job, const NodeNeed& need) {
  const RunConfig& config = job.config;
  const std::string name = config.name.empty() ? "dtrain" : config.name;
  std::vector<std::string> words = {format("--job-name={}", name)};
  if (need.nodes > 0) words.push_back(format("--nodes={}", need.nodes));
  if (need.tasks_per_node > 0) {
    words.push_back(format("--ntasks-per-node={}", need.tasks_per_node));
    if (config.placement.gpu_bind == GpuBind::rank)
      words.push_back(format("--gpus-per-node={}", need.tasks_per_node));
    if (need.cpus_per_task > 0) words.push_back(format("--cpus-per-task={}", need.cpus_per_task));
    if (need.gpus_per_node > 0) words.push_back(format("--gpus-per-node={}", need.gpus_per_node));
    constexpr uint64_t mib = uint64_t{1} << 20;
    if (need.memory_bytes > 0)
      words.push_back(format("--mem={}M", (need.memory_bytes + mib - 1) / mib));
  } else {
    // dtrain counts the CPUs or GPUs of its allocation, and they are to be all of the node.
    words.emplace_back("--exclusive");
  }
  if (config.timeout) {
    words.push_back(format(
        "--time={}", time_text(config.start_timeout + *config.timeout + target_grace(config))));
  }
  words.push_back(format("--signal=B:TERM@{}", whole_seconds(target_grace(config))));
  words.push_back(format("--output={}-%j.out", name));
  return words;
}

/// True for a text that sbatch and a shell take as it is.
bool is_plain_path(std::string_view text) {
  return shell_quote(text) == text && text.find('%') == std::string_view::npos;
}

/// Returns the values of --role without the hosts in them.
std::vector<std::string> without_hosts(const std::vector<Role>& roles,
                                       const std::vector<std::string>& values) {
  const auto is_open = [](const Role& role) { return role.hosts.empty(); };
  if (std::ranges::all_of(roles, is_open)) return values;
  std::vector<std::string> counts;
  for (const Role& role : roles)
    counts.push_back(format("{}={}", role.name, role.count));
  return counts;
}

/// Returns the options for the job in an allocation, whose hosts are others.
std::vector<std::string> run_words(const ExportJob& job) {
  std::vector<std::string> words;
  bool has_count = false;
  for (const DecidedOption& one : job.options) {
    const std::string_view name = one.option->name;
    if (part_in_slurm(name) != ExportPart::written || one.option->effect == Effect::prints)
      continue;
    has_count = has_count || name == "np" || name == "role";
    const bool is_role = name == "role";
    std::ranges::move(
        option_words(*one.option,
                     is_role ? without_hosts(job.config.roles, one.values) : one.values),
        std::back_inserter(words));
  }
  if (!has_count && job.plan) {
    const std::string count = format("{}", job.plan->tasks.size());
    words.insert(words.begin(), {"-np", count});
  }
  return words;
}

/// Returns "exec dtrain run …", an option a line.
std::string run_lines(const ExportJob& job) {
  std::string line = "exec dtrain run";
  for (const std::string& word : run_words(job)) {
    line += word.starts_with('-') ? " \\\n  " : " ";
    line += shell_quote(word);
  }
  if (job.command.empty()) return line + "\n";
  line += " \\\n  --";
  for (const std::string& word : job.command)
    line += " " + shell_quote(word);
  return line + "\n";
}

void list_left_out(const ExportJob& job, const NodeNeed& need, Exported& exported) {
  const auto is_here = [](const Host& host) { return host.name == "localhost"; };
  if (!std::ranges::all_of(job.config.hosts, is_here))
    exported.left_out.emplace_back("the names of the hosts, since Slurm chooses the nodes");
  if (!need.is_even) exported.left_out.emplace_back("different numbers of processes on the hosts");
  const auto has_image = [&job](const Role& role) { return !image_of(job.config, role).empty(); };
  if (!job.config.no_image && std::ranges::any_of(job.config.roles, has_image))
    exported.left_out.emplace_back("the images");
  if (std::string options = options_left_out(job.options, part_in_slurm); !options.empty())
    exported.left_out.push_back(std::move(options));
}

/// Addresses that the user gives are of hosts that the user knows.
Result<> check_allocation(const ExportJob& job) {
  if (!job.config.external_cluster) return {};
  return fail(Errc::input,
              format("{}: it lays out hosts, and Slurm chooses nodes; leave it out, and give roles",
                     job.config.external_cluster->origin));
}

}  // namespace

Result<Exported> slurm_script(const ExportJob& job) {
  TRY(check_allocation(job));
  const NodeNeed need = need_of(job);
  Exported exported;
  list_left_out(job, need, exported);
  std::string text = "#!/bin/sh\n";
  for (const std::string& word : sbatch_words(job, need))
    text += format("#SBATCH {}\n", word);
  const bool has_folder_line = is_plain_path(job.folder);
  if (has_folder_line) text += format("#SBATCH --chdir={}\n", job.folder);
  text += format("# The job of {}. Submit it: sbatch {}\n", printable(job.source),
                 job.output.empty() ? "FILE" : shell_quote(printable(job.output)));
  if (!exported.left_out.empty()) text += "# Not expressed here:\n";
  for (const std::string& one : exported.left_out)
    text += format("# - {}\n", printable(one, 400));
  if (!has_folder_line) text += format("cd {} || exit\n", shell_quote(job.folder));
  exported.text = text + run_lines(job);
  return exported;
}

}  // namespace dt
