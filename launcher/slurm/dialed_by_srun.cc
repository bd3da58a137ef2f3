#include "launcher/slurm/dialed_by_srun.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/network.h"
#include "launcher/agent/agent_binary.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/process/executable.h"
#include "launcher/slurm/srun_step.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace dt {
namespace {

bool is_in_path(const std::string& program, const Environment& environment) {
  const auto path = environment.find("PATH");
  return path != environment.end() && find_executable(program, path->second, ".").has_value();
}

/// Returns the addresses at which agents may reach this machine. Loopback counts only where there
/// is nothing else.
Result<std::vector<std::string>> own_ips(const std::vector<std::string>& networks) {
  const auto allowed = allowed_addresses(interface_addresses(), networks);
  if (!allowed)
    return fail(Errc::input, "--network-interfaces, on this machine: " + allowed.error().message);
  std::vector<std::string> ips;
  for (const InterfaceAddress& address : *allowed) {
    if (!is_loopback(address.ip)) ips.push_back(address.ip);
  }
  if (!ips.empty()) return ips;
  for (const InterfaceAddress& address : *allowed)
    ips.push_back(address.ip);
  return ips;
}

/// Fills `held`, which must live as long as the port is used: no task of this machine takes it
/// then.
Result<DialedHosts::Where> where_to_listen(const std::vector<std::string>& networks,
                                           const std::optional<PortRange>& range,
                                           std::vector<HeldPort>& held) {
  DialedHosts::Where where;
  where.ips = TRY(own_ips(networks));
  if (!range) return where;
  auto ports = hold_ports(1, range);
  if (!ports) return fail(Errc::refused, "port of the agents: " + ports.error().message);
  held = *std::move(ports);
  where.port = held.front().number;
  return where;
}

/// Returns a path in the job's temporary folder, where no node has a file.
Result<std::string> path_of_copy(const std::string& job, const Environment& environment) {
  const auto folder = environment.find("TMPDIR");
  const std::string name = TRY(random_name(8));
  return format("{}/dtrain-{}-{}",
                folder == environment.end() || folder->second.empty() ? "/tmp" : folder->second,
                job, name);
}

Result<SpawnedProcess> start_srun(SrunStep step, const Environment& environment) {
  std::error_code failed;
  step.executable = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  struct stat about = {};
  if (::stat("/proc/self/exe", &about) == 0)
    step.stamp = format("{}.{}.{}", about.st_size, about.st_mtim.tv_sec, about.st_ino);
  const AgentBinary binary = TRY(AgentBinary::own());
  step.sha256 = binary.sha256();
  const SrunCommand command = TRY(srun_command(step, environment));
  return start_scheduler_program(command.words, command.environment);
}

}  // namespace

std::optional<DialedHosts::Options> dialed_by_srun(const RunConfig& config,
                                                   const Environment& environment, Log& log) {
  const bool way_given =
      config.ssh.implementation != SshImplementation::automatic || !config.ssh.program.empty();
  if (config.slurm_job.empty() || way_given) return std::nullopt;
  if (config.srun_words.empty() && !is_in_path("srun", environment)) {
    if (config.hosts.size() > 1)
      log.print("srun is not in PATH, so that agents start over ssh in {}", config.allocation);
    return std::nullopt;
  }
  // A step that does not begin ends well before the wait for the agents does, and has the reason.
  SrunStep step = {.words = config.srun_words, .patience = config.start_timeout / 2};
  for (const Host& host : config.hosts)
    step.nodes.push_back(host.name);
  DialedHosts::Options options = {.program = "srun",
                                  .patience = config.start_timeout,
                                  .dead_after = config.dead_after,
                                  .starts_all = !config.srun_words.empty()};
  options.where = [networks = config.networks, range = config.port_range,
                   held = std::make_shared<std::vector<HeldPort>>()] {
    return where_to_listen(networks, range, *held);
  };
  options.remedy = srun_remedy;
  options.start = [step, environment](const std::vector<std::string>& hosts) {
    SrunStep with_hosts = step;
    with_hosts.hosts = hosts;
    return start_srun(std::move(with_hosts), environment);
  };
  options.start_copies = [step = std::move(step), environment, job = config.slurm_job](
                             const std::vector<std::string>& hosts,
                             bool beside) -> Result<SpawnedProcess> {
    SrunStep with_hosts = step;
    with_hosts.beside = beside;
    with_hosts.hosts = hosts;
    with_hosts.copy = TRY(path_of_copy(job, environment));
    return start_srun(std::move(with_hosts), environment);
  };
  return options;
}

}  // namespace dt
