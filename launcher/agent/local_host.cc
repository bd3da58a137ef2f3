#include "launcher/agent/local_host.h"

#include "base/io/cores.h"
#include "base/io/network.h"
#include "base/version.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace dt {

namespace {

MachineId own_machine() {
  MachineId machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine.boot;
  struct stat about = {};
  if (stat("/proc/self/ns/net", &about) == 0) machine.network_namespace = about.st_ino;
  return machine;
}

/// Looks for the drivers' device files, since a query of a driver may take seconds.
bool has_accelerator() {
  constexpr const char* devices[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg",
                                     "/dev/kfd",       "/dev/xpu0",    "/dev/davinci_manager"};
  return std::ranges::any_of(devices, [](const char* device) { return access(device, F_OK) == 0; });
}

}  // namespace

int count_allowed_cpus() {
  return usable_cpus();
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** at = environ; *at != nullptr; ++at)
    entries.emplace_back(*at);
  return entries;
}

Hello make_hello(AgentLocation location) {
  return {.build = std::string(build_version),
          .hostname = own_host_name(),
          .addresses = location == AgentLocation::other_host ? interface_addresses()
                                                             : std::vector<InterfaceAddress>(),
          .machine = own_machine()};
}

Environment local_host_environment(const std::vector<std::string>& excluded) {
  return host_environment(parse_environment(own_environment()), excluded);
}

HostFacts own_host_facts(const std::vector<std::string>& excluded, bool own_variables) {
  Environment own = local_host_environment(excluded);
  if (own_variables)
    own.merge(forwarded_environment(parse_environment(own_environment()), {}, excluded));
  return {.own = std::move(own),
          .hostname = own_host_name(),
          .interface = {},
          .accelerator = has_accelerator()};
}

}  // namespace dt
