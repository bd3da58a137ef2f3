#include "launcher/config/allocation/allocation.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/grid_engine.h"
#include "launcher/config/allocation/lsf.h"
#include "launcher/config/allocation/mpi_job.h"
#include "launcher/config/allocation/pbs.h"
#include "launcher/config/allocation/slurm.h"
#include "launcher/config/hosts/host_range.h"

#include <algorithm>

namespace dt {
namespace {

struct Scheduler {
  std::string_view choice;  ///< of --allocation
  std::string_view job;     ///< "a Slurm job"
  std::string_view signs;   ///< the variables of such a job, for messages
  bool (*has_signs)(const Environment& environment);
  Result<Allocation> (*read)(const AllocationInput& input);
};

/// In the order in which they are tried. A scheduler's job can start a pod's programs, too.
constexpr Scheduler schedulers[] = {
    {"slurm", "a Slurm job", "SLURM_JOB_ID",
     [](const Environment& environment) { return has_variable(environment, "SLURM_JOB_ID"); },
     read_slurm},
    {"lsf", "an LSF job", "LSB_JOBID",
     [](const Environment& environment) { return has_variable(environment, "LSB_JOBID"); },
     read_lsf},
    {"pbs", "a PBS job", "PBS_JOBID with PBS_NODEFILE",
     [](const Environment& environment) {
       return has_variable(environment, "PBS_JOBID") && has_variable(environment, "PBS_NODEFILE");
     },
     read_pbs},
    {"sge", "a parallel job of Grid Engine", "PE_HOSTFILE with JOB_ID",
     [](const Environment& environment) {
       return has_variable(environment, "PE_HOSTFILE") && has_variable(environment, "JOB_ID");
     },
     read_grid_engine},
    {"mpijob", "the launcher of an MPIJob", mpi_job_variables,
     [](const Environment& environment) { return mpi_job_hostfile(environment).has_value(); },
     read_mpi_job},
};

/// Users of MPI may set an MPIJob's variables, too. So without the option, they count in pods only.
bool is_found(const Scheduler& scheduler, const Environment& environment) {
  return scheduler.has_signs(environment) && (scheduler.choice != "mpijob" || is_pod(environment));
}

Result<std::optional<Allocation>> read_by(const Scheduler& scheduler,
                                          const AllocationInput& input) {
  Result<Allocation> allocation = scheduler.read(input);
  if (allocation) return std::optional(*std::move(allocation));
  return fail(Errc::input, allocation.error().message +
                               "\n(-H HOST:SLOTS,… gives other hosts, --allocation none runs on "
                               "this machine)");
}

}  // namespace

Result<std::optional<Allocation>> find_allocation(std::string_view choice,
                                                  const AllocationInput& input) {
  if (choice == "none" || input.environment.contains("DTRAIN_ROLE")) return std::nullopt;
  for (const Scheduler& scheduler : schedulers) {
    if (choice == "auto" && is_found(scheduler, input.environment))
      return read_by(scheduler, input);
    if (choice != scheduler.choice) continue;
    if (scheduler.has_signs(input.environment)) return read_by(scheduler, input);
    return fail(Errc::input, format("this is not {}, which would have {} in its environment; start "
                                    "dtrain in such a job, or leave the option out",
                                    scheduler.job, scheduler.signs));
  }
  return std::nullopt;
}

bool shows_allocation(std::string_view choice, const Environment& environment) {
  if (choice == "none" || environment.contains("DTRAIN_ROLE")) return false;
  return choice != "auto" || std::ranges::any_of(schedulers, [&](const Scheduler& scheduler) {
           return is_found(scheduler, environment);
         });
}

std::string allocation_line(std::string_view name, const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  int64_t slots = 0;
  for (const Host& host : hosts) {
    names.push_back(host.name);
    slots += host.slots;
  }
  const bool known = std::ranges::none_of(hosts, [](const Host& host) { return host.slots == 0; });
  return format("{}: {}{}", name, printable(compress_names(names)),
                !known ? "" : format(", {} slot{}", slots, slots == 1 ? "" : "s"));
}

}  // namespace dt
