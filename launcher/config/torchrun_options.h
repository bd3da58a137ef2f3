#pragma once

#include "launcher/config/option.h"

#include <array>

namespace dt {

namespace refusal {
inline constexpr std::string_view mca =
    "dtrain starts the processes itself, without Open MPI's modules; leave it out, or give it to "
    "the processes with -x OMPI_MCA_KEY=VALUE";
inline constexpr std::string_view numa = "write: --bind-to numa";
inline constexpr std::string_view logs =
    "dtrain starts no Python class; leave it out, or write the output to files with --log-dir DIR";
inline constexpr std::string_view filter =
    "dtrain shows the output of all ranks, each line behind its rank; leave it out, or write it to "
    "files only with --quiet --log-dir DIR";
inline constexpr std::string_view run_path = "leave it out, and write: python3 SCRIPT";
}  // namespace refusal

/// The options of torchrun, and some of mpirun. With them dtrain accepts their command lines.
namespace torchrun_table {
using enum OptionKind;
using enum Effect;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"nproc-per-node", "--nproc-per-node --nproc_per_node", text, "N|gpu|cpu|auto", torchrun,
           "Processes on each host: N as --ppn N; gpu or cpu: one for each; auto: one for each "
           "GPU, else for each CPU. A command that ends in .py is then started by python3."},
    Option{"nnodes", "--nnodes", text, "N", torchrun,
           "The number of hosts, which -H or --hostfile name. Another number is an error."},
    Option{"node-rank", "--node-rank --node_rank", integer, "N", torchrun,
           "0, on one host. With several hosts dtrain is started once, and starts all of them."},
    Option{"module", "-m --module", flag, "", torchrun,
           "The command is a Python module: python3 -m COMMAND starts it."},
    Option{"max-restarts", "--max-restarts --max_restarts", integer, "N", torchrun,
           "Not in this version: a job that fails ends. --restart-role restarts single tasks."},
    Option{"redirects", "-r --redirects", text, "0|3", torchrun,
           "3: write the output of all processes to files only, as --quiet with --output-dir; "
           "without a folder, below /tmp."},
    Option{"tee", "-t --tee", text, "0|1|2|3", torchrun,
           "1 to 3: write it to files, too, as --output-dir always does for both streams."},
    Option{"genv", "-genv", list, "NAME VALUE", torchrun,
           "Set a variable for the workers, as -x NAME=VALUE."},
    Option{"standalone", "--standalone", flag, "", torchrun,
           "Run on one machine, as dtrain does without hosts.", true, agrees},
    Option{"no-python", "--no-python --no_python", flag, "", torchrun,
           "Start the command as it is, as dtrain always does.", true, agrees},
    Option{"use-env", "--use-env --use_env", flag, "", torchrun,
           "Give the ranks in variables, as dtrain always does.", true, agrees},
    Option{"start-method", "--start-method --start_method", text, "NAME", torchrun,
           "Not needed: dtrain starts a program, and forks nothing of it.", true, agrees},
    Option{"local-addr", "--local-addr --local_addr", text, "ADDRESS", torchrun,
           "Not needed: dtrain finds the addresses of hosts.", true, agrees},
    Option{"numa-binding", "--numa-binding --numa_binding", text, "MODE", torchrun,
           "Bind processes to NUMA nodes.", true, refuses, refusal::numa},
    Option{"logs-specs", "--logs-specs --logs_specs", text, "NAME", torchrun,
           "A Python class for logs.", true, refuses, refusal::logs},
    Option{"local-ranks-filter", "--local-ranks-filter --local_ranks_filter", text, "RANKS",
           torchrun, "Show the output of these ranks only.", true, refuses, refusal::filter},
    Option{"run-path", "--run-path --run_path", flag, "", torchrun, "Run the script by runpy.",
           true, refuses, refusal::run_path},
    Option{"rdzv-backend", "--rdzv-backend --rdzv_backend", text, "NAME", torchrun,
           "Not needed: dtrain has a rendezvous of its own.", true, agrees},
    Option{"rdzv-endpoint", "--rdzv-endpoint --rdzv_endpoint", text, "ADDRESS", torchrun,
           "Not needed: dtrain has a rendezvous of its own.", true, agrees},
    Option{"rdzv-id", "--rdzv-id --rdzv_id", text, "ID", torchrun,
           "Not needed: dtrain has a rendezvous of its own.", true, agrees},
    Option{"rdzv-conf", "--rdzv-conf --rdzv_conf", text, "PAIRS", torchrun,
           "Not needed: dtrain has a rendezvous of its own.", true, agrees},
    Option{"monitor-interval", "--monitor-interval --monitor_interval", number, "SECONDS", torchrun,
           "Not needed: dtrain notices the end of a process at once.", true, agrees},
    Option{"master-addr", "--master-addr --master_addr", text, "ADDRESS", torchrun,
           "Not needed: dtrain finds the address of rank 0.", true, agrees},
    Option{"master-port", "--master-port --master_port", integer, "PORT", torchrun,
           "Not needed: dtrain finds a free port, which no other job has.", true, agrees},
    Option{"mca", "--mca -mca", list, "KEY VALUE", torchrun, "A parameter of Open MPI.", true,
           refuses, refusal::mca},
};
}  // namespace torchrun_table
inline constexpr const auto& torchrun_options = torchrun_table::rows;

}  // namespace dt
