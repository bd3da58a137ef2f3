#pragma once

#include "base/result.h"
#include "cmd/kept_words.h"
#include "launcher/config/config.h"

#include <cstdint>
#include <span>
#include <string>
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

}  // namespace dt
