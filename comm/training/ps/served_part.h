#pragma once

#include "base/result.h"
#include "comm/training/ps/checkpoint_file.h"
#include "comm/training/ps/state/part_copy.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A server's copy of a part, with its files. The head alone reads and writes files.
class ServedPart {
 public:
  struct Files {
    std::string checkpoint = {};    ///< the beginning of the files' names; empty: none are made
    uint64_t checkpoint_every = 0;  ///< steps; 0: only at the end
    uint32_t servers = 1;
    /// Publishes the steps of a part's files. Returns the newest step of which each part has one;
    /// none while that is not known. Without this function, the part is the only one.
    std::function<std::optional<uint64_t>(CheckpointPart part, const std::vector<uint64_t>& steps)>
        newest_common = {};
    std::function<void(const std::string& text)> report = {};  ///< gets news
  };
  ServedPart(PartCopy copy, Files files);

  PartCopy& copy() { return copy_; }
  const PartCopy& copy() const { return copy_; }
  bool is_head() const { return copy_.role() == PartCopy::Role::head; }
  /// True when it makes checkpoints by itself.
  bool keeps_files() const { return is_head() && !files_.checkpoint.empty(); }
  CheckpointPart file_part() const { return {copy_.state().server(), files_.servers}; }

  /// Restores the checkpoint of that step. Returns the name of its file.
  Result<std::string> restore(uint64_t step);
  /// Carries out the requests of workers for files.
  void serve_files();
  /// Makes the checkpoint that is due after an input.
  Result<> keep_checkpoint();
  /// Makes the last checkpoint, unless there is one of this step.
  Result<> end();

 private:
  Result<SavedBytes> serve_file(const PsFileRequest& request, PsFileAnswer& answer) const;
  Result<> save_step();
  Result<> put_later_aside();

  PartCopy copy_;
  Files files_;
  uint64_t saved_step_ = 0;
};

}  // namespace dt
