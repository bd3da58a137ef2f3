#pragma once

#include "base/environment.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace dt {

/// The variables of this process without those by which git finds a repository or the user's
/// settings. Then git works the same for each user.
inline Environment clean_git_environment() {
  Environment environment = process_environment();
  std::erase_if(environment,
                [](const auto& variable) { return variable.first.starts_with("GIT_"); });
  environment["GIT_CONFIG_GLOBAL"] = "/dev/null";
  environment["GIT_CONFIG_NOSYSTEM"] = "1";
  return environment;
}

/// Returns the command that runs git in a folder, without the settings of the user.
inline std::vector<std::string> git_command(const std::string& folder,
                                            std::initializer_list<std::string> words) {
  std::vector<std::string> command = {"env",
                                      "-u",
                                      "GIT_DIR",
                                      "-u",
                                      "GIT_INDEX_FILE",
                                      "GIT_CONFIG_GLOBAL=/dev/null",
                                      "GIT_CONFIG_NOSYSTEM=1",
                                      "git",
                                      "-C",
                                      folder};
  for (const char* setting :
       {"user.name=Test", "user.email=test@example.org", "protocol.file.allow=always",
        "init.defaultBranch=main", "commit.gpgsign=false"})
    command.insert(command.end(), {"-c", setting});
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

/// Runs git in a folder, and checks that it succeeds. Returns its output without the last newline.
inline std::string git_in(const std::string& folder, std::initializer_list<std::string> words) {
  ProgramResult result = run_program(git_command(folder, words));
  CHECK_MESSAGE(result.status == 0, result.error);
  while (result.output.ends_with('\n'))
    result.output.pop_back();
  return result.output;
}

/// Makes a repository of all that the folder has, with one commit, and returns its hash.
inline std::string make_repository(const std::string& folder) {
  git_in(folder, {"init", "-q"});
  git_in(folder, {"add", "-A"});
  git_in(folder, {"commit", "-q", "--allow-empty", "-m", "first"});
  return git_in(folder, {"rev-parse", "HEAD"});
}

}  // namespace dt
