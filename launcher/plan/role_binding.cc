#include "launcher/plan/role_binding.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/some_of.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace dt {
namespace {

/// A task of the host, and its role.
struct HostTask {
  const Task* task = nullptr;
  const Role* role = nullptr;
  RoleResources asks() const { return role == nullptr ? RoleResources() : role->resources; }
};

std::vector<HostTask> tasks_of(const Plan& plan, size_t agent) {
  std::vector<HostTask> tasks;
  for (const size_t at : plan.hosts[agent].tasks) {
    const Task& task = plan.tasks[at];
    tasks.push_back({.task = &task, .role = find_role(plan.roles, task.id.role)});
  }
  return tasks;
}

/// Returns "worker 2 x 4, ps 1 x 1": the tasks of each role, and what each of them asks for.
template <class Text>
std::string asked_by(const std::vector<HostTask>& tasks, Text text_of) {
  std::vector<std::pair<const Role*, int>> counts;
  for (const HostTask& one : tasks) {
    if (text_of(one).empty()) continue;
    if (counts.empty() || counts.back().first != one.role) counts.emplace_back(one.role, 0);
    ++counts.back().second;
  }
  std::vector<std::string> parts;
  for (const auto& [role, count] : counts) {
    const auto first = std::ranges::find(tasks, role, &HostTask::role);
    parts.push_back(format("{} {} x {}", role->name, count, text_of(*first)));
  }
  return join(parts, ", ");
}

/// Deals the GPUs of one host.
class GpuDealer {
 public:
  GpuDealer(const HostResources& resources, bool one_a_rank)
      : resources_(resources),
        one_a_rank_(one_a_rank),
        gpus_(visible_gpus(resources.gpus.gpus, resources.visible)) {}

  Result<> deal(const std::vector<HostTask>& tasks, std::vector<Binding>& bindings);

 private:
  std::optional<GpuCount> count_of(const HostTask& task) const;
  std::vector<size_t> take(const HostTask& task, const GpuCount& count);

  const HostResources& resources_;
  bool one_a_rank_ = false;  ///< for tasks of roles without GPUs
  std::vector<Gpu> gpus_;
  size_t next_ = 0;                ///< the first GPU that is not dealt
  const Role* sharing_ = nullptr;  ///< the role whose tasks share the GPU before it
  int shared_by_ = 0;              ///< how many of them
};

std::optional<GpuCount> GpuDealer::count_of(const HostTask& task) const {
  if (task.asks().gpus) return task.asks().gpus;
  if (one_a_rank_ && task.task->rank >= 0) return GpuCount{.whole = 1};
  return std::nullopt;
}

/// Returns the GPUs of the task, by index. They may be more than there are.
std::vector<size_t> GpuDealer::take(const HostTask& task, const GpuCount& count) {
  if (count.shares() && sharing_ == task.role && shared_by_ < count.sharers) {
    ++shared_by_;
    return {next_ - 1};
  }
  sharing_ = count.shares() ? task.role : nullptr;
  shared_by_ = 1;
  std::vector<size_t> taken(static_cast<size_t>(count.shares() ? 1 : count.whole));
  for (size_t& gpu : taken)
    gpu = next_++;
  return taken;
}

Result<> GpuDealer::deal(const std::vector<HostTask>& tasks, std::vector<Binding>& bindings) {
  std::vector<std::optional<std::vector<size_t>>> taken;
  for (const HostTask& task : tasks) {
    const auto count = count_of(task);
    taken.push_back(count ? std::optional(take(task, *count)) : std::nullopt);
  }
  if (next_ > gpus_.size()) {
    const std::string asked = asked_by(tasks, [this](const HostTask& task) {
      const auto count = count_of(task);
      return count ? count->text() : std::string();
    });
    const std::string why =
        resources_.gpu_failure.empty() ? "" : " (" + resources_.gpu_failure + ")";
    return fail(Errc::input, format("the roles ask for {} GPUs ({}), but {} can be used there{}",
                                    next_, asked, gpus_.size(), why));
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!taken[i]) continue;
    std::vector<Gpu> gpus;
    for (const size_t gpu : *taken[i])
      gpus.push_back(gpus_[gpu]);
    bindings[i].show_only(std::move(gpus), resources_.visible);
  }
  return {};
}

/// Binds the tasks whose roles have cores, one after the other. Removes these from `left`.
Result<> deal_cores(const std::vector<HostTask>& tasks, Topology& left,
                    std::vector<Binding>& bindings) {
  size_t asked = 0;
  for (const HostTask& task : tasks)
    asked += static_cast<size_t>(task.asks().cpus);
  if (asked > left.cores.size()) {
    const std::string by = asked_by(tasks, [](const HostTask& task) {
      return task.asks().cpus > 0 ? format("{}", task.asks().cpus) : std::string();
    });
    return fail(Errc::input, format("the roles ask for {} cores ({}), but {} can be used there",
                                    asked, by, left.cores.size()));
  }
  auto first = left.cores.begin();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto last = first + tasks[i].asks().cpus;
    if (first != last) bindings[i].cpus = Topology{.cores = {first, last}}.cpus();
    first = last;
  }
  left.cores.erase(left.cores.begin(), first);
  return {};
}

