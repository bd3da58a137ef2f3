#include "launcher/sync/source/sync_patterns.h"

#include <fnmatch.h>

#include <algorithm>

namespace dt {

namespace {

constexpr std::string_view special_characters = "*?[\\";

std::vector<std::string> without_last_slashes(const std::vector<std::string>& patterns) {
  std::vector<std::string> all = patterns;
  for (std::string& pattern : all) {
    while (pattern.size() > 1 && pattern.ends_with('/'))
      pattern.pop_back();
  }
  return all;
}

bool matches_one(const std::vector<std::string>& patterns, const std::string& path) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
  });
}

/// True if a pattern matches the path or a folder above it.
bool matches(const std::vector<std::string>& patterns, std::string_view path) {
  if (patterns.empty()) return false;
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (matches_one(patterns, std::string(path.substr(0, slash)))) return true;
  }
  return matches_one(patterns, std::string(path));
}

}  // namespace

SyncPatterns::SyncPatterns(const std::vector<std::string>& excluded,
                           const std::vector<std::string>& included)
    : excluded_(without_last_slashes(excluded)), included_(without_last_slashes(included)) {
}

bool SyncPatterns::includes(std::string_view path) const {
  return matches(included_, path);
}

bool SyncPatterns::excludes(std::string_view path) const {
  return matches(excluded_, path) && !includes(path);
}

bool SyncPatterns::may_include_below(std::string_view folder) const {
  if (includes(folder)) return true;
  const std::string beginning = std::string(folder) + "/";
  return std::ranges::any_of(included_, [&](const std::string& pattern) {
    const std::string_view literal =
        std::string_view(pattern).substr(0, pattern.find_first_of(special_characters));
    if (literal.size() == pattern.size()) return literal.starts_with(beginning);
    return literal.starts_with(beginning) || std::string_view(beginning).starts_with(literal);
  });
}

std::string literal_pattern(std::string_view path) {
  std::string pattern;
  for (const char character : path) {
    if (special_characters.find(character) != std::string_view::npos) pattern += '\\';
    pattern += character;
  }
  return pattern;
}

}  // namespace dt
