#include "cmd/help.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_options.h"
#include "cmd/check_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {
namespace {

constexpr size_t columns = 80;
constexpr size_t help_column = 26;

constexpr std::array topics = {
    CommandHelp{"run", "Start a job and stay with it to its end."},
    CommandHelp{"job", "Run the job that a file describes: dtrain job run train.toml.",
                "run check init pieces list status logs stop wait rm --detach --connect --pieces "
                "-o --json -f "
                "--rank --role --tail --grace --cluster-spec --tf-config --help"},
    CommandHelp{"export",
                "Write a job for docker compose, Slurm or Kubernetes: dtrain export compose FILE.",
                "compose slurm kubernetes indexed-job jobset trainjob mpijob -o --kind --queue "
                "--runtime --claim --secret "
                "--with-secret --without-dtrain --help"},
    CommandHelp{"check", "Look at the hosts of a job before it: dtrain check -H node1,node2.",
                "--import --json --help"},
    CommandHelp{"bench", "Measure the collectives of libdtrain: dtrain bench all_reduce -np 2."},
    CommandHelp{"ps", "Serve the variables of a job: what the role ps runs with a strategy.",
                "--checkpoint --checkpoint-every --help"},
    CommandHelp{"token", "Print a new token for the nodes of a job: dtrain token.", "--help"},
    CommandHelp{"config", "Show what flags, variables and files decide: dtrain config show.",
                "show --origin --all --json --help"},
    CommandHelp{"cache", "List or remove the files of dtrain that hosts keep: dtrain cache list.",
                "list clear --help"},
    CommandHelp{"completion", "Print the completion script for bash, zsh or fish.",
                "bash zsh fish --help"},
    CommandHelp{"version", "Print the version; with --json as a JSON document.", "--json --help"},
    CommandHelp{"help", "Explain dtrain, or one command: dtrain help run."},
};

constexpr std::array groups = {
    OptionGroupTitle{OptionGroup::hosts, "Hosts and processes"},
    OptionGroupTitle{OptionGroup::workers, "Workers"},
    OptionGroupTitle{OptionGroup::code, "Code and data on the hosts"},
    OptionGroupTitle{OptionGroup::faults, "Time and faults"},
    OptionGroupTitle{OptionGroup::output, "Output"},
    OptionGroupTitle{OptionGroup::itself, "dtrain itself"},
    OptionGroupTitle{OptionGroup::torchrun, "Options of torchrun, mpirun and srun"},
    OptionGroupTitle{OptionGroup::horovod, "Horovod's options"},
};

/// Breaks `text` at blanks into lines of `columns`. Each but the first begins with `indent` blanks.
std::string wrapped(std::string_view text, size_t indent) {
  std::string all;
  size_t column = indent;
  for (const std::string_view word : split_words(text)) {
    if (column != indent && column + 1 + word.size() > columns) {
      all += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column != indent) all += " ";
    column += word.size() + (column == indent ? 0 : 1);
    all += word;
  }
  return all;
}

std::string entry(const std::string& left, std::string_view right) {
  std::string line = "  " + left;
  const bool beside = line.size() + 2 <= help_column;
  line +=
      beside ? std::string(help_column - line.size(), ' ') : "\n" + std::string(help_column, ' ');
  return line + wrapped(right, help_column) + "\n";
}

/// Adds the placeholder, and breaks it behind a | where the line would be too long.
void add_placeholder(std::string& left, std::string_view placeholder) {
  constexpr std::string_view margin = "  ";
  size_t line_begin = 0;
  left += ' ';
  for (std::string_view rest = placeholder; !rest.empty();) {
    const std::string_view choice = rest.substr(0, std::min(rest.find('|'), rest.size() - 1) + 1);
    if (margin.size() + left.size() - line_begin + choice.size() > columns) {
      left += "\n      ";
      line_begin = left.size() - margin.size() * 2;
    }
    left += choice;
    rest.remove_prefix(choice.size());
  }
}

std::string option_entry(const Option& option) {
  const std::vector<std::string_view> spellings = spellings_of(option);
  std::string left;
  size_t line_begin = 0;
  for (const std::string_view spelling : spellings) {
    constexpr size_t margins = 4;  // two blanks, and a comma with its blank
    if (left.size() - line_begin + spelling.size() + margins > columns) {
      left += ",\n      ";
      line_begin = left.size() - margins;
    } else if (!left.empty()) {
      left += ", ";
    }
    left += spelling;
  }
  if (!option.placeholder.empty()) add_placeholder(left, option.placeholder);
  return entry(left, option.help);
}

std::string_view summary_of(std::string_view command) {
  return std::ranges::find(topics, command, &CommandHelp::name)->summary;
}

std::string completion_help() {
  return "usage: dtrain completion bash|zsh|fish\n\n" +
         wrapped(
             "Prints a script that completes commands, options, values, hosts (of the hostfile and "
             "~/.ssh/config) and the workers' command. Packages install it where the shell finds "
             "it; elsewhere:",
             0) +
         "\n\n"
         "  bash  in ~/.bashrc:  source <(dtrain completion bash)\n"
         "  zsh   in ~/.zshrc, behind compinit:  source <(dtrain completion zsh)\n"
         "  fish  dtrain completion fish > ~/.config/fish/completions/dtrain.fish\n";
}

std::string config_help() {
  return "usage: dtrain config show [--origin] [--all] [--json] [options of run] [command]\n\n" +
         wrapped(
             "Prints the options that a run would have, from the command line, DTRAIN_OPT_* "
             "variables and the configuration files, in the form of a dtrain.toml. The file is "
             "that "
             "of --config-file, else ./dtrain.toml before ~/.config/dtrain/config.toml. Values are "
             "shown as they are written; dtrain run --dry-run checks them.",
             0) +
         "\n\n" + entry("--origin", "Add where each was written.") +
         entry("--all", "Show the defaults, too.") +
         entry("--json", "Print one JSON document, with values and origins.") +
         "\nexamples\n"
         "  dtrain config show --origin\n"
         "  dtrain config show -np 4 -H node1:2,node2:2 > dtrain.toml\n";
}

std::string cache_help() {
  return "usage: dtrain cache list|clear [-H HOSTS | --hostfile FILE] [options]\n\n" +
         wrapped(
             "Lists or removes the copies of dtrain, the trees and files of --sync, and the "
             "folders of "
             "--setup, that jobs have left in ~/.cache/dtrain, $XDG_RUNTIME_DIR/dtrain or "
             "/tmp/dtrain-UID: on this "
             "machine, or on the hosts that are given. A later job sends them again. Those of "
             "running jobs stay. Options for reaching hosts are those of check.",
             0) +
         "\n\nexamples\n"
         "  dtrain cache list\n"
         "  dtrain cache clear -H node1,node2\n";
}

std::string job_help() {
  return "usage: dtrain job run FILE [--detach] [options of run] [-- command]\n"
         "       dtrain job check FILE [--connect] [options of run] [-- command]\n"
         "       dtrain job init [-o FILE] -- options of run and command\n"
         "       dtrain job pieces [--json]\n"
         "       dtrain job list [--json]\n"
         "       dtrain job status [ID] [--json | --cluster-spec | --tf-config]\n"
         "       dtrain job logs [ID] [-f] [--rank N | --role NAME:N] [--tail N]\n"
         "       dtrain job stop [ID] [--grace TIME]\n"
         "       dtrain job wait [ID]\n"
         "       dtrain job rm ID\n\n" +
         wrapped(
             "run starts the job that FILE describes: its command, roles, hosts, code and options. "
             "check prints what would run where, with --json as a JSON document, and starts "
             "nothing. init prints the file of a command line. pieces lists the named tables that "
             "files may use. Options of run, and a command "
             "behind --, win over the file; the file wins over dtrain.toml. man dtrain.job.toml "
             "describes the file.\n\nEach job has a folder in ~/.local/state/dtrain/jobs with its "
             "state "
             "and its output, and a name such as train-3. list, status, logs, stop, wait and rm "
             "are "
             "for these jobs, from any terminal; without ID the latest is meant. wait exits with "
             "the job's status.",
             0) +
         "\n\n" +
         entry("--detach, -d",
               "Leave the terminal when all tasks have started, and print the ID.") +
         entry("--connect", "Look at the job's hosts, as dtrain check does.") +
         entry("-o FILE", "Write to FILE, which must not exist.") +
         entry("--cluster-spec", "Print the addresses of the tasks that run, by role.") +
         entry("--tf-config", "Print them as TF_CONFIG for a client.") +
         entry("-f, --follow", "Show further lines until the job ends.") +
         entry("--rank N, --role NAME:N", "Show the lines of one task.") +
         entry("--tail N", "Begin with the last N lines of each stream.") +
         entry("--grace TIME", "Kill after TIME, if the job's own --grace is not shorter.") +
         entry("--pieces FILE",
               "The file with the pieces that a job uses; else ~/.config/dtrain/pieces.toml.") +
         "\nexamples\n"
         "  dtrain job init -o train.toml -- -np 4 python train.py\n"
         "  dtrain job check train.toml\n"
         "  dtrain job run train.toml --timeout 2h --detach\n"
         "  dtrain job logs -f\n";
}

std::string export_help() {
  return "usage: dtrain export compose|slurm FILE [-o FILE] [options of run] [-- command]\n"
         "       dtrain export kubernetes [FILE] --kind KIND [-o FILE] [options of run]\n"
         "                                [-- command]\n\n" +
         wrapped(
             "Prints the job of a job file in the language of another launcher, and contacts no "
             "host. compose: a file for docker compose, with a service for each task. slurm: a "
             "script for sbatch, which runs dtrain on the nodes that it gets. kubernetes: a "
             "manifest for kubectl; without FILE, of the options and the command. A warning, and a "
             "comment in the text, name what it lacks. Options of run, and a command behind --, "
             "win over the file.",
             0) +
         "\n\n" + entry("-o FILE", "Write to FILE, which must not exist.") + "\nkubernetes\n" +
         entry("--kind KIND", "The object: indexed-job, jobset, trainjob or mpijob.") +
         entry("--queue NAME", "The queue of Kueue, which then starts the job.") +
         entry("--runtime NAME", "The runtime of a trainjob in the cluster; else it is written.") +
         entry("--claim NAME:TARGET", "Mount a PersistentVolumeClaim; :ro behind it: read-only.") +
         entry("--secret NAME", "The Secret with the nodes' token (default JOB-dtrain).") +
         entry("--with-secret", "Write that Secret with a fresh token, to the file of -o.") +
         entry("--without-dtrain", "The image has no dtrain: torchrun, or the variables alone.") +
         "\nexamples\n"
         "  dtrain export compose train.toml --image train:v1 -o compose.yaml\n"
         "  docker compose up --exit-code-from chief-0\n"
         "  dtrain export slurm train.toml -o train.sh && sbatch train.sh\n"
         "  dtrain export kubernetes train.toml --kind jobset -o train.yaml\n"
         "  kubectl apply -f train.yaml\n";
}

std::string ps_help() {
  return "usage: dtrain ps [--checkpoint PATH [--checkpoint-every STEPS]]\n\n" +
         wrapped(
             "Keeps variables of a job, and changes them by the gradients that workers push with "
             "libdtrain (dtrain_ps.h). It runs as a task without rank: dtrain run "
             "--strategy parameter_server starts it for the role ps unless --role-command gives "
             "another command. It ends with the job.",
             0) +
         "\n\nexamples\n"
         "  dtrain run --role ps=2,worker=4 --strategy parameter_server ./train\n"
         "  dtrain run --role ps=1,worker=4 \\\n"
         "    --role-command 'ps=self ps --checkpoint /data/model --checkpoint-every 100' \\\n"
         "    ./train\n\noptions\n" +
         entry("--checkpoint PATH",
               "Keep the variables in files PATH-STEP.ps-INDEX-of-COUNT, the last three, on the "
               "server's host. A server that starts restores the newest step that all have.") +
         entry("--checkpoint-every STEPS",
               "Write them after so many steps; else only when the job ends.");
}

std::string token_help() {
  return "usage: dtrain token\n\n" +
         wrapped(
             "Prints a new token: 64 random hex digits. Where each node starts the same dtrain "
             "run, the nodes prove themselves by it. Give one token to all nodes of a job, in "
             "the variable DTRAIN_NODES_TOKEN or in a file for --token-file, and keep it "
             "secret: each process that has it can run commands on the nodes.",
             0) +
         "\n\nexamples\n"
         "  dtrain token > token && chmod 600 token\n"
         "  kubectl create secret generic train-dtrain --from-literal=token=$(dtrain token)\n";
}

std::string check_help() {
  std::string text =
      "usage: dtrain check [-H HOSTS | --hostfile FILE] [options] [-- command]\n\n" +
      wrapped(
          "Looks at the hosts of a job before it: logging in, dtrain itself, versions, clocks, "
          "GPUs, cores, memory, limits, disks and Python of each, and which addresses lead from "
          "host to host, how quickly. What is not as a job needs it is a warning or a failure, "
          "with what to do about it. The command of a job is only looked up and compared. Without "
          "hosts it looks at this machine.",
          0) +
      "\n\nexamples\n"
      "  dtrain check\n"
      "  dtrain check -H node1:8,node2:8\n"
      "  dtrain check -H node1,node2 --import torch,numpy -- ./train\n"
      "  dtrain check --hostfile hosts --json > hosts.json\n\noptions\n";
  for (const Option& option : run_options) {
    if (is_check_option(option)) text += option_entry(option);
  }
  for (const CheckOption& option : check_own_options) {
    const bool flag = option.placeholder.empty();
    text +=
        entry(format("{}{}{}", option.spelling, flag ? "" : " ", option.placeholder), option.help);
  }
  text += "\n" +
          wrapped(
              "Options are taken from dtrain.toml and DTRAIN_OPT_* variables as for run. "
              "Exit status: 0, also with warnings; 1 when something fails; 2 wrong usage; "
              "130 or 143 interrupted.",
              0) +
          "\n";
  return text;
}

std::string bench_option_entry(const BenchOption& option) {
  std::string left;
  for (const std::string_view spelling : split_words(option.spellings))
    left += format("{}{}", left.empty() ? "" : ", ", spelling);
  if (!option.placeholder.empty()) left += format(" {}", option.placeholder);
  return entry(left, option.help);
}

std::string bench_help() {
  std::string text =
      "usage: dtrain bench OPERATION -np N [options]\n\n" +
      wrapped(format("OPERATION is one of {}.", join(bench_operation_names(), ", ")), 0) + "\n\n" +
      wrapped(
          "Starts N processes as run does, checks that every result of the operation is exact, "
          "and measures it size by size. A single call is timed from a barrier to its end on the "
          "slowest rank, for p50 and p99; time and bandwidths are those of calls back to back. On "
          "each host, every rank gets cores of its own where there are enough. latency is half the "
          "round trip of a message between the ranks 0 and 1. fusion is an all_reduce of each of "
          "many tensors, which are pending together.",
          0) +
      "\n\nexamples\n"
      "  dtrain bench all_reduce -np 2\n"
      "  dtrain bench all_gather -H node1:4,node2:4 -b 1K -e 1G -f 4\n"
      "  dtrain bench latency -np 2 -e 8 --transport tcp --json\n"
      "  dtrain bench fusion -np 2 --tensors resnet50\n\noptions\n";
  for (const BenchOption& option : bench_options()) {
    if (!option.hidden) text += bench_option_entry(option);
  }
  text += "\noptions of run\n";
  for (const Option& option : run_options) {
    if (is_bench_option(option)) text += option_entry(option);
  }
  text += "\n" +
          wrapped(
              "-n is the number of calls here, so that processes are -np. Exit status: 0; 1 when a "
              "result is wrong or a call fails; else as for run.",
              0) +
          "\n";
  return text;
}

/// Lists only the names of another launcher's options, by their effect here, which many have in
/// common. That launcher documents their meaning.
std::string answered_entries(OptionGroup group) {
  constexpr std::pair<Effect, std::string_view> effects[] = {
      {Effect::agrees, "accepted"},
      {Effect::exports, "for its library"},
      {Effect::refuses, "refused with a reason"}};
  std::string text;
  for (const auto& [effect, title] : effects) {
    std::string names;
    for (const Option& option : run_options) {
      if (option.group != group || option.effect != effect) continue;
      for (const std::string_view spelling : spellings_of(option))
        names += format("{} ", spelling);
    }
    if (!names.empty()) text += entry(std::string(title), names);
  }
  return text;
}

std::string overview() {
  std::string text =
      "dtrain starts distributed training jobs.\n\n"
      "usage: dtrain run -np N [options] [--] command [args]\n\n"
      "example: dtrain run -np 4 python train.py\n\n"
      "commands\n";
  for (const CommandHelp& topic : topics)
    text += entry(std::string(topic.name), topic.summary);
  text += "\nmore: dtrain help run, dtrain help -np, man dtrain-run\n";
  return text;
}

std::string run_help() {
  std::string text =
      "usage: dtrain run -np N [options] [--] command [args]\n\n" +
      wrapped(
          "Starts N processes of the command, gives each its rank and the addresses of the "
          "others (for PyTorch, TensorFlow, JAX and libdtrain), shows what they print, and "
          "ends with the exit status of the first that fails.",
          0) +
      "\n\nexamples\n"
      "  dtrain run -np 4 python train.py\n"
      "  dtrain run -np 2 -x NCCL_DEBUG=INFO -- ./train --epochs 3\n"
      "  dtrain run -H localhost:4 --timeout 2h --output-dir logs python train.py\n"
      "  dtrain run --hostfile hosts --dry-run python train.py\n";
  for (const OptionGroupTitle& group : groups) {
    text += format("\n{}\n", group.title);
    for (const Option& option : run_options) {
      const bool plain = option.effect == Effect::decides || option.effect == Effect::prints;
      if (option.group == group.group && plain) text += option_entry(option);
    }
    text += answered_entries(group.group);
  }
  text += "\n" +
          wrapped(
              "TIME is 10, 10s, 500ms, 2m, 1h30m or 00:05:00. Every option can also stand in "
              "dtrain.toml "
              "under its long name (np = 4) and in a variable (DTRAIN_OPT_NP=4); the command "
              "line comes first, then variables, then the file. Exit status of dtrain itself: "
              "2 wrong usage, 3 a host failed, 4 the start failed, 124 the time limit passed, "
              "126 or 127 the command cannot be run, 130 or 143 interrupted.",
              0) +
          "\n";
  return text;
}

}  // namespace

