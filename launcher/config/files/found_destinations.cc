#include "launcher/config/files/found_destinations.h"

#include <algorithm>
#include <string_view>

namespace dt {

namespace {

/// Options that choose the machines that get the environment, or the folder of relative programs.
/// Others choose the files that dtrain or the job writes.
constexpr std::string_view destinations[] = {"hosts",
                                             "hostfile",
                                             "spare",
                                             "cluster-spec",
                                             "master-addr",
                                             "rdzv-endpoint",
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

std::vector<DecidedOption> found_destinations(const OptionSources& by_precedence) {
  std::vector<DecidedOption> decided = decided_options(by_precedence, false);
  std::erase_if(decided,
                [](const DecidedOption& one) { return !one.found || !is_destination(one); });
  return decided;
}

}  // namespace dt
