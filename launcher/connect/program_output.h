#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/connect/process_connection.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// What a program of this machine prints, collected without waiting for it. Destroying this ends
/// the program.
class ProgramOutput {
 public:
  /// Called once, from the Loop; an error when it could not be started, or did not end with status
  /// 0. May destroy the ProgramOutput.
  using OnDone = std::function<void(Result<std::string> output)>;
  ProgramOutput(Loop& loop, const std::vector<std::string>& command, OnDone on_done);
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;

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