std::span<const CommandHelp> commands() {
  return topics;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names(topics.size());
  std::ranges::transform(topics, names.begin(),
                         [](const CommandHelp& topic) { return std::string(topic.name); });
  return names;
}

std::span<const OptionGroupTitle> option_groups() {
  return groups;
}

std::optional<std::string> page_text(std::string_view topic) {
  struct Page {
    std::string_view topic;
    std::string_view page;
    std::string_view subject;
  };
  constexpr Page pages[] = {
      {"environment", "7 dtrain-environment",
       "the variables that workers get, and that dtrain reads"},
      {"variables", "7 dtrain-environment",
       "the variables that workers get, and that dtrain reads"},
      {"report", "5 dtrain-report", "the JSON of --report, --dry-run --json, config show --json"},
      {"toml", "5 dtrain.toml", "options in a file"},
      {"dtrain.toml", "5 dtrain.toml", "options in a file"},
      {"dtrain.job.toml", "5 dtrain.job.toml", "a job in a file"},
  };
  const auto* const found = std::ranges::find(pages, topic, &Page::topic);
  if (found == std::end(pages)) return std::nullopt;
  return format("The manual page for {} ({}): man {}\n", topic, found->subject, found->page);
}

std::string option_help(const Option& option) {
  return option_entry(option);
}

