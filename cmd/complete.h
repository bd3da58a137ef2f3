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

/// What a shell may offer for the word under the cursor.
struct Completion {
  /// Who knows the candidates: we, the shell's own completion of paths, or whatever completes the
  /// workers' command.
  enum class Kind : uint8_t { words, files, folders, command };
  struct Candidate {
    std::string word;
    std::string help;
    bool operator==(const Candidate&) const = default;
  };

  Kind kind = Kind::words;
  std::string kept = {};  ///< the front of the word that stays: "--chdir=", "node1:4,"
  bool open = false;      ///< the word may go on behind a candidate: no blank after it
  size_t command_at = 0;  ///< Kind::command: the place of its first word; `dtrain` has place 0
  std::vector<Candidate> candidates = {};  ///< each continues `kept`
  bool operator==(const Completion&) const = default;
};

/// What completion reads of the world; every failure is nothing to offer.
struct CompletionReaders {
  std::function<std::optional<std::string>(const std::string& path)> text;
  std::function<std::vector<std::string>(const std::string& pattern)> paths;
  Environment environment = {};
};

/// Completes the last of the words that follow `dtrain`; it may be empty.
Completion complete(std::span<const std::string> words, const CompletionReaders& readers);

/// What `dtrain __complete` prints for the scripts in completions/. The first line is kind, then
/// "space" or "nospace" (for a command its place), then the kept part, with tabs between; each
/// further line is a candidate, a tab and its help.
std::string completion_text(const Completion& completion);

}  // namespace dt
