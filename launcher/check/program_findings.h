#pragma once

#include "launcher/check/finding.h"
#include "launcher/protocol/host_diagnostics.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The value that most hosts have, and these hosts. Among equally frequent values the first one
/// counts.
struct CommonValue {
  std::string value;
  std::vector<std::string> hosts;
  /// Returns "node1, node2 have"; "node1 has" for one host.
  std::string hosts_have() const;
  bool operator==(const CommonValue&) const = default;
};

/// The programs that most hosts have. A value is empty if no host has one.
struct CommonPrograms {
  CommonValue python;  ///< "3.11"
  CommonValue python_path;
  CommonValue command_path;
  CommonValue command_sha256;
  std::map<std::string, CommonValue> modules;  ///< the versions, by module
  /// Folders of the PATH that some hosts lack, and the hosts that have them.
  std::map<std::string, std::vector<std::string>> folders;
  bool operator==(const CommonPrograms&) const = default;
};
/// The facts of each host, by its name.
using FactsOfHosts = std::vector<std::pair<std::string, const HostDiagnostics*>>;
CommonPrograms common_programs(const FactsOfHosts& hosts);

/// Compares PATH, the job's command, Python and its modules with those of other hosts. A difference
/// is a warning with both values. Leaves out the command and the modules if none were asked for.
std::vector<Finding> program_findings(const HostDiagnostics& host, const CommonPrograms& common);

}  // namespace dt
