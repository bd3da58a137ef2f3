#include "base/environment.h"

#include "base/format.h"

#include <unistd.h>

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
