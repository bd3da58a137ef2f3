#pragma once

#include "launcher/environment/environment.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The completions that a shell may offer for the word under the cursor.
struct Completion {
  /// The source of the candidates: `candidates`, the shell's own completion of paths, or the
  /// shell's completion of the workers' command.
  enum class Kind : uint8_t { words, files, folders, command };
  struct Candidate {
    std::string word;
    std::string help;
    bool operator==(const Candidate&) const = default;
  };

  Kind kind = Kind::words;
  std::string kept = {};  ///< the front of the word, which stays: "--chdir=", "node1:4,"
  bool open = false;      ///< the word may continue behind a candidate: no blank after it
  size_t command_at = 0;  ///< Kind::command: the index of its first word; `dtrain` has index 0
  std::vector<Candidate> candidates = {};  ///< each continues `kept`
  bool operator==(const Completion&) const = default;
};

/// The functions by which completion reads files and folders. After a failure it offers nothing.
struct CompletionReaders {
  std::function<std::optional<std::string>(const std::string& path)> text;
  std::function<std::vector<std::string>(const std::string& pattern)> paths;
  Environment environment = {};
};

/// Completes the last of the words that follow `dtrain`; it may be empty.
Completion complete(std::span<const std::string> words, const CompletionReaders& readers);

/// Returns the output of `dtrain __complete` for the scripts in completions/. The first line has
/// three fields, with tabs between them. They are the kind, then "space", "nospace" or the index of
/// a command, and the kept part. Each further line is a candidate, a tab and its help.
std::string completion_text(const Completion& completion);

}  // namespace dt
