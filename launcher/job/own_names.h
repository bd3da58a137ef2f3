#pragma once

#include "launcher/config/config.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dt {

/// Returns the addresses of each name that has some.
using NameLookUp = std::function<std::map<std::string, std::vector<std::string>>(
    const std::vector<std::string>& names)>;

/// Asks the system's resolver for all names at once, and waits at most 5 s.
std::map<std::string, std::vector<std::string>> look_up_names(
    const std::vector<std::string>& names);

/// Returns the names and addresses of this machine: its hostname, the addresses of its interfaces,
/// and the names of the job's hosts that lead to one of these. In a job of pods, a name of this
/// machine may not resolve, so one that continues the hostname is its own, too.
///
/// Only names with the first label of the hostname are looked up, which spares the resolver. If no
/// name of a scheduler's job or of a cluster from outside is known, all its names are looked up.
/// Returns none if there is no host: the answer would only delay the start.
std::vector<std::string> own_names(const RunConfig& config,
                                   const NameLookUp& look_up = look_up_names);

}  // namespace dt
