#include "launcher/job/start/rendezvous.h"

#include "launcher/config/env_set.h"

#include <utility>

namespace dt {

TaskTable task_table(const Plan& plan, std::string job, const Reach& reach, uint32_t generation) {
  TaskTable table = {.job = std::move(job), .generation = generation, .tasks = {}};
  for (const Task& task : plan.tasks) {
    table.tasks.push_back({.id = task.id,
                           .rank = task.rank,
                           .agent = task.agent,
                           .host = plan.hosts[static_cast<size_t>(task.agent)].host.name,
                           .addresses = reach.hosts[static_cast<size_t>(task.agent)].ips,
                           .cut_off = reach.hosts[static_cast<size_t>(task.agent)].cut_off});
  }
  return table;
}

Result<std::optional<HeldPort>> hold_rendezvous_port(const RunConfig& config) {
  if (!config.port_range) return std::optional<HeldPort>();
  auto held = hold_ports(1, config.port_range);
  if (!held) return fail(Errc::refused, "rendezvous: " + held.error().message);
  return std::optional(std::move(held->front()));
}

std::optional<AddressSet> horovod_sources(const RunConfig& config, const Plan& plan,
                                          const Reach& reach, const std::vector<Hello>& hellos) {
  const bool wanted = !config.no_horovod && config.env_sets.contains(EnvSet::horovod);
  if (!wanted || plan.is_partial()) return std::nullopt;
  return task_sources(plan, reach, hellos);
}

Result<std::unique_ptr<RendezvousServer>> open_rendezvous(Loop& loop,
                                                          RendezvousServer::Options options,
                                                          Log& log) {
  const size_t task_count = options.table.tasks.size();
  auto server = RendezvousServer::listen(loop, std::move(options), log);
  if (!server) return fail(Errc::refused, "rendezvous: " + server.error().message);
  log.info("{} tasks; rendezvous on {}", task_count, (*server)->address().text());
  return server;
}

}  // namespace dt
