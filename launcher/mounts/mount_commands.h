#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A line of a shell that makes a mount.
struct MountCommand {
  std::string line;    ///< with {target} in it
  std::string folder;  ///< an empty one, where it mounts
  std::string target;  ///< where tasks will see it, for messages
};

/// Returns the line as the shell gets it, with the quoted folder for each {target}.
std::string shell_line(const MountCommand& command);

/// The one message of the process that runs commands: all mounts are there, or the error.
Bytes encode_mounts_answer(const Result<>& answer);
/// Returns none for bytes that are not yet the whole message.
std::optional<Result<>> decode_mounts_answer(ByteSpan bytes);

/// Runs the commands, sends the answer, and waits for the end of the connection. Then ends all
/// their processes by SIGTERM and, 2 s later, SIGKILL, unmounts what they have left, and removes
/// the folders and the folder that has them. So no mount stays when the other end is killed.
///
/// Called in a process that has no other children. A command has failed if it fails before its
/// mount is there, if it ends without one, or if there is none after `patience`.
void serve_mount_commands(Fd connection, const std::vector<MountCommand>& commands,
                          Duration patience);

}  // namespace dt
