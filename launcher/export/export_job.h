#pragma once

#include "launcher/config/config.h"
#include "launcher/config/files/config_show.h"
#include "launcher/plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A file of the code, below its root.
struct CodeFile {
  std::string path;
  std::string content;
  bool is_executable = false;
  bool operator==(const CodeFile&) const = default;
};

/// The tree of --sync on this machine.
struct ExportedCode {
  std::string root;                  ///< absolute
  std::string start;                 ///< the folder below it in which tasks start; empty: the root
  uint64_t bytes = 0;                ///< of all files; 0: they were not listed
  std::vector<CodeFile> files = {};  ///< where the text has them; empty: too many bytes
  bool operator==(const ExportedCode&) const = default;
};

/// A job to be written in the language of another launcher.
struct ExportJob {
  RunConfig config;
  std::vector<DecidedOption> options;     ///< that the user gave
  std::vector<std::string> command = {};  ///< as the user gave it
  std::optional<Plan> plan = {};          ///< on the user's hosts; none: their slots are unknown
  std::string folder;                     ///< the current one, absolute
  std::optional<ExportedCode> code = {};  ///< none: no --sync of a folder
  std::string source;                     ///< the name of the job file
  std::string output;                     ///< that of the file to be written; empty: stdout
};

/// The text for another launcher, and what it lacks.
struct Exported {
  std::string text;
  std::vector<std::string> left_out;  ///< each a part of a sentence, for a list
  std::vector<std::string> warnings;  ///< whole sentences
};

}  // namespace dt
