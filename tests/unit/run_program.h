#pragma once

#include "base/text.h"
#include "tests/unit/temporary_folder.h"

#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <vector>

namespace dt {

/// The exit status and the output of a program.
struct ProgramResult {
  int status = -1;  ///< -1 after the end by a signal
  std::string output;
  std::string error;
};

/// Runs a program to its end with an empty stdin. There is no time limit.
inline ProgramResult run_program(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  std::string line;
  for (const std::string& word : command)
    line += shell_quote(word) + " ";
  line += "</dev/null 2>" + folder.path() + "/error";
  ProgramResult result;
  FILE* const pipe = popen(line.c_str(), "re");
  if (pipe == nullptr) return result;
  char bytes[4096];
  for (size_t count = 0; (count = fread(bytes, 1, sizeof bytes, pipe)) > 0;)
    result.output.append(bytes, count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  result.error = folder.read("error");
  return result;
}

}  // namespace dt
