#pragma once

#include "base/environment.h"
#include "base/io/fd.h"
#include "launcher/config/sync/fetch_options.h"
#include "launcher/config/sync/sync_options.h"
#include "launcher/sync/messages.h"
#include "launcher/sync/source/find_tree.h"

#include <optional>
#include <string>

namespace dt {

/// All that the launcher's sync process needs to know.
struct SyncSource {
  std::optional<SyncOptions> sync;  ///< none: tasks run in a folder that the hosts have
  std::string folder;               ///< that folder
  UserPlace user;
  std::string job;
  Duration silence_max = seconds(30);  ///< as in SyncServer::Options
  std::optional<SetUpOrder> setup;     ///< none: no commands set hosts up
  std::optional<FetchOptions> fetch;   ///< none: no files come back
  std::optional<std::string> chdir;    ///< the folder of tasks in the tree, as --chdir has it
  std::string checkout = {};           ///< an empty folder for the files of a URL
};

/// Runs in the launcher's sync process: finds and hashes the tree, then gives it to hosts, until
/// the launcher closes the connections. Receives orders as packets, and sends events as frames.
void run_sync_process(const SyncSource& source, Fd orders, Fd events);

}  // namespace dt
