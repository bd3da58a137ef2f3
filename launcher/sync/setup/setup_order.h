#pragma once

#include "base/clock.h"
#include "base/crypto.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The files of a tree, as its manifest has them: path below the root, and SHA-256.
using TreeFiles = std::map<std::string, Digest, std::less<>>;

/// The setup of a job on one host.
struct SetupOrder {
  std::vector<std::string> commands = {};     ///< each a shell's line
  std::vector<std::string> environment = {};  ///< complete: NAME=value
  std::string folder = {};                    ///< where commands run: absolute, within the tree
  std::string below = {};                     ///< the place of `folder` below the tree's root
  std::string store = {};                     ///< dtrain's folder on this host
  std::string source = {};          ///< path or URL of the tree, on the launcher's machine
  std::string target = {};          ///< --sync-to; empty: none
  std::string job = {};             ///< the job's id
  Duration timeout = seconds(600);  ///< --setup-timeout
  bool once = false;                ///< --setup-once
  TreeFiles files = {};             ///< for `once`; empty: files are read in `folder`
};

/// Calls of run_setup(), which may block.
struct SetupEvents {
  /// Takes what commands print to stdout and stderr, as it comes. A failure ends the setup.
  std::function<Result<>(std::string_view)> output;
  /// Takes a line for the user.
  std::function<void(const std::string&)> note;
  int connection = -1;  ///< its hang-up ends the setup; -1: nothing does
};

/// The folder that the commands of all jobs with the same setup share.
struct SetupPlace {
  std::string folder;    ///< DTRAIN_SETUP_DIR
  bool has_bin = false;  ///< `folder` has a folder bin, which comes first in PATH
  bool operator==(const SetupPlace&) const = default;
};

/// A setup that is ready for tasks.
struct SetupDone {
  SetupPlace place;
  size_t commands_run = 0;
  size_t commands_skipped = 0;  ///< by --setup-once
  Fd lock = {};                 ///< keeps other setups out of the folder while it is open
};

}  // namespace dt
