#include "base/environment.h"

#include "base/format.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace dt {

Environment parse_environment(const std::vector<std::string>& entries) {
  Environment environment;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    // If a name occurs twice, the first value counts, as in getenv.
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

Environment process_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return parse_environment(entries);
}

std::string current_folder(const Environment& environment) {
  std::error_code failed;
  const auto pwd = environment.find("PWD");
  const bool given = pwd != environment.end() && pwd->second.starts_with('/') &&
                     std::filesystem::equivalent(pwd->second, ".", failed);
  return given ? pwd->second : std::filesystem::current_path(failed).string();
}

std::vector<std::string> environment_entries(const Environment& environment) {
  std::vector<std::string> entries;
  entries.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    std::string& entry = entries.emplace_back();
    entry.reserve(name.size() + 1 + value.size());
    entry.append(name).append("=").append(value);
  }
  return entries;
}

}  // namespace dt
