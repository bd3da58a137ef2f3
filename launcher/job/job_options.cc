#include "launcher/job/job_options.h"

#include "launcher/process/sweep.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dt {

namespace {

std::string replaced(std::string text, std::string_view macro, const std::string& value) {
  for (size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at))
    text.replace(at, macro.size(), value);
  return text;
}

}  // namespace

RunConfig with_job_id(RunConfig config, const std::string& job_id) {
  if (config.no_macros) return config;
  const auto expanded = [&](std::string text) {
    text = replaced(std::move(text), "{job_id}", job_id);
    return config.name.empty() ? text : replaced(std::move(text), "{name}", config.name);
  };
  for (std::optional<std::string>* path :
       {&config.output_dir, &config.result_dir, &config.report}) {
    if (*path) *path = expanded(**path);
  }
  for (std::string& warning : config.warnings)
    warning = expanded(std::move(warning));
  return config;
}

Supervisor::Options supervisor_options(const RunConfig& config, Time start_deadline,
                                       std::function<bool(const Outcome& failed)> may_restart,
                                       std::function<bool()> writes_file) {
  return {.grace = config.grace,
          .timeout = config.timeout,
          .start_deadline = start_deadline,
          .start_timeout = config.start_timeout,
          .continue_on_failure = config.continue_on_failure,
          .dump_stacks = config.dump_stacks,
          .success = config.success,
          .writes_file = std::move(writes_file),
          .may_restart = std::move(may_restart)};
}

Duration finish_patience(const RunConfig& config) {
  return config.success.clean == CleanUp::all ? config.grace : Sweep::usual_patience;
}

bool names_python(const RunConfig& config) {
  const auto python = [](const std::string& word) {
    return word.find("python") != std::string::npos || word.ends_with(".py");
  };
  const auto of_role = [&](const Role& role) { return std::ranges::any_of(role.command, python); };
  return std::ranges::any_of(config.command, python) || std::ranges::any_of(config.roles, of_role);
}

}  // namespace dt
