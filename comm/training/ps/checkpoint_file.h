#pragma once

#include "base/result.h"
#include "comm/peer/message_parts.h"
#include "comm/training/ps/state/saved_bytes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// One of several servers that each have a file.
struct CheckpointPart {
  uint32_t server = 0;
  uint32_t servers = 1;
  bool operator==(const CheckpointPart&) const = default;
};

/// A checkpoint that a server has made by itself, as its name describes it.
struct StepFile {
  uint64_t step = 0;
  CheckpointPart part;
};

/// Returns "PATH.ps-0-of-2".
std::string checkpoint_name(const std::string& path, CheckpointPart part);
/// Returns "PATH-100.ps-0-of-2", for checkpoints that a server makes by itself.
std::string checkpoint_name(const std::string& path, uint64_t step, CheckpointPart part);
/// Returns the files of all servers, also of jobs with another number of them, the newest step
/// first.
std::vector<StepFile> checkpoint_files(const std::string& path);
/// Returns the steps of which this server has a file, the newest first.
std::vector<uint64_t> checkpoint_steps(const std::string& path, CheckpointPart part);

/// Makes a server's file where its checkpoints will be, and removes it. Also removes unfinished
/// files of servers that have died. Fails with Errc::input
/// when the folder is missing, or refuses it.
Result<> try_checkpoint(const std::string& path, CheckpointPart part);
/// Writes a file whole or not at all, and replaces an older one (AtomicFile). Errors name the path.
Result<> write_checkpoint(const std::string& path, const MessageParts& content);
/// Opens a file, which is read in pieces, as open_trusted_file() does. Fails with Errc::input for
/// one that is too large for so many bytes of arrays.
Result<SavedBytes> read_checkpoint(const std::string& file, uint64_t array_bytes_max);
/// Removes the files of steps before `common`, but for the newest ones. `common` is a step of which
/// all servers have a file.
void remove_old_checkpoints(const std::string& path, CheckpointPart part, size_t kept,
                            uint64_t common);
/// Gives files of later steps than this one other names, "model-200.ps-0-of-1.put-aside". They are
/// of a training that was abandoned. Returns the number of files.
Result<size_t> put_later_aside(const std::string& path, CheckpointPart part, uint64_t step);

}  // namespace dt
