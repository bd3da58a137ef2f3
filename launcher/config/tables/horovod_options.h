#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The reasons why dtrain refuses some options of horovodrun. Messages show them after the name of
/// the option and a colon.
namespace refusal {
inline constexpr std::string_view mpi =
    "dtrain starts the processes itself, without MPI; leave it out, or start MPI programs with "
    "mpirun";
inline constexpr std::string_view jsrun =
    "dtrain starts the processes itself, without jsrun; leave it out, or start the job with jsrun";
inline constexpr std::string_view mpi_arguments =
    "there is no mpirun to hand them to; leave it out, or start the job with mpirun";
inline constexpr std::string_view binding =
    "these are words for mpirun; dtrain binds processes by --bind-to core, numa or auto";
}  // namespace refusal

/// The options of horovodrun that do not change dtrain's own work. With them dtrain accepts command
/// lines of horovodrun.
namespace horovod_table {
using enum OptionKind;
using enum Effect;
using enum ExportForm;
using enum OptionGroup;

/// An option that tunes Horovod's library becomes a variable of the workers, as in horovodrun. A
/// flag becomes 1 or 0, unless `form` is given.
constexpr Option exported(std::string_view variable, Option option, ExportForm form = as_written) {
  option.effect = exports;
  option.variable = variable;
  option.form = form == as_written && option.kind == flag ? one_or_zero : form;
  return option;
}

inline constexpr std::array rows = {
    Option{"gloo", "--gloo", flag, "", horovod,
           "Start the processes without MPI, as dtrain always does.", true, agrees},
    Option{"disable-cache", "--disable-cache", flag, "", horovod,
           "Check the hosts anew, as dtrain always does.", true, agrees},
    Option{"mpi", "--mpi", flag, "", horovod, "Start the processes by MPI.", true, refuses,
           refusal::mpi},
    Option{"jsrun", "--jsrun", flag, "", horovod, "Start the processes by jsrun.", true, refuses,
           refusal::jsrun},
    Option{"mpi-args", "--mpi-args", text, "ARGS", horovod, "Arguments for mpirun.", true, refuses,
           refusal::mpi_arguments},
    Option{"binding-args", "--binding-args", text, "ARGS", horovod, "Bind processes to cores.",
           true, refuses, refusal::binding},
    exported(
        "NCCL_IB_DISABLE",
        {"tcp", "--tcp", flag, "", horovod, "Use TCP alone between hosts, without InfiniBand."},
        one_or_none),
    exported("HOROVOD_FUSION_THRESHOLD",
             {"fusion-threshold-mb", "--fusion-threshold-mb", integer, "MB", horovod,
              "Megabytes to sum in one operation."},
             mib_as_bytes),
    exported("HOROVOD_CYCLE_TIME", {"cycle-time-ms", "--cycle-time-ms", number, "MS", horovod,
                                    "Time between two rounds of operations."}),
    exported("HOROVOD_CACHE_CAPACITY",
             {"cache-capacity", "--cache-capacity", integer, "N", horovod, "Operations to cache."}),
    exported("HOROVOD_HIERARCHICAL_ALLREDUCE",
             {"hierarchical-allreduce", "--hierarchical-allreduce --no-hierarchical-allreduce",
              flag, "", horovod, "Sum within the hosts first."}),
    exported("HOROVOD_HIERARCHICAL_ALLGATHER",
             {"hierarchical-allgather", "--hierarchical-allgather --no-hierarchical-allgather",
              flag, "", horovod, "Gather within the hosts first."}),
    exported("HOROVOD_TORUS_ALLREDUCE",
             {"torus-allreduce", "--torus-allreduce --no-torus-allreduce", flag, "", horovod,
              "Sum along a torus."}),
    exported("HOROVOD_AUTOTUNE", {"autotune", "--autotune --no-autotune", flag, "", horovod,
                                  "Search for the fastest settings."}),
    exported("HOROVOD_AUTOTUNE_LOG", {"autotune-log-file", "--autotune-log-file", text, "FILE",
                                      horovod, "Write the tries of autotuning to FILE."}),
    exported("HOROVOD_AUTOTUNE_WARMUP_SAMPLES",
             {"autotune-warmup-samples", "--autotune-warmup-samples", integer, "N", horovod,
              "Samples to drop at first."}),
    exported("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE",
             {"autotune-steps-per-sample", "--autotune-steps-per-sample", integer, "N", horovod,
              "Steps of one sample."}),
    exported("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
             {"autotune-bayes-opt-max-samples", "--autotune-bayes-opt-max-samples", integer, "N",
              horovod, "The most samples to take."}),
    exported("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
             {"autotune-gaussian-process-noise", "--autotune-gaussian-process-noise", number,
              "NOISE", horovod, "How noisy samples are, 0 to 1."},
             fraction),
    exported("HOROVOD_NUM_NCCL_STREAMS", {"num-nccl-streams", "--num-nccl-streams", integer, "N",
                                          horovod, "CUDA streams for NCCL."}),
    exported("HOROVOD_THREAD_AFFINITY", {"thread-affinity", "--thread-affinity", text, "CORES",
                                         horovod, "Cores for the threads of the library."}),
    exported("HOROVOD_GLOO_TIMEOUT_SECONDS",
             {"gloo-timeout-seconds", "--gloo-timeout-seconds", integer, "SECONDS", horovod,
              "Time limit of the library for its peers."}),
    exported("HOROVOD_MPI_THREADS_DISABLE",
             {"mpi-threads-disable", "--mpi-threads-disable --no-mpi-threads-disable", flag, "",
              horovod, "Use no threads in MPI."}),
    exported("HOROVOD_TIMELINE", {"timeline-filename", "--timeline-filename", text, "FILE", horovod,
                                  "Write a timeline of all operations."}),
    exported("HOROVOD_TIMELINE_MARK_CYCLES",
             {"timeline-mark-cycles", "--timeline-mark-cycles --no-timeline-mark-cycles", flag, "",
              horovod, "Mark the rounds in it."}),
    exported("HOROVOD_STALL_CHECK_DISABLE",
             {"stall-check", "--stall-check --no-stall-check", flag, "", horovod,
              "Report operations that some ranks do not join."},
             zero_or_one),
    exported("HOROVOD_STALL_CHECK_TIME_SECONDS",
             {"stall-check-warning-time-seconds", "--stall-check-warning-time-seconds", integer,
              "SECONDS", horovod, "When to report them."}),
    exported("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
             {"stall-check-shutdown-time-seconds", "--stall-check-shutdown-time-seconds", integer,
              "SECONDS", horovod, "When to end the job for them."}),
    exported("HOROVOD_LOG_LEVEL",
             {"log-level", "--log-level", text, "LEVEL", horovod, "Least severity in the log."},
             log_level),
    exported("HOROVOD_LOG_HIDE_TIME",
             {"log-with-timestamp", "--log-with-timestamp", flag, "", horovod,
              "Begin the lines of its log with the time."},
             zero_or_one),
    exported("HOROVOD_LOG_HIDE_TIME",
             {"log-without-timestamp",
              "--log-without-timestamp --log-hide-timestamp --no-log-hide-timestamp", flag, "",
              horovod, "Begin them without the time."}),
};
}  // namespace horovod_table
inline constexpr const auto& horovod_options = horovod_table::rows;

}  // namespace dt
