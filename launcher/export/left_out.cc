#include "launcher/export/left_out.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace dt {
namespace {

/// All of these but hosts name machines, and the exporter reports those once.
constexpr std::array<std::string_view, 10> host_options = {
    "hosts",          "hostfile",   "host-discovery-script",
    "slots-per-host", "allocation", "oversubscribe",
    "map-by",         "rank-by",    "ppn",
    "nnodes"};

/// How dtrain reaches hosts, and how it prints: without effect on the processes.
constexpr std::array<std::string_view, 36> launcher_options = {"ssh",
                                                               "ssh-port",
                                                               "ssh-identity-file",
                                                               "ssh-config",
                                                               "ssh-parallel",
                                                               "rsh-agent",
                                                               "srun-args",
                                                               "connect-timeout",
                                                               "port-range",
                                                               "network-interfaces",
                                                               "start-timeout",
                                                               "heartbeat",
                                                               "dead-after",
                                                               "stall-report",
                                                               "report-bindings",
                                                               "on-lost-output",
                                                               "merge-stderr",
                                                               "line-buffer",
                                                               "no-line-buffer",
                                                               "no-tag",
                                                               "timestamp",
                                                               "color",
                                                               "quiet",
                                                               "local-ranks-filter",
                                                               "verbose",
                                                               "dry-run",
                                                               "json",
                                                               "config-file",
                                                               "name",
                                                               "env-exclude",
                                                               "no-horovod",
                                                               "sync-into",
                                                               "sync-local-copy",
                                                               "sync-strict",
                                                               "sync-max",
                                                               "gloo"};

constexpr std::array<std::string_view, 32> compose_options = {
    "role-cpus", "role-gpus", "role-memory", "role-ports",     "mount",           "mount-command",
    "np",        "role",      "role-ranked", "role-command",   "role-env",        "restart-role",
    "env",       "env-file",  "env-set",     "image",          "role-image",      "no-image",
    "chdir",     "sync",      "sync-from",   "sync-to",        "fetch",           "grace",
    "success",   "no-macros", "gpu-bind",    "cluster-filter", "pass-local-rank", "clean",
    "module",    "no-python"};

template <size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

ExportPart part_in_compose(std::string_view option) {
  if (holds(compose_options, option)) return ExportPart::written;
  const bool is_moot = holds(host_options, option) || holds(launcher_options, option);
  return is_moot ? ExportPart::moot : ExportPart::left_out;
}

ExportPart part_in_slurm(std::string_view option) {
  // An allocation has other hosts, which Slurm reaches.
  constexpr std::array<std::string_view, 15> of_other_hosts = {
      "hosts",      "hostfile",     "allocation", "ssh",         "ssh-port", "ssh-identity-file",
      "ssh-config", "ssh-parallel", "rsh-agent",  "config-file", "dry-run",  "json",
      "no-image",   "image",        "role-image"};
  constexpr std::array<std::string_view, 3> of_named_hosts = {"spare", "host-discovery-script",
                                                              "slots-per-host"};
  if (holds(of_named_hosts, option)) return ExportPart::left_out;
  return holds(of_other_hosts, option) ? ExportPart::moot : ExportPart::written;
}

std::string options_left_out(const std::vector<DecidedOption>& options,
                             const std::function<ExportPart(std::string_view option)>& part) {
  std::vector<std::string> names;
  for (const DecidedOption& one : options) {
    // The value of an exporting option is a variable, and those are all written.
    const bool decides = one.option->effect == Effect::decides;
    if (!decides || part(one.option->name) != ExportPart::left_out) continue;
    const OptionValue given = {.name = one.option->name, .values = &one.values, .origin = {}};
    const bool is_off = one.option->kind == OptionKind::flag && !given.flag().value_or(true);
    if (!is_off) names.emplace_back(one.option->name);
  }
  if (names.empty()) return "";
  return format("the option{} {}", names.size() == 1 ? "" : "s", join(names, ", "));
}

}  // namespace dt
