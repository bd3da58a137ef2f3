#pragma once

#include "base/io/network.h"
#include "base/result.h"
#include "launcher/config/config.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

using NameLookUp = std::function<Result<std::vector<std::string>>(const std::string& name)>;

/// Returns the names and addresses of this machine: its hostname, the addresses of its interfaces,
/// and the names given by the user that lead to one of these. Only names with the first label of
/// the hostname are looked up, which spares the resolver. If no name of a cluster from outside is
/// known, all its names are looked up. Returns none if the user named no host: the answer would
/// only delay the start.
std::vector<std::string> own_names(const RunConfig& config,
                                   const NameLookUp& look_up = look_up_addresses);

}  // namespace dt
