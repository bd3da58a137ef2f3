#include "launcher/slurm/srun_step.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/node_list.h"
#include "launcher/config/allocation/slurm.h"
#include "launcher/config/allocation/srun_words.h"
#include "launcher/config/hosts/host_range.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// SLURM_STEP_ID in the shell of salloc and `srun --pty` on clusters with LaunchParameters=
/// use_interactive_step: this step holds no resources.
constexpr std::string_view interactive_step = "4294967290";

/// The options of the batch script's tasks, which srun would apply to the agents. An agent has all
/// CPUs and GPUs that the job has on its host.
constexpr const char* options_of_tasks[] = {
    "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK",   "SLURM_TRES_PER_TASK",
    "SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_NODE",
    "SLURM_DISTRIBUTION",  "SLURM_GPU_BIND",       "SLURM_TRES_BIND",
};

/// Becomes the agent if its host is among those of the step. $1 is the path, $2 the stamp, $3 the
/// digest, $4 the missing mount of a container. The further arguments are the nodes without an
/// agent. The stamp shows a shared file system: it spares the 50 ms of sha256sum. A host without
/// the executable prints its name.
constexpr const char* agent_script =
    R"sh(p=$1 t=$2 s=$3 m=$4; shift 4; for n; do [ "$n" != "$SLURMD_NODENAME" ] || exit 0; done; )sh"
    R"sh([ "$(stat -Lc %s.%Y.%i "$p" 2>/dev/null)" != "$t" ] || exec "$p" agent dial SLURMD_NODENAME; )sh"
    R"sh(for f in "$p" "$HOME/.cache/dtrain/$s/dtrain"; do )sh"
    R"sh([ "$(sha256sum 2>/dev/null <"$f")" != "$s  -" ] || exec "$f" agent dial SLURMD_NODENAME; done; )sh"
    R"sh([ -n "$m" ] || { echo "$SLURMD_NODENAME"; exit; }; )sh"
    R"sh(echo "dtrain: $SLURMD_NODENAME: its container has no dtrain; add $m to --srun-args" >&2; exit 127)sh";

