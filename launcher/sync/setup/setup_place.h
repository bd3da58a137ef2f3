#pragma once

#include "base/crypto.h"
#include "launcher/sync/setup/setup_order.h"

#include <string>
#include <vector>

namespace dt {

/// The paths of a setup below dtrain's folder of a host.
struct SetupPaths {
  std::string folder;  ///< DTRAIN_SETUP_DIR
  std::string lock;    ///< beside it: a program may empty its folder
  std::string record;  ///< of the commands that succeeded
};

/// The folder below dtrain's folder that has all setups.
std::string setups_folder(const std::string& store);
/// Returns the paths of the setup with this name below dtrain's folder.
SetupPaths setup_paths(const std::string& store, const std::string& name);
/// Returns a digest as 64 hex digits.
std::string digest_digits(const Digest& digest);
/// Returns the name of a setup's folder: the digits of the SHA-256 of source, target and commands.
std::string setup_name(const SetupOrder& order);

/// Returns where the setup of this folder is, as it looks now.
SetupPlace setup_place(const std::string& folder);
/// Sets DTRAIN_SETUP_DIR and, where the folder has one, puts its bin first in PATH: for commands
/// and for tasks.
void add_setup_variables(const SetupPlace& place, std::vector<std::string>& environment);

}  // namespace dt
