#include "launcher/agent/mpi_program.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace dt {

namespace {

/// Only so much is read: ten thousand mappings, and the most that execve(2) takes.
constexpr size_t maps_bytes_max = size_t{2} << 20;
constexpr size_t environment_bytes_max = size_t{4} << 20;
/// Processes looked at for one task.
constexpr size_t family_max = 16;

/// "libmpi.so.40.30.4", "libmpich.so.12", "libmpi_cray.so", "libmpi-1a2b3c.so.12" of a wheel; not
/// "libmpir.so" nor "libmpi.so.txt"'s like.
bool is_mpi_library(std::string_view file) {
  constexpr std::string_view front = "libmpi";
  constexpr std::string_view suffix = ".so";
  if (!file.starts_with(front)) return false;
  const size_t at = file.find(suffix);
  if (at == std::string_view::npos) return false;
  const std::string_view kind = file.substr(front.size(), at - front.size());
  const std::string_view rest = file.substr(at + suffix.size());
  const bool of_kin = kind.empty() || kind == "ch" || kind.front() == '_' || kind.front() == '-';
  return of_kin && (rest.empty() || rest.front() == '.' || rest.front() == ' ');
}

std::string process_file(pid_t process, std::string_view file, size_t bytes_max) {
  return read_text_file(format("/proc/{}/{}", process, file), bytes_max).value_or("");
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string text = process_file(process, format("task/{}/children", process), 4096);
  std::vector<pid_t> children;
  for (const std::string_view word : split_words(text)) {
    if (const auto pid = parse_integer(word)) children.push_back(static_cast<pid_t>(*pid));
  }
  return children;
}

/// Visits the task and its descendants, parents first. Skips the descendants of a process that an
/// MPI launcher has started.
bool has_mpi_alone(pid_t task) {
  std::vector<pid_t> family = {task};
  for (size_t at = 0; at < family.size() && at < family_max; ++at) {
    if (started_by_mpi(process_file(family[at], "environ", environment_bytes_max))) continue;
    if (maps_mpi(process_file(family[at], "maps", maps_bytes_max))) return true;
    std::ranges::copy(children_of(family[at]), std::back_inserter(family));
  }
  return false;
}

}  // namespace

bool maps_mpi(std::string_view maps) {
  for (size_t at = 0; at < maps.size();) {
    const size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string_view line = maps.substr(at, end - at);
    const size_t slash = line.rfind('/');
    if (slash != std::string_view::npos && is_mpi_library(line.substr(slash + 1))) return true;
    at = end + 1;
  }
  return false;
}

bool started_by_mpi(std::string_view environment) {
  // The first ones are of PMI-1 and PMI-2 (MPICH, Intel MPI, SLURM), then of PMIx (Open MPI,
  // SLURM). Older Open MPI, MVAPICH's mpirun_rsh, and Cray's PALS follow. Users may export other
  // variables with these prefixes as settings.
  constexpr std::string_view signs[] = {
      "PMI_RANK=",    "PMI_FD=",         "PMI_PORT=",
      "PMIX_RANK=",   "PMIX_NAMESPACE=", "OMPI_MCA_orte_hnp_uri=",
      "MPIRUN_RANK=", "PALS_RANKID=",
  };
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = environment.substr(at, end - at);
    const auto begins = [entry](std::string_view sign) { return entry.starts_with(sign); };
    if (std::ranges::any_of(signs, begins)) return true;
    at = end + 1;
  }
  return false;
}

uint32_t count_alone(const std::vector<pid_t>& tasks) {
  return static_cast<uint32_t>(std::ranges::count_if(tasks, has_mpi_alone));
}

}  // namespace dt