/// The same with the file that sbcast has written. $1 is the path where the host would look, $2 the
/// file, $3 the digest, $4 the remedy. dtrain_copy has the errors of sbcast. The file is removed on
/// all nodes: on those of an agent before it runs, since its process keeps the content.
constexpr const char* copy_script =
    R"sh(p=$1 f=$2 s=$3 r=$4 d=$2.d e=${dtrain_copy% }; shift 4; unset dtrain_copy; )sh"
    R"sh(for n; do [ "$n" != "$SLURMD_NODENAME" ] || { rm -f "$f"; exit 0; }; done; )sh"
    R"sh(no() { rm -rf "$f" "$d"; echo "dtrain: $SLURMD_NODENAME: no copy of this dtrain at $p; )sh"
    R"sh($r (sbcast to ${d%.d}: $1)" >&2; exit 127; }; )sh"
    R"sh(m=$(mkdir -m 700 "$d" 2>&1) || no "${m##*: }"; mv "$f" "$d/dtrain" 2>/dev/null || no "$e"; f=$d/dtrain; )sh"
    R"sh([ "$(sha256sum <"$f")" = "$s  -" ] || no "${e:-another file}"; )sh"
    R"sh(chmod 500 "$f"; [ -x "$f" ] || no "mounted noexec"; )sh"
    R"sh(exec 9<"$f"; rm -rf "$d"; exec /proc/self/fd/9 agent dial SLURMD_NODENAME)sh";

/// A copy to all nodes of a large job takes a few seconds.
constexpr int64_t sbcast_seconds_max = 60;

constexpr std::string_view copy_remedy =
    "install dtrain in a folder that all hosts share, or give --ssh openssh";

bool is_within_step(const Environment& environment) {
  const auto step = environment.find("SLURM_STEP_ID");
  return step != environment.end() && step->second != interactive_step;
}

/// Returns "--gpus=a100:8" for 2 GPUs a task and 4 tasks. None when the job has no such option.
std::optional<std::string> gpus_of_tasks(const Environment& environment) {
  const auto per_task = find_variable(environment, "SLURM_GPUS_PER_TASK");
  const auto tasks = find_variable(environment, "SLURM_NTASKS");
  if (!per_task || !tasks) return std::nullopt;
  const size_t at = per_task->value.rfind(':') + 1;  // 0 without a colon
  const auto gpus = parse_integer(std::string_view(per_task->value).substr(at));
  const auto count = parse_integer(tasks->value);
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (!gpus || !count || *gpus < 1 || *count < 1 || *gpus > most || *count > most)
    return std::nullopt;
  return format("--gpus={}{}", per_task->value.substr(0, at), *gpus * *count);
}

/// Returns the words of an srun for these nodes. They begin with `options`.
std::vector<std::string> words_for(const std::vector<std::string>& nodes,
                                   std::vector<std::string> words, const SrunStep& step) {
  const bool copies = !step.copy.empty();
  std::string remedy;
  if (copies) {
    remedy = copy_remedy;
  } else if (choose_container(step.words)) {
    remedy = format("--container-mounts={0}:{0}", step.executable);
  }
  std::ranges::copy(step.words, std::back_inserter(words));
  for (std::string word :
       {format("--nodes={}", nodes.size()),
        format("--ntasks={}", nodes.size()),
        std::string("--ntasks-per-node=1"),
        "--nodelist=" + compress_names(nodes),
        std::string("--mpi=none"),
        std::string("--cpu-bind=none"),
        std::string("--kill-on-bad-exit=0"),
        std::string("--no-kill"),
        std::string("--wait=0"),
        format("--immediate={}", std::max<int64_t>(1, step.patience / seconds(1))),
        std::string("--input=all"),
        std::string("--export=ALL"),
        std::string("/bin/sh"),
        std::string("-c"),
        std::string(copies ? copy_script : agent_script),
        std::string("dtrain"),
        step.executable,
        copies ? step.copy : step.stamp,
        step.sha256,
        std::move(remedy)})
    words.push_back(std::move(word));
  for (const std::string& node : nodes) {
    if (std::ranges::find(step.hosts, node) == step.hosts.end()) words.push_back(node);
  }
  return words;
}

/// Returns one srun for each group that has some of the nodes. A node of two groups is in the
/// first.
Result<std::vector<std::vector<std::string>>> words_of_groups(const AllocationVariable& size,
                                                              const SrunStep& step,
                                                              std::vector<std::string> left,
                                                              std::vector<std::string> options,
                                                              const Environment& environment) {
  const int groups = TRY(size.number(1, slurm_groups_max));
  std::vector<std::vector<std::string>> all;
  options.emplace_back();
  for (int group = 0; group < groups; ++group) {
    const AllocationVariable list =
        TRY(need_variable(environment, format("SLURM_JOB_NODELIST_HET_GROUP_{}", group)));
    const std::vector<std::string> nodes = TRY(expand_node_list(list));
    std::vector<std::string> hosts;
    for (const std::string& node : nodes) {
      if (std::erase(left, node) > 0) hosts.push_back(node);
    }
    options.back() = format("--het-group={}", group);
    if (!hosts.empty()) all.push_back(words_for(hosts, options, step));
  }
  return all;
}

/// Returns the part of a shell script that gives each of the commands the whole of $order. A single
/// srun for several groups gives it only to the first.
std::string all_at_once(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> parts;
  for (const std::vector<std::string>& words : commands) {
    std::vector<std::string> quoted;
    for (const std::string& word : words)
      quoted.push_back(shell_quote(word));
    parts.push_back("printf %s \"$order\" | " + join(quoted, " "));
  }
  return join(parts, " & ") + (parts.size() > 1 ? " & wait" : "");
}

/// Returns a shell that reads its input and runs the script.
std::vector<std::string> with_order(const std::string& script) {
  // A variable of the user that has this name would be exported.
  return {"/bin/sh", "-c", "unset order; order=$(cat); " + script};
}

/// Returns true if this machine is a node that gets no agent by the step.
bool is_node_without_agent(const SrunStep& step, const Environment& environment) {
  const auto name = environment.find("SLURMD_NODENAME");
  return name != environment.end() &&
         std::ranges::find(step.hosts, name->second) == step.hosts.end();
}

/// Returns a script that runs sbcast first. The commands remove the copies, so they run even if the
/// shell is killed, or if sbcast hangs. A copy for no agent of this machine is removed before: the
/// end of a job whose other agents fail need not wait for this machine's task of the step.
std::string after_sbcast(const SrunStep& step, const Environment& environment,
                         const std::string& script) {
  const int64_t seconds_max =
      std::clamp<int64_t>(step.patience / seconds(1), 1, sbcast_seconds_max);
  // In the foreground it stays in the group of the shell, which is killed as a whole.
  const std::string sbcast =
      format("SBCAST_SEND_LIBS=no timeout --foreground -k 5 {} sbcast {} {}", seconds_max,
             shell_quote(step.executable), shell_quote(step.copy));
  const std::string removal = is_node_without_agent(step, environment)
                                  ? format("rm -f {}; ", shell_quote(step.copy))
                                  : std::string();
  return format(
      "{{ export dtrain_copy; dtrain_copy=$({{ {}; case $? in (124|137) "
      "echo sbcast had not ended after {}s;; esac; }} 2>&1 | tr '\\n' ' '); {}{}; }} & wait $!",
      sbcast, seconds_max, removal, script);
}

}  // namespace

Result<SrunCommand> srun_command(const SrunStep& step, const Environment& environment) {
  SrunCommand command = {.words = {}, .environment = environment};
  for (const char* const name : options_of_tasks)
    command.environment.erase(name);
  const bool within_step = is_within_step(environment);
  const bool copies = !step.copy.empty();
  // Slurm shares out a total of GPUs among all nodes of the job, so such a step has them all.
  const auto gpus = within_step ? std::nullopt : gpus_of_tasks(environment);
  const bool total = gpus || has_variable(environment, "SLURM_GPUS");
  if (total && step.beside) {
    return fail(Errc::unreachable,
                format("no copy of this dtrain at {}; {}", step.executable, copy_remedy));
  }
  std::vector<std::string> options = {"srun"};
  // The step that copies would otherwise wait until Slurm knows the end of the step before, long
  // after its tasks have ended where the controller is busy. No overlap shares a total of GPUs.
  if (within_step || (copies && !total)) options.emplace_back("--overlap");
  std::vector<std::vector<std::string>> all;
  if (const auto size = find_variable(environment, "SLURM_HET_SIZE")) {
    all = TRY(words_of_groups(*size, step, copies ? step.nodes : step.hosts, std::move(options),
                              environment));
  } else {
    if (gpus) options.push_back(*gpus);
    all.push_back(words_for(total || copies ? step.nodes : step.hosts, std::move(options), step));
  }
  if (copies) {
    command.words = with_order(after_sbcast(step, environment, all_at_once(all)));
  } else {
    command.words = all.size() == 1 ? all.front() : with_order(all_at_once(all));
  }
  return command;
}

std::string srun_remedy(std::string_view messages) {
  // Another step holds CPUs, GPUs or memory.
  if (messages.find("Requested nodes are busy") == std::string_view::npos) return "";
  return "another step holds what the job has there: wait for its end, or start it by srun with "
         "--overlap";
}

}  // namespace dt
