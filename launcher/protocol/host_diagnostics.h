#pragma once

#include "base/json.h"
#include "base/result.h"
#include "gpu/list.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A resource limit of the tasks; none: unlimited.
struct Limit {
  std::optional<int64_t> soft;
  std::optional<int64_t> hard;
  bool operator==(const Limit&) const = default;
};

/// A folder and the size of its file system; no numbers when they cannot be read.
struct Room {
  std::string path;
  std::optional<int64_t> bytes;
  std::optional<int64_t> free_bytes;  ///< for this user
  bool operator==(const Room&) const = default;
};

/// A module of Python, as an import finds it.
struct PythonModule {
  std::string name;
  std::string version;  ///< empty: it has none
  std::string failure;  ///< why it cannot be imported; empty: it can
  bool operator==(const PythonModule&) const = default;
};

/// The properties of a host that `dtrain check` judges and shows.
struct HostDiagnostics {
  std::string dtrain;      ///< version
  std::string executable;  ///< path of the agent's own
  std::string hostname;
  std::string architecture;
  std::string kernel;
  std::string glibc;
  std::vector<std::string> addresses;  ///< of interfaces that are up
  int64_t cpus_allowed = 0;            ///< by the affinity mask and quotas of cgroups
  int64_t cpus_online = 0;
  int64_t memory_bytes = 0;       ///< of the machine, or less where a cgroup allows less
  int64_t memory_free_bytes = 0;  ///< available without swapping
  Limit open_files;
  Limit locked_memory;
  Room shared_memory;
  Room home;
  Room temporary;
  std::string python_path;                ///< empty: no Python in the PATH
  std::string python_version;             ///< "3.11.2"; empty: Python did not print it
  std::vector<std::string> path_missing;  ///< folders of the job's PATH that do not exist
  std::string command_path;     ///< the file of the job's command; empty: none was asked for, or a
                                ///< failure
  std::string command_failure;  ///< why the command cannot be run
  std::string command_sha256;   ///< of the file's content; empty: unknown
  std::vector<PythonModule> modules;        ///< that were asked for
  std::string folder;                       ///< in which the job starts
  std::string folder_failure;               ///< why it cannot be entered; empty: it can
  std::vector<std::string> files_missing;   ///< those of the request that are not here
  std::string home_failure;                 ///< why no file can be made in `home`; empty: it can
  std::vector<std::string> name_addresses;  ///< to which `hostname` resolves here
  std::string name_failure;                 ///< why it does not resolve
  GpuList gpus;
  std::string gpu_failure;  ///< why the list is empty although there is a driver
  int64_t gpus_on_bus = 0;  ///< of NVIDIA, with or without a driver
  int64_t rdma_devices = 0;
  bool operator==(const HostDiagnostics&) const = default;
};

/// Returns the facts as a JSON object: the form in the frame, and in the output of --json.
Json facts_json(const HostDiagnostics& facts);
/// Reads facts_json back. Fails with Errc::protocol when a member is missing or has another type.
Result<HostDiagnostics> read_facts(const Json& json);

}  // namespace dt
