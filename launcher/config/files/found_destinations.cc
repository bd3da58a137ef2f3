#include "launcher/config/files/found_destinations.h"

#include "launcher/config/files/config_show.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

/// Options that choose the machines that get the environment, or the folder of relative programs.
/// Others choose the files that dtrain or the job writes.
constexpr std::string_view destinations[] = {"hosts",
                                             "hostfile",
                                             "cluster-spec",
                                             "role",
                                             "ssh-port",
                                             "chdir",
                                             "output-dir",
                                             "result-dir",
                                             "report",
                                             "autotune-log-file",
                                             "timeline-filename"};

bool is_destination(const DecidedOption& decided) {
  const std::string_view name = decided.option->name;
  if (std::ranges::count(destinations, name) == 0) return false;
  return name != "role" || std::ranges::any_of(decided.values, [](const std::string& value) {
           return value.find('@') != std::string::npos;
         });
}

}  // namespace

std::vector<std::string> found_destinations(const OptionSources& by_precedence) {
  std::vector<std::string> names;
  for (const DecidedOption& decided : decided_options(by_precedence, false)) {
    if (decided.found && is_destination(decided)) names.emplace_back(decided.option->name);
  }
  return names;
}

}  // namespace dt
