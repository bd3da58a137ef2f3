#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

namespace refusal {
inline constexpr std::string_view logs =
    "dtrain starts no Python class; leave it out, or write the output to files with --log-dir DIR";
inline constexpr std::string_view duplicates =
    "dtrain copies no lines that fit a filter; leave it out, and run grep over the files of "
    "--log-dir DIR";
inline constexpr std::string_view prefix =
    "dtrain's own tag, such as [3]<stdout>:, has the rank; leave it out, or write --no-tag";
inline constexpr std::string_view events =
    "dtrain has no events of torchrun; leave it out, or write --report FILE, which has what "
    "happened";
inline constexpr std::string_view signals =
    "dtrain passes on SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH; name only "
    "these, or leave it out";
inline constexpr std::string_view local_rank =
    "LOCAL_RANK stays the place on the host; write --gpu-bind rank, with which device 0 is the "
    "process's own GPU";
inline constexpr std::string_view run_path =
    "leave it out: python3 -u starts a command that ends in .py; for others write python3 -u "
    "SCRIPT";
inline constexpr std::string_view completion = "write: dtrain completion bash, zsh or fish";
}  // namespace refusal

/// The options of torchrun, and hydra's -genv. With them dtrain accepts their command lines.
namespace torchrun_table {
using enum OptionKind;
using enum Effect;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"nproc-per-node", "--nproc-per-node --nproc_per_node", text, "N|gpu|cpu|auto", torchrun,
           "Processes on each host: N as --ppn N; gpu or cpu: one for each; auto: one for each "
           "GPU, else for each CPU. With this or another option of torchrun, python3 -u starts a "
           "command that ends in .py, unless --no-python is given."},
    Option{"nnodes", "--nnodes", text, "N|MIN:MAX", torchrun,
           "The number of hosts, which -H, --hostfile or a scheduler name; another number is an "
           "error. Without them, the number of nodes that each start this command. With MIN:MAX, "
           "the job starts again with as many ranks as the hosts that are there have slots: on MIN "
           "hosts at least, and the first MAX at most. PET_NNODES counts where this is not given."},
    Option{"node-rank", "--node-rank --node_rank", text, "N|env:NAME", torchrun,
           "The rank of this node, from 0, where each node starts this command: node 0 launches "
           "the job. env:NAME: the number in this variable. Without it PET_NODE_RANK counts, then "
           "SLURM_NODEID in a step of Slurm."},
    Option{"module", "-m --module", flag, "", torchrun,
           "The command is a Python module: python3 -u -m COMMAND starts it."},
    Option{"redirects", "-r --redirects", text, "0|1|2|3|LIST", torchrun,
           "Write standard output (1), standard error (2) or both (3) to files only; without "
           "--output-dir, below /tmp. 0:1,1:3 gives numbers to local ranks; that of others goes to "
           "the console, too."},
    Option{"tee", "-t --tee", text, "0|1|2|3|LIST", torchrun,
           "1 to 3, or a list as for --redirects: write it to files, too, as --output-dir always "
           "does for both streams of all processes."},
    Option{"genv", "-genv -env", list, "NAME VALUE", torchrun,
           "Set a variable for the workers, as -x NAME=VALUE."},
    Option{"standalone", "--standalone", flag, "", torchrun,
           "Run on one machine where no hosts are given, and not on those of a scheduler's job."},
    Option{"no-python", "--no-python --no_python", flag, "", torchrun,
           "Start a command that ends in .py as it is, and not by python3 -u."},
    Option{"use-env", "--use-env --use_env", flag, "", torchrun,
           "Give the ranks in variables, as dtrain always does.", true, agrees},
    Option{"local-ranks-filter", "--local-ranks-filter --local_ranks_filter", text, "RANKS",
           torchrun,
           "Print the output of these local ranks only, such as 0,1; files have that of all."},
    Option{"numa-binding", "--numa-binding --numa_binding", text, "node", torchrun,
           "Bind each process to the NUMA node of its GPU: as --bind-to auto on a host with GPUs, "
           "else as --bind-to numa."},
    Option{"start-method", "--start-method --start_method", text, "spawn|fork|forkserver", torchrun,
           "Not needed: dtrain starts a program, and forks nothing of it.", true, agrees},
    Option{"local-addr", "--local-addr --local_addr", text, "ADDRESS", torchrun,
           "Not needed: dtrain finds the addresses of hosts.", true, agrees},
    Option{"logs-specs", "--logs-specs --logs_specs", text, "NAME", torchrun,
           "A Python class for logs.", true, refuses, refusal::logs},
    Option{"duplicate-stdout-filters", "--duplicate-stdout-filters --duplicate_stdout_filters",
           text, "WORDS", torchrun, "Copy lines with these words to a file.", true, refuses,
           refusal::duplicates},
    Option{"duplicate-stderr-filters", "--duplicate-stderr-filters --duplicate_stderr_filters",
           text, "WORDS", torchrun, "Copy lines with these words to a file.", true, refuses,
           refusal::duplicates},
    Option{"log-line-prefix-template", "--log-line-prefix-template --log_line_prefix_template",
           text, "TEXT", torchrun, "Print this before each line that --tee copies.", true, refuses,
           refusal::prefix},
    Option{"event-log-handler", "--event-log-handler --event_log_handler", text, "NAME", torchrun,
           "Log torchrun's own events.", true, refuses, refusal::events},
    Option{"signals-to-handle", "--signals-to-handle --signals_to_handle", text, "NAMES", torchrun,
           "Pass on these signals.", true, refuses, refusal::signals},
    Option{"virtual-local-rank", "--virtual-local-rank --virtual_local_rank", flag, "", torchrun,
           "Let LOCAL_RANK be 0 in all processes.", true, refuses, refusal::local_rank},
    Option{"run-path", "--run-path --run_path", flag, "", torchrun, "Run the script by runpy.",
           true, refuses, refusal::run_path},
    Option{"print-completion", "--print-completion --print_completion", text, "SHELL", torchrun,
           "Print a script of a shell.", false, refuses, refusal::completion},
    Option{"rdzv-backend", "--rdzv-backend --rdzv_backend", text, "NAME", torchrun,
           "How nodes get their ranks: static, the default, by --node-rank; c10d: node 0 is the "
           "one that has the address of --rdzv-endpoint. On one machine, or with named hosts, it "
           "has no effect."},
    Option{"rdzv-endpoint", "--rdzv-endpoint --rdzv_endpoint", text, "HOST[:PORT]", torchrun,
           "The same as --master-addr HOST --master-port PORT."},
    Option{"rdzv-id", "--rdzv-id --rdzv_id", text, "ID", torchrun,
           "A name that all nodes of a job must give alike."},
    Option{"rdzv-conf", "--rdzv-conf --rdzv_conf", text, "PAIRS", torchrun,
           "Not needed: --start-timeout limits how long nodes wait for each other.", true, agrees},
    Option{"monitor-interval", "--monitor-interval --monitor_interval", number, "SECONDS", torchrun,
           "Not needed: dtrain notices the end of a process at once.", true, agrees},
    Option{"master-addr", "--master-addr --master_addr", text, "ADDRESS", torchrun,
           "The host name or address of node 0, where each node starts this command. With named "
           "hosts it has no effect. PET_MASTER_ADDR counts where this is not given."},
    Option{"master-port", "--master-port --master_port", integer, "PORT", torchrun,
           "The port at which node 0 awaits the other nodes (default 29500; 29400 with "
           "--rdzv-backend c10d). Workers get another port for rank 0, which is free."},
};
}  // namespace torchrun_table
inline constexpr const auto& torchrun_options = torchrun_table::rows;

