#pragma once

#include "base/format.h"
#include "launcher/config/allocation/allocation.h"

#include <map>
#include <string>

namespace dt {

/// The files of a test, by their paths.
using Files = std::map<std::string, std::string>;

inline TextReader reader_of(const Files& files) {
  return [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return fail(Errc::os, "No such file or directory");
  };
}

/// Returns an allocation as text, "Slurm job 21: a:4 b(1)", or the error. The slots of hosts
/// without GPUs are in parentheses.
inline std::string shown(const Result<Allocation>& allocation) {
  if (!allocation) return allocation.error().message;
  std::string all = allocation->name + ":";
  for (const Host& host : allocation->list.hosts) {
    all += " " + host.text();
    if (host.slots_without_gpus != 0) all += format("({})", host.slots_without_gpus);
  }
  for (const std::string& warning : allocation->list.warnings)
    all += " | " + warning;
  return all;
}

/// Variables, and the allocation that a reader finds in them.
struct AllocationCase {
  Environment environment;
  std::string shown;
};

}  // namespace dt