/// Binds the tasks with ranks whose roles have no cores, as --bind-to has it, to what is left.
Result<std::string> bind_rest(const PlacementOptions& options, const std::vector<HostTask>& tasks,
                              HostResources left, std::vector<Binding>& bindings) {
  std::vector<size_t> rest;
  std::vector<Gpu> gpus;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].task->rank < 0 || tasks[i].asks().cpus > 0) continue;
    rest.push_back(i);
    if (bindings[i].gpus && !bindings[i].gpus->empty()) gpus.push_back(bindings[i].gpus->front());
  }
  if (rest.empty() || options.bind_to == BindTo::none) return std::string();
  if (left.topology.cores.empty()) {
    return fail(Errc::input, format("--role-cpus leaves no core for {} processes of other roles, "
                                    "which --bind-to binds",
                                    rest.size()));
  }
  // Their own GPUs decide, if each has one.
  if (gpus.size() == rest.size()) {
    left.gpus.gpus = std::move(gpus);
    left.visible = {};
  }
  HostBindings bound =
      TRY(bind_host({.bind_to = options.bind_to}, static_cast<int>(rest.size()), left));
  for (size_t i = 0; i < bound.tasks.size(); ++i)
    bindings[rest[i]].cpus = std::move(bound.tasks[i].cpus);
  return bound.note;
}

Result<> check_memory(const std::vector<HostTask>& tasks, uint64_t there) {
  uint64_t asked = 0;
  for (const HostTask& task : tasks)
    asked += std::min(task.asks().memory_bytes, UINT64_MAX - asked);
  if (there == 0 || asked <= there) return {};
  const std::string by = asked_by(tasks, [](const HostTask& task) {
    return task.asks().memory_bytes > 0 ? memory_text(task.asks().memory_bytes) : std::string();
  });
  return fail(Errc::input, format("the roles ask for {} of memory ({}), but {} is there",
                                  memory_text(asked), by, memory_text(there >> 20 << 20)));
}

bool some_ask(const std::vector<HostTask>& tasks, bool (*asks)(const RoleResources& resources)) {
  return std::ranges::any_of(tasks, [asks](const HostTask& one) { return asks(one.asks()); });
}

/// Binds by --bind-to and --gpu-bind alone: only tasks with ranks.
Result<HostBindings> bind_by_options(const PlacementOptions& options,
                                     const std::vector<HostTask>& tasks, int ranked,
                                     const HostResources& resources) {
  HostBindings bindings = {.tasks = std::vector<Binding>(tasks.size()), .note = {}};
  if (ranked == 0) return bindings;
  HostBindings bound = TRY(bind_host(options, ranked, resources));
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int local_rank = tasks[i].task->local_rank;
    if (local_rank >= 0)
      bindings.tasks[i] = std::move(bound.tasks[static_cast<size_t>(local_rank)]);
  }
  bindings.note = std::move(bound.note);
  return bindings;
}

}  // namespace

bool needs_gpus(const std::vector<Role>& roles) {
  return std::ranges::any_of(roles, [](const Role& role) {
    return role.resources.gpus && role.resources.gpus->needs_gpus();
  });
}

bool needs_cpus_or_memory(const std::vector<Role>& roles) {
  return std::ranges::any_of(roles, [](const Role& role) {
    return role.resources.cpus > 0 || role.resources.memory_bytes > 0;
  });
}

Result<HostBindings> bind_planned(const PlacementOptions& options, const Plan& plan, size_t agent,
                                  const HostResources& resources) {
  const std::vector<HostTask> tasks = tasks_of(plan, agent);
  HostBindings all = {.tasks = std::vector<Binding>(tasks.size()), .note = {}};
  PlacementOptions by_options = options;
  if (some_ask(tasks, [](const RoleResources& asks) { return asks.gpus.has_value(); })) {
    by_options.gpu_bind = GpuBind::none;
    TRY(GpuDealer(resources, options.gpu_bind == GpuBind::rank).deal(tasks, all.tasks));
  }
  if (some_ask(tasks, [](const RoleResources& asks) { return asks.cpus > 0; })) {
    by_options.bind_to = BindTo::none;
    HostResources left = resources;
    TRY(deal_cores(tasks, left.topology, all.tasks));
    all.note = TRY(bind_rest(options, tasks, std::move(left), all.tasks));
  }
  HostBindings by_rank =
      TRY(bind_by_options(by_options, tasks, plan.hosts[agent].ranked, resources));
  if (!by_rank.note.empty()) all.note = by_rank.note;
  TRY(check_memory(tasks, resources.memory_bytes));
  for (size_t i = 0; i < tasks.size(); ++i) {
    Binding& binding = all.tasks[i];
    if (binding.cpus.empty()) binding.cpus = std::move(by_rank.tasks[i].cpus);
    if (by_rank.tasks[i].gpus) {
      binding.gpus = std::move(by_rank.tasks[i].gpus);
      binding.environment = std::move(by_rank.tasks[i].environment);
    }
    if (resources.limits_memory) binding.memory_max = tasks[i].asks().memory_bytes;
  }
  return all;
}

std::vector<std::string> memory_warnings(const Plan& plan, const std::vector<Host>& hosts,
                                         const std::vector<HostResources>& resources) {
  std::vector<std::string> without;
  for (const PlannedHost& planned : plan.hosts) {
    const auto at = std::ranges::find_if(
        hosts, [&planned](const Host& host) { return host.same_as(planned.host); });
    const auto index = static_cast<size_t>(at - hosts.begin());
    if (index >= resources.size() || resources[index].limits_memory) continue;
    const auto roles = plan.roles_on(planned);
    const bool asks = std::ranges::any_of(
        roles, [](const Role* role) { return role->resources.memory_bytes > 0; });
    if (asks) without.push_back(planned.host.name);
  }
  if (without.empty()) return {};
  return {
      format("{}: dtrain may not limit the memory of tasks there, which needs a cgroup of "
             "version 2 with the memory controller; the tasks run without --role-memory",
             some_of(without))};
}

}  // namespace dt
