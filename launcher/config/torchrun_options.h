#pragma once

#include "launcher/config/option.h"

#include <array>

namespace dt {

namespace refusal {
inline constexpr std::string_view mca =
    "dtrain starts the processes itself, without Open MPI's modules; leave it out, or give it to "
    "the processes with -x OMPI_MCA_KEY=VALUE";
}  // namespace refusal

/// The options of torchrun, and some of mpirun. With them dtrain accepts their command lines.
namespace torchrun_table {
using enum OptionKind;
using enum Effect;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"nproc-per-node", "--nproc-per-node --nproc_per_node", text, "N|gpu|auto", torchrun,
           "Processes on each host: N as --ppn N; gpu: one for each GPU; auto: one for each GPU, "
           "else for each CPU."},
    Option{"nnodes", "--nnodes", text, "N", torchrun,
           "The number of hosts, which -H or --hostfile name. Another number is an error."},
    Option{"node-rank", "--node-rank --node_rank", integer, "N", torchrun,
           "0, on one host. With several hosts dtrain is started once, and starts all of them."},
    Option{"module", "-m --module", flag, "", torchrun,
           "The command is a Python module: python3 -m COMMAND starts it."},
    Option{"max-restarts", "--max-restarts --max_restarts", integer, "N", torchrun,
           "0: a job that fails ends. --restart-role restarts single tasks."},
    Option{"redirects", "-r --redirects", text, "0|3", torchrun,
           "3: write the output of all processes to files only, as --quiet with --output-dir."},
    Option{"tee", "-t --tee", text, "0|1|2|3", torchrun,
           "1 to 3: write it to files, too, as --output-dir always does for both streams."},
    Option{"genv", "-genv", list, "NAME VALUE", torchrun,
           "Set a variable for the workers, as -x NAME=VALUE."},
    Option{"standalone", "--standalone", flag, "", torchrun,
           "Run on one machine, as dtrain does without hosts.", true, agrees},
    Option{"no-python", "--no-python --no_python", flag, "", torchrun,
           "Start the command as it is, as dtrain always does.", true, agrees},
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
