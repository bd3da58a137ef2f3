#pragma once

#include "base/result.h"
#include "cmd/kept_words.h"
#include "cmd/run_arguments.h"
#include "launcher/config/config.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The words behind `dtrain job`.
struct JobWords {
  enum class Action : uint8_t { help, run, check, init, pieces, kept };
  Action action = Action::help;
  std::string file = {};                  ///< run, check: the job file; init: -o, empty for stdout
  OptionSource flags = {};                ///< options of run as typed; they win over the file
  std::vector<std::string> command = {};  ///< wins over the file's; init: the job's
  bool connect = false;                   ///< check: contact the hosts
  bool detach = false;                    ///< run: leave the terminal
  KeptWords kept = {};                    ///< kept: all of it
  std::string pieces = {};                ///< the file of pieces; empty: the user's own
  bool json = false;                      ///< pieces: print a JSON document
  bool operator==(const JobWords&) const = default;
};

/// Reads an action, its file, and options of run. Fails with Errc::input.
Result<JobWords> read_job_words(std::span<const std::string> words);

/// "FILE [options] [-- command]", as commands take it that begin with a job file.
struct FileWords {
  bool help = false;
  std::string file = {};
  OptionSource flags = {};                                           ///< options of run as typed
  std::vector<std::string> command = {};                             ///< wins over the file's
  std::vector<std::string> own = {};                                 ///< flags of the dialect
  std::vector<std::pair<std::string, std::string>> own_values = {};  ///< options of the dialect
};

/// Reads the words behind `command`, such as "job run". Options may stand before the file, too.
/// Fails with Errc::input.
Result<FileWords> read_file_words(std::span<const std::string> words, const Dialect& dialect,
                                  std::string_view command);

}  // namespace dt
