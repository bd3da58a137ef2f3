#pragma once

#include "launcher/config/option.h"

#include <array>

namespace dt {

/// What dtrain says to the options of horovodrun that it has no use for. Each reads on from the
/// names of one or more options and a colon.
namespace answer {
inline constexpr std::string_view no_tuning =
    "ignored; this tunes Horovod's engine, and dtrain's has no such setting yet";
inline constexpr std::string_view no_timeline = "ignored; dtrain writes no timeline yet";
inline constexpr std::string_view no_stall_check =
    "ignored; dtrain looks for no stalls yet, but --timeout ends a job that hangs";
inline constexpr std::string_view no_library_log =
    "ignored; the library writes no log, and --verbose tells what dtrain itself does";
inline constexpr std::string_view no_mpi = "ignored; dtrain uses no MPI";
inline constexpr std::string_view not_elastic =
    "not in this version, whose jobs have as many processes as they start with; leave it out and "
    "give -np N and, if you like, -H HOST:SLOTS,…";
inline constexpr std::string_view mpi =
    "dtrain starts the processes itself, without MPI; leave it out, or start MPI programs with "
    "mpirun";
inline constexpr std::string_view jsrun =
    "dtrain starts the processes itself, without jsrun; leave it out, or start the job with jsrun";
inline constexpr std::string_view mpi_arguments =
    "there is no mpirun to hand them to; leave it out, or start the job with mpirun";
inline constexpr std::string_view binding =
    "these are words for mpirun; dtrain binds processes by --bind-to core, numa or auto";
inline constexpr std::string_view tcp =
    "dtrain does not choose NCCL's transport; use -x NCCL_IB_DISABLE=1 instead";
}  // namespace answer

/// The options of horovodrun that decide nothing here, so that its command lines are understood.
namespace horovod_table {
using enum OptionKind;
using enum Effect;
using enum OptionGroup;
inline constexpr std::array rows = {
    Option{"gloo", "--gloo", flag, "", horovod,
           "Start the processes without MPI, as dtrain always does.", true, agrees},
    Option{"disable-cache", "--disable-cache", flag, "", horovod,
           "Check the hosts anew, as dtrain always does.", true, agrees},
    Option{"mpi", "--mpi", flag, "", horovod, "Start the processes by MPI.", true, refuses,
           answer::mpi},
    Option{"jsrun", "--jsrun", flag, "", horovod, "Start the processes by jsrun.", true, refuses,
           answer::jsrun},
    Option{"mpi-args", "--mpi-args", text, "ARGS", horovod, "Arguments for mpirun.", true, refuses,
           answer::mpi_arguments},
    Option{"binding-args", "--binding-args", text, "ARGS", horovod, "Bind processes to cores.",
           true, refuses, answer::binding},
    Option{"tcp", "--tcp", flag, "", horovod, "Use TCP alone between hosts.", true, refuses,
           answer::tcp},
    Option{"min-np", "--min-np --min-num-proc", integer, "N", horovod,
           "The fewest processes of an elastic job.", true, refuses, answer::not_elastic},
    Option{"max-np", "--max-np --max-num-proc", integer, "N", horovod,
           "The most processes of an elastic job.", true, refuses, answer::not_elastic},
    Option{"slots-per-host", "--slots-per-host", integer, "N", horovod,
           "Slots of each host that a script finds.", true, refuses, answer::not_elastic},
    Option{"host-discovery-script", "--host-discovery-script", text, "FILE", horovod,
           "A program that prints the hosts.", true, refuses, answer::not_elastic},
    Option{"elastic-timeout", "--elastic-timeout", integer, "SECONDS", horovod,
           "How long to wait for hosts after a change.", true, refuses, answer::not_elastic},
    Option{"reset-limit", "--reset-limit", integer, "N", horovod,
           "How often an elastic job may start over.", true, refuses, answer::not_elastic},
    Option{"blacklist-cooldown-range", "--blacklist-cooldown-range", list, "MIN MAX", horovod,
           "Seconds until a failed host is tried again.", true, refuses, answer::not_elastic},
    Option{"fusion-threshold-mb", "--fusion-threshold-mb", integer, "MB", horovod,
           "How much to sum in one operation.", true, warns, answer::no_tuning},
    Option{"cycle-time-ms", "--cycle-time-ms", number, "MS", horovod,
           "Time between two rounds of operations.", true, warns, answer::no_tuning},
    Option{"cache-capacity", "--cache-capacity", integer, "N", horovod,
           "How many operations to remember.", true, warns, answer::no_tuning},
    Option{"hierarchical-allreduce", "--hierarchical-allreduce --no-hierarchical-allreduce", flag,
           "", horovod, "Sum within the hosts first.", true, warns, answer::no_tuning},
    Option{"hierarchical-allgather", "--hierarchical-allgather --no-hierarchical-allgather", flag,
           "", horovod, "Gather within the hosts first.", true, warns, answer::no_tuning},
    Option{"torus-allreduce", "--torus-allreduce --no-torus-allreduce", flag, "", horovod,
           "Sum along a torus.", true, warns, answer::no_tuning},
    Option{"autotune", "--autotune --no-autotune", flag, "", horovod,
           "Look for the fastest settings.", true, warns, answer::no_tuning},
    Option{"autotune-log-file", "--autotune-log-file", text, "FILE", horovod,
           "Where autotuning writes what it tried.", true, warns, answer::no_tuning},
    Option{"autotune-warmup-samples", "--autotune-warmup-samples", integer, "N", horovod,
           "Samples to drop at first.", true, warns, answer::no_tuning},
    Option{"autotune-steps-per-sample", "--autotune-steps-per-sample", integer, "N", horovod,
           "Steps of one sample.", true, warns, answer::no_tuning},
    Option{"autotune-bayes-opt-max-samples", "--autotune-bayes-opt-max-samples", integer, "N",
           horovod, "The most samples to take.", true, warns, answer::no_tuning},
    Option{"autotune-gaussian-process-noise", "--autotune-gaussian-process-noise", number, "NOISE",
           horovod, "How noisy samples are, 0 to 1.", true, warns, answer::no_tuning},
    Option{"num-nccl-streams", "--num-nccl-streams", integer, "N", horovod,
           "CUDA streams for NCCL.", true, warns, answer::no_tuning},
    Option{"thread-affinity", "--thread-affinity", text, "CORES", horovod,
           "Cores for the threads of the library.", true, warns, answer::no_tuning},
    Option{"gloo-timeout-seconds", "--gloo-timeout-seconds", integer, "SECONDS", horovod,
           "How long the library waits for its peers.", true, warns, answer::no_tuning},
    Option{"mpi-threads-disable", "--mpi-threads-disable --no-mpi-threads-disable", flag, "",
           horovod, "Use no threads in MPI.", true, warns, answer::no_mpi},
    Option{"timeline-filename", "--timeline-filename", text, "FILE", horovod,
           "Write a timeline of all operations.", true, warns, answer::no_timeline},
    Option{"timeline-mark-cycles", "--timeline-mark-cycles --no-timeline-mark-cycles", flag, "",
           horovod, "Mark the rounds in it.", true, warns, answer::no_timeline},
    Option{"stall-check", "--stall-check --no-stall-check", flag, "", horovod,
           "Report operations that some ranks do not join.", true, warns, answer::no_stall_check},
    Option{"stall-check-warning-time-seconds", "--stall-check-warning-time-seconds", integer,
           "SECONDS", horovod, "When to report them.", true, warns, answer::no_stall_check},
    Option{"stall-check-shutdown-time-seconds", "--stall-check-shutdown-time-seconds", integer,
           "SECONDS", horovod, "When to end the job for them.", true, warns,
           answer::no_stall_check},
    Option{"log-level", "--log-level", text, "LEVEL", horovod,
           "What the library writes to its log.", true, warns, answer::no_library_log},
    Option{"log-with-timestamp", "--log-with-timestamp", flag, "", horovod,
           "Begin the lines of its log with the time.", true, warns, answer::no_library_log},
    Option{"log-without-timestamp", "--log-without-timestamp", flag, "", horovod,
           "Begin them without the time.", true, agrees},
};
}  // namespace horovod_table
inline constexpr const auto& horovod_options = horovod_table::rows;

}  // namespace dt
