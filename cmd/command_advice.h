#pragma once

#include <optional>
#include <span>
#include <string>

namespace dt {

/// A command line of `dtrain run`, and the places where its command is searched.
struct TypedCommand {
  std::span<const std::string> front;    ///< the words before the command: "run -np 2"
  std::span<const std::string> command;  ///< not empty
  std::string path;                      ///< PATH
  std::string cwd;
};

/// Returns the error for a command that cannot run, but that has one meaning. It is a Python file,
/// a command in quotes, or a variable before the command. The error shows the words to write.
std::optional<std::string> command_advice(const TypedCommand& typed);

}  // namespace dt
