#include "cmd/bench_command.h"

#include "launcher/config/options.h"
#include "launcher/process/executable.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace dt {

RunRequest bench_request(const BenchOptions& options) {
  RunRequest request;
  request.command = {std::string(own_command), "__bench"};
  std::ranges::move(rank_words(options), std::back_inserter(request.command));
  request.takes = is_bench_option;
  // A rank that moves between cores measures its caches. Scripts' variables are of no use to ranks.
  request.defaults = {{"no-tag", {"true"}},  {"bind-to", {"auto"}},   {"cluster-spec", {"none"}},
                      {"env-set", {"none"}}, {"no-macros", {"true"}}, {"no-horovod", {"true"}}};
  return request;
}

bool shows_progress(bool terminal, const Environment& environment) {
  const auto value_of = [&environment](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string kind = value_of("TERM");
  return terminal && !kind.empty() && kind != "dumb" && value_of("CI").empty();
}

}  // namespace dt
