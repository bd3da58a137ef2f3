#include "launcher/config/host_options.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocation.h"
#include "launcher/config/allocation/srun_words.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/config/option_value.h"
#include "launcher/config/restart_settings.h"
#include "launcher/config/words/shell_words.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

Result<HostList> read_hostfile(const OptionValue& given, const TextReader& read_text) {
  const std::string& path = given.value();
  const std::string text = TRY(given.text_of(path, read_text));
  return parse_hostfile(text, path);
}

/// Reads --rsh-agent. Fails beside options of ssh, which would have no effect.
Result<> read_rsh_agent(const OptionSources& sources, LoginOptions& ssh) {
  const auto given = find_option(sources, "rsh-agent");
  if (!given) return {};
  const std::string text = TRY(given->text("a program"));
  for (const std::string_view word : split_words(text))
    ssh.program.emplace_back(word);
  if (ssh.program.empty()) return given->expected("a program");
  for (const std::string_view name : {"ssh", "ssh-port", "ssh-identity-file", "ssh-config"}) {
    const auto other = find_option(sources, name);
    if (other) return other->refuse(format("conflicts with {}; give one of them", given->origin));
  }
  return {};
}

size_t host_count(const RunConfig& config) {
  return config.hosts.empty() ? 1 : config.hosts.size();
}

/// Leaves the slots to the agents, which know the resources that --nproc-per-node names.
void offer_resources(const OptionSources& sources, RunConfig& config) {
  if (!find_option(sources, "nproc-per-node") || config.placement.per_host) return;
  if (config.hosts.empty() && config.host_source.program.empty())
    config.hosts = {{.name = "localhost"}};
  for (Host& host : config.hosts) {
    host.slots = 0;
    host.slots_without_gpus = 0;
    host.counted = false;
  }
}

/// Fails for --nnodes with another number of hosts. Hosts that a file or a program names may become
/// enough for MIN:MAX.
Result<> check_nodes(const OptionSources& sources, const RunConfig& config) {
  const std::optional<NodeRange> nodes = TRY(read_node_range(sources));
  if (!nodes || config.nodes || !config.host_source.program.empty()) return {};
  const auto hosts = static_cast<int64_t>(host_count(config));
  const bool is_range = nodes->least < nodes->most;
  if (hosts == nodes->least || (is_range && hosts > nodes->least)) return {};
  if (is_range && config.host_source.changes()) return {};
  return find_option(sources, "nnodes")
      ->refuse(format("{}{}, but {} has {} host{}; name {}: -H HOST,HOST,…", nodes->least,
                      is_range ? format(" to {}", nodes->most) : "",
                      config.allocation.empty() ? "the job" : config.allocation, hosts,
                      hosts == 1 ? "" : "s",
                      config.allocation.empty() ? "all of them" : "those to use"));
}

Result<> check_node_rank(const OptionSources& sources, const RunConfig& config) {
  const auto given = find_option(sources, "node-rank");
  if (!given || config.nodes) return {};
  if (given->value() == "0" && host_count(config) == 1) return {};
  if (host_count(config) > 1) {
    return given->refuse(
        "the hosts are named, so dtrain is started once, and starts the processes of all of them; "
        "leave it out");
  }
  return given->refuse(
      format("a job on one node has the rank 0 alone, not {}; where each node starts dtrain run, "
             "give --nnodes N and --master-addr HOST, too",
             printable(given->value())));
}

/// Reads the program that prints the hosts, and --slots-per-host.
Result<> read_host_program(const OptionSources& sources, const OptionValue& given,
                           HostSource& source) {
  source.program = TRY(given.text("a program"));
  const auto slots = find_option(sources, "slots-per-host");
  if (!slots) return {};
  const int64_t count = TRY(slots->integer(1, slots_max));
  source.slots_per_host = static_cast<int>(count);
  return {};
}

/// Finds the option that names the hosts in this source. Fails where there are two.
Result<std::optional<OptionValue>> hosts_option(const OptionSource& source) {
  std::optional<OptionValue> found;
  for (const std::string_view name : {"hosts", "hostfile", "host-discovery-script"}) {
    auto given = find_in(source, name);
    if (found && given)
      return found->refuse(format("conflicts with {}; give one of them", given->origin));
    if (given) found = std::move(given);
  }
  return found;
}

/// Reads the hosts that this option names.
Result<> read_named_hosts(const OptionSources& sources, const OptionValue& given,
                          const TextReader& read_text, RunConfig& config) {
  if (given.name == "host-discovery-script")
    return read_host_program(sources, given, config.host_source);
  const bool is_file = given.name == "hostfile";
  HostList list = TRY(is_file ? read_hostfile(given, read_text)
                              : parse_host_list(join(*given.values, ","), given.origin, read_text));
  if (is_file) config.host_source.hostfile = given.value();
  config.hosts = std::move(list.hosts);
  std::ranges::move(list.warnings, std::back_inserter(config.warnings));
  return {};
}

/// Reads the hosts of the job that --allocation allows. Requires that its value is valid.
Result<> read_allocation(const std::optional<OptionValue>& given, const AllocationInput& input,
                         RunConfig& config) {
  const std::string choice = given ? given->value() : "auto";
  auto found = find_allocation(choice, input);
  if (!found && given) return given->refuse(found.error().message);
  if (!found) return tl::unexpected(found.error());
  if (!*found) return {};
  config.allocation = std::move((*found)->name);
  config.slurm_job = std::move((*found)->slurm_job);
  config.ssh.scheduler_program = std::move((*found)->program);
  config.hosts_are_pods = (*found)->of_pods;
  config.hosts = std::move((*found)->list.hosts);
  std::ranges::move((*found)->list.warnings, std::back_inserter(config.warnings));
  return {};
}

}  // namespace

