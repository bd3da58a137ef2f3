#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/connect/process_connection.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Collects the output of a program of this machine while the loop runs. Destruction kills the
/// program.
class ProgramOutput {
 public:
  /// Called once, from the Loop. The error is set when the program could not be started or did not
  /// exit with status 0. May destroy the ProgramOutput.
  using OnDone = std::function<void(Result<std::string> output)>;
  ProgramOutput(Loop& loop, const std::vector<std::string>& command, OnDone on_done);
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;

  /// Output beyond this is dropped.
  static constexpr size_t bytes_max = size_t{1} << 20;

 private:
  Result<> start(Loop& loop, const std::vector<std::string>& command);
  void done(Result<std::string> result);

  OnDone on_done_;
  std::string output_;
  bool ended_well_ = false;
  std::unique_ptr<ProcessConnection> process_;
  Timer failing_;
};

}  // namespace dt