std::string short_run_help() {
  constexpr std::pair<std::string_view, std::string_view> common[] = {
      {"-np N", "Processes to start."},
      {"-H HOSTS", "Hosts, such as node1:8,node2:8; or --hostfile FILE."},
      {"--ppn N", "Processes on each host."},
      {"--role NAME=COUNT", "Tasks of roles: --role ps=1,worker=4."},
      {"--strategy NAME", "How programs with dtrain::Strategy train."},
      {"-x NAME[=VALUE]", "Set a variable for the workers, or forward it."},
      {"--chdir DIR", "The folder to start in."},
      {"--bind-to core|numa|auto", "Bind each process to CPUs."},
      {"--gpu-bind rank", "Each process sees the GPU of its local rank alone."},
      {"--timeout TIME", "End the job after 90s, 30m or 2h, with status 124."},
      {"--on-failure continue", "Let the others run when a process fails."},
      {"--restart-role NAME=N", "Restart failed tasks of the role, N times each."},
      {"--stdin RANK|all", "The ranks that read dtrain's standard input."},
      {"--no-tag", "Show lines without [rank]<stdout>: before them."},
      {"--quiet", "Keep the workers' output off the console."},
      {"--output-dir DIR", "Also write it to files in DIR, for each rank."},
      {"--report FILE", "Write a JSON document when the job has ended."},
      {"--verbose", "Log dtrain's own steps."},
      {"--dry-run", "Print which rank would run where, and start nothing."}};
  std::string text =
      "usage: dtrain run -np N [options] [--] command [args]\n\n"
      "  dtrain run -np 4 python train.py\n"
      "  dtrain run -H node1:8,node2:8 --timeout 2h python train.py\n\n";
  for (const auto& [option, summary] : common)
    text += entry(std::string(option), summary);
  return text + "\ndtrain run --help: all options\n";
}

std::string help_text(std::string_view topic) {
  if (topic == "run") return run_help();
  if (topic == "check") return check_help();
  if (topic == "bench") return bench_help();
  if (topic == "config") return config_help();
  if (topic == "cache") return cache_help();
  if (topic == "ps") return ps_help();
  if (topic == "token") return token_help();
  if (topic == "job") return job_help();
  if (topic == "export") return export_help();
  if (topic == "completion") return completion_help();
  if (topic == "version") {
    return format("usage: dtrain version [--json]\n\n{}\n\nexample: dtrain version --json\n",
                  summary_of(topic));
  }
  return overview();
}

}  // namespace dt