namespace refusal {
inline constexpr std::string_view per_node =
    "write: --ppn N, for N processes on each host; to srun -N is the number of hosts, which "
    "dtrain gets by -H HOST,HOST,…";
inline constexpr std::string_view one_per_node = "write: --ppn 1";
inline constexpr std::string_view map = "write: --dry-run, or --report-bindings";
inline constexpr std::string_view rankfile =
    "dtrain places processes by --map-by, --rank-by and --role NAME=COUNT@HOSTS; leave it out";
inline constexpr std::string_view cpus =
    "write: --bind-to auto, for equal shares of the cores, or -x OMP_NUM_THREADS=N";
inline constexpr std::string_view cpu_bind = "write: --bind-to core, numa or none";
inline constexpr std::string_view launcher = "write: --ssh openssh, or --rsh-agent PROGRAM";
inline constexpr std::string_view nodes =
    "write: -H HOST,HOST,…, such as -H \"$SLURM_JOB_NODELIST\"";
inline constexpr std::string_view output =
    "write: --output-dir DIR, which has a folder for each rank";
inline constexpr std::string_view input = "write: --stdin RANK, or all";
inline constexpr std::string_view exported =
    "dtrain forwards its environment; write: -x NAME=VALUE for more, --env-exclude NAME for less";
inline constexpr std::string_view unbuffered =
    "dtrain passes each line on at once; a program that keeps its output back runs by: stdbuf -oL";
inline constexpr std::string_view distribution = "write: --map-by slot, or node";
inline constexpr std::string_view programs =
    "write the programs one after another: dtrain run -np 1 a : -np 2 b";
inline constexpr std::string_view time = "write: --timeout TIME, such as 90m or 1h30m";
inline constexpr std::string_view allocation =
    "this is for Slurm's allocation; give it to salloc or sbatch, and start dtrain run within";
}  // namespace refusal

