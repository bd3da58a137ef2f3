#include "launcher/config/torchrun_command.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace dt {

bool is_torchrun(const OptionSources& sources) {
  constexpr std::array<std::string_view, 12> names = {
      "nproc-per-node", "nnodes",          "node-rank",    "redirects",     "tee",
      "no-python",      "standalone",      "rdzv-backend", "rdzv-endpoint", "rdzv-id",
      "rdzv-conf",      "monitor-interval"};
  return std::ranges::any_of(
      names, [&](std::string_view name) { return find_option(sources, name).has_value(); });
}

Result<> read_torchrun_command(const OptionSources& sources, RunConfig& config) {
  if (const auto given = find_option(sources, "module")) {
    const bool is_module = TRY(given->flag());
    if (is_module) config.command.insert(config.command.begin(), {"python3", "-m"});
  } else if (is_torchrun(sources) && !find_option(sources, "no-python") &&
             !config.command.empty() && config.command.front().ends_with(".py")) {
    config.command.insert(config.command.begin(), "python3");
  }
  for (const std::string_view name : {"redirects", "tee"}) {
    const auto given = find_option(sources, name);
    if (!given) continue;
    const auto chosen = given->choice();
    if (!chosen && name == "tee" && parse_duration(given->value())) {
      return fail(Errc::input, chosen.error().message + ": a time limit is --timeout TIME");
    }
    if (!chosen) return tl::unexpected(chosen.error());
    const std::string& choice = *chosen;
    if (choice == "0") continue;
    if (!config.output_dir && !config.no_macros) {
      config.output_dir = "/tmp/dtrain-logs-{job_id}";
      config.warnings.push_back(
          format("{}: the files are in {}; --log-dir DIR chooses another folder", given->origin,
                 *config.output_dir));
    }
    if (!config.output_dir) return given->refuse("needs a folder for the files; add --log-dir DIR");
    if (name == "redirects") config.quiet = true;
  }
  return {};
}

}  // namespace dt