Result<> read_processes(const OptionSources& sources, PlacementOptions& placement) {
  const auto given = find_option(sources, "nproc-per-node");
  if (!given) return {};
  if (const auto ppn = find_option(sources, "ppn"))
    return given->refuse(format("conflicts with {}; give one of them", ppn->origin));
  const std::string_view word = given->value();
  if (word == "gpu" || word == "cpu" || word == "auto") {
    placement.slot_unit = word == "gpu"   ? SlotUnit::gpu
                          : word == "cpu" ? SlotUnit::cpu
                                          : SlotUnit::gpu_or_cpu;
    return {};
  }
  if (word == "xpu") {
    return given->refuse(
        "dtrain counts GPUs of NVIDIA alone, and no devices of torch.xpu; give their number");
  }
  const auto count = parse_integer(word);
  if (!count || *count < 1 || *count > slots_max)
    return given->expected(format("1..{}, gpu, cpu or auto", slots_max));
  placement.per_host = static_cast<int>(*count);
  return {};
}

Result<> read_ssh(const OptionSources& sources, LoginOptions& ssh) {
  if (const auto given = find_option(sources, "ssh-port")) {
    const auto port = given->integer(1, 65535);
    if (!port && !parse_integer(given->value())) {
      return fail(Errc::input, port.error().message +
                                   ": this is the port of sshd; a partition of Slurm goes to "
                                   "salloc or sbatch");
    }
    if (!port) return tl::unexpected(port.error());
    ssh.port = static_cast<uint16_t>(*port);
  }
  if (const auto given = find_option(sources, "ssh-identity-file")) {
    ssh.identity = TRY(given->text("a file"));
  }
  if (const auto given = find_option(sources, "ssh-config")) {
    ssh.config = TRY(given->text("a file"));
  }
  if (const auto given = find_option(sources, "ssh")) {
    const std::string implementation = TRY(given->choice());
    ssh.implementation = implementation == "libssh2"   ? SshImplementation::libssh2
                         : implementation == "openssh" ? SshImplementation::openssh
                                                       : SshImplementation::automatic;
  }
  if (const auto given = find_option(sources, "ssh-parallel")) {
    const int64_t count = TRY(given->integer(1, static_cast<int64_t>(hosts_max)));
    ssh.parallel = static_cast<size_t>(count);
  }
  TRY(read_rsh_agent(sources, ssh));
  if (const auto given = find_option(sources, "connect-timeout")) {
    ssh.connect_timeout = TRY(given->positive_duration());
  }
  return {};
}

Result<> read_srun_args(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "srun-args");
  if (!given) return {};
  auto words = split_shell_words(given->value());
  if (!words) return given->refuse(words.error().message);
  if (const auto fault = srun_words_fault(*words)) return given->refuse(*fault);
  for (const std::string_view name : {"ssh", "rsh-agent"}) {
    const auto other = find_option(sources, name);
    if (other) return other->refuse(format("conflicts with {}; give one of them", given->origin));
  }
  if (config.slurm_job.empty()) {
    config.warnings.push_back(
        format("{}: no effect, since the hosts are not those of a Slurm job", given->origin));
  }
  config.srun_words = *std::move(words);
  return {};
}

Result<> read_port_range(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "port-range");
  if (!given) return {};
  config.port_range = parse_port_range(given->value());
  if (config.port_range) return {};
  return given->expected("FIRST-LAST of 1024..65535, for example 5000-5099");
}

Result<> read_networks(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "network-interfaces");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  for (const std::string_view word : split(all, ',')) {
    if (!is_network_word(trim(word))) {
      return given->expected("interfaces or networks, for example eth0 or 10.0.0.0/8");
    }
    config.networks.emplace_back(trim(word));
  }
  return {};
}

Result<> read_hosts(const OptionSources& sources, const Environment& environment,
                    const TextReader& read_text, RunConfig& config) {
  const AllocationInput input = {environment, read_text, config.placement.per_host};
  const auto allocation = find_option(sources, "allocation");
  std::string choice = "auto";
  if (allocation) choice = TRY(allocation->choice());
  // A scheduler's name is a choice of hosts, as -H is.
  const bool names_scheduler = choice != "auto" && choice != "none";
  for (const OptionSource& source : sources) {
    const std::optional<OptionValue> named = TRY(hosts_option(source));
    const auto given = find_in(source, "allocation");
    const bool by_scheduler = names_scheduler && given && given->values == allocation->values;
    if (by_scheduler && named)
      return given->refuse(format("conflicts with {}; give one of them", named->origin));
    if (by_scheduler) return read_allocation(allocation, input, config);
    if (named) return read_named_hosts(sources, *named, read_text, config);
  }
  if (const auto standalone = find_option(sources, "standalone")) {
    const bool is_alone = TRY(standalone->flag());
    if (is_alone) return {};
  }
  if (config.nodes) return {};
  return read_allocation(allocation, input, config);
}

Result<> read_torchrun_layout(const OptionSources& sources, RunConfig& config) {
  offer_resources(sources, config);
  TRY(check_nodes(sources, config));
  TRY(check_node_rank(sources, config));
  return {};
}

}  // namespace dt
