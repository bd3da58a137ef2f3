#include "launcher/environment/horovod_environment.h"

#include "base/format.h"
#include "base/io/socket.h"

namespace dt {

namespace {

bool has_controller(const Environment& environment) {
  return environment.contains("HOROVOD_CONTROLLER");
}

}  // namespace

void add_horovod_ranks(Environment& environment, const Plan& plan, const Task& task) {
  const std::pair<const char*, std::string> variables[] = {
      {"HOROVOD_RANK", format("{}", task.rank)},
      {"HOROVOD_SIZE", format("{}", plan.world_size)},
      {"HOROVOD_LOCAL_RANK", format("{}", task.local_rank)},
      {"HOROVOD_LOCAL_SIZE", format("{}", plan.local_size(task))},
      {"HOROVOD_CROSS_RANK", format("{}", task.cross_rank)},
      {"HOROVOD_CROSS_SIZE", format("{}", task.cross_size)},
  };
  environment.insert(std::begin(variables), std::end(variables));
}

void add_horovod_controller(Environment& common, const std::string& master_address) {
  common["HOROVOD_CONTROLLER"] = "gloo";
  common["HOROVOD_CPU_OPERATIONS"] = "gloo";
  if (master_address.starts_with("127.")) common["HOROVOD_GLOO_IFACE"] = "lo";
}

void add_horovod_rendezvous(Environment& added) {
  const auto rendezvous = added.find("DTRAIN_RENDEZVOUS");
  if (!has_controller(added) || !added.contains("HOROVOD_RANK") || rendezvous == added.end())
    return;
  const Result<Address> address = Address::parse(rendezvous->second);
  if (!address) return;
  // Horovod's client supports only IPv4; with another address it reports that it cannot connect.
  added["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = address->ip;
  added["HOROVOD_GLOO_RENDEZVOUS_PORT"] = format("{}", address->port);
}

void add_horovod_interface(Environment& defaults, const Environment& added,
                           const std::string& interface) {
  if (has_controller(added) && !interface.empty()) defaults["HOROVOD_GLOO_IFACE"] = interface;
}

}  // namespace dt