/// The options of mpirun (Open MPI, MPICH) and srun, besides those that are spellings of dtrain's
/// own. Each agrees with dtrain's own work, or its refusal names dtrain's option.
namespace mpirun_table {
using enum OptionKind;
using enum Effect;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"mca", "--mca -mca -gmca --gmca", list, "KEY VALUE", torchrun,
           "A parameter of Open MPI, which has no effect: dtrain starts processes without it."},
    Option{"tag-output", "--tag-output -tag-output -prepend-rank -l --label", flag, "", torchrun,
           "Print each line behind its rank, as dtrain does without --no-tag.", true, agrees},
    Option{"allow-run-as-root", "--allow-run-as-root -allow-run-as-root", flag, "", torchrun,
           "Run as root, too, as dtrain always may.", true, agrees},
    Option{"nooversubscribe", "--nooversubscribe -nooversubscribe", flag, "", torchrun,
           "Start no more processes than slots, as dtrain does without --oversubscribe.", true,
           agrees},
    Option{"genvall", "-genvall -envall", flag, "", torchrun,
           "Forward the environment, as dtrain always does.", true, agrees},
    Option{"prefix", "--prefix -prefix", text, "DIR", torchrun,
           "Not needed: dtrain copies itself to the hosts.", true, agrees},
    Option{"kill-on-bad-exit", "-K --kill-on-bad-exit", flag, "", torchrun,
           "End the job when a process fails, as dtrain does without --on-failure continue.", true,
           agrees},
    Option{"npernode-1", "--pernode -pernode", flag, "", torchrun, "One process on each host.",
           true, refuses, refusal::one_per_node},
    Option{"nodes", "-N --nodes", text, "N", torchrun,
           "Processes on each host to mpirun, hosts to srun.", true, refuses, refusal::per_node},
    Option{"display-map",
           "--display-map -display-map --display-allocation -display-allocation -print-rank-map",
           flag, "", torchrun, "Print where each process runs.", true, refuses, refusal::map},
    Option{"rankfile", "--rankfile -rankfile -rf", text, "FILE", torchrun,
           "Read the place of each rank.", true, refuses, refusal::rankfile},
    Option{"cpus-per-task", "-c --cpus-per-task --cpus-per-proc -cpus-per-proc --cpus-per-rank",
           integer, "N", torchrun, "CPUs of each process.", true, refuses, refusal::cpus},
    Option{"cpu-bind", "--cpu-bind", text, "TYPE", torchrun, "Bind processes to CPUs.", true,
           refuses, refusal::cpu_bind},
    Option{"launcher", "--launcher -launcher -bootstrap --bootstrap", text, "NAME", torchrun,
           "How hydra reaches the hosts.", true, refuses, refusal::launcher},
    Option{"nodelist", "-w --nodelist", text, "HOSTS", torchrun, "The hosts.", true, refuses,
           refusal::nodes},
    Option{"output", "-o --output -e --error", text, "FILE", torchrun, "Write the output to files.",
           true, refuses, refusal::output},
    Option{"input", "--input", text, "MODE", torchrun, "Who reads standard input.", true, refuses,
           refusal::input},
    Option{"export", "--export", text, "NAMES", torchrun, "Variables to forward.", true, refuses,
           refusal::exported},
    Option{"unbuffered", "-u --unbuffered", flag, "", torchrun, "Pass output on at once.", true,
           refuses, refusal::unbuffered},
    Option{"distribution", "--distribution", text, "METHOD", torchrun,
           "How processes are dealt to hosts.", true, refuses, refusal::distribution},
    Option{"multi-prog", "--multi-prog", flag, "", torchrun, "Several programs.", true, refuses,
           refusal::programs},
    Option{"time", "--time", text, "TIME", torchrun, "A time limit.", true, refuses, refusal::time},
    Option{"partition", "--partition --account --qos --constraint --gres --gpus --mem --job-name",
           text, "TEXT", torchrun, "What an allocation of Slurm consists of.", true, refuses,
           refusal::allocation},
    Option{"exclusive", "--exclusive", flag, "", torchrun, "An allocation of Slurm of its own.",
           true, refuses, refusal::allocation},
};
}  // namespace mpirun_table
inline constexpr const auto& mpirun_options = mpirun_table::rows;

}  // namespace dt
