#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/placement_options.h"
#include "launcher/config/restarts/restart_options.h"
#include "launcher/config/role.h"
#include "launcher/plan/job_shape.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A process of the job, and where it runs. Ranks and sizes count ranked tasks only; -1: no rank.
struct Task {
  TaskId id;
  int rank = -1;
  int local_rank = -1;
  int cross_rank = -1;
  int cross_size = 0;        ///< hosts that have this local rank
  int agent = 0;             ///< index into Plan::hosts
  uint32_t local_index = 0;  ///< index into its host's tasks; StreamId contains it
  bool operator==(const Task&) const = default;
};

/// A host of a job, and its tasks. Its index in Plan::hosts is its agent's number.
struct PlannedHost {
  Host host;
  std::vector<size_t> tasks = {};  ///< indices into Plan::tasks, in the order of the launch
  int ranked = 0;                  ///< number of tasks with a rank; these come first
  int task_count() const { return static_cast<int>(tasks.size()); }
  bool operator==(const PlannedHost&) const = default;
};

/// A cluster whose layout the user gave. The plan has only the tasks of this machine; their ranks
/// and sizes count the whole cluster.
struct ExternalLayout {
  ClusterSpec cluster;
  size_t tasks_elsewhere = 0;       ///< tasks that other launchers start
  JobShape shape = {};              ///< of all tasks; node_of_host has only this machine
  std::string rank_0_address = {};  ///< "host:port"; empty without ranks
  bool operator==(const ExternalLayout&) const = default;
};

/// Which task runs on which host. A value: made once, compared, printed.
struct Plan {
  std::vector<PlannedHost> hosts;  ///< index = agent number; spares, without tasks, are the last
  std::vector<Task> tasks;         ///< in rank order, then tasks without rank
  std::vector<Role> roles;         ///< of the tasks, in their order; all counts known
  int world_size = 0;
  std::optional<ExternalLayout> external_layout = {};  ///< none: agents choose the ports

  /// Appends a task, and its index to its host. Requires that hosts[task.agent] exists.
  void add(Task task);
  /// Returns the number of ranks on the task's host.
  int local_size(const Task& task) const { return hosts[static_cast<size_t>(task.agent)].ranked; }
  /// True when other launchers start some of the job's tasks: this launcher has no connection to
  /// these.
  bool is_partial() const { return external_layout && external_layout->tasks_elsewhere > 0; }
  /// Returns the job's roles that have tasks in this plan.
  std::vector<const Role*> roles_here() const;
  /// Returns the roles that have tasks on this host, in the same order.
  std::vector<const Role*> roles_on(const PlannedHost& host) const;
  /// Returns the number of hosts that have tasks.
  size_t host_count() const;
  /// Returns the digits of the highest rank: the width of NN in rank.NN.
  int rank_digits() const;
  bool operator==(const Plan&) const = default;
};

/// Returns the hosts by their agents' numbers.
std::vector<Host> hosts_of(const Plan& plan);

/// Sorts roles by the order of their ranks: chief or master, worker, other ranked roles, the rest.
/// The ranks of a role are consecutive.
std::vector<Role> in_rank_order(std::vector<Role> roles);
/// Sets cross_rank and cross_size of all tasks. Requires that the plan is otherwise complete.
void number_across_hosts(Plan& plan);

struct PlanRequest {
  std::vector<Host> hosts;             ///< slots all known (> 0)
  std::vector<Host> spares = {};       ///< get no tasks now
  bool keep_idle_hosts = false;        ///< hosts that need no tasks are spares, too
  std::vector<Role> roles = {Role()};  ///< RunConfig::roles; their hosts are some of `hosts`
  bool oversubscribe = false;          ///< allow more processes than slots
  /// None: by slot, but by node among hosts whose slots the user did not give.
  std::optional<MapBy> map_by = {};
  MapBy rank_by = MapBy::slot;
  std::string allocation = {};         ///< whose hosts these are: "Slurm job 21"
  std::vector<bool> slots_found = {};  ///< by host: the user did not give them; empty: all given
  /// The ranked role gets as many tasks as needed_ranks() allows; none: its own count.
  std::optional<JobSize> size = {};
  bool is_first = true;  ///< no generation has run yet
};

/// Assigns the processes to the hosts by map_by, in the given order, then ranks to the processes by
/// rank_by. Fails with Errc::input when the hosts have too few slots.
///
/// A role with its own hosts is placed first, and only on these. The other roles share the rest. So
/// rank 0 is on the first host, unless its role has its own hosts. Ranks count through Plan::roles:
/// chief or master, the workers, other ranked roles. Local ranks have the same order. A host
/// without a task is left out, or is a spare before the given ones.
///
/// With more processes than slots (`oversubscribe`), each host's share is in proportion to its
/// slots, and never less than these. Rounding leaves a rest, which goes to the largest remainders;
/// of equal ones, to the host named first. So hosts with equal slots get equal blocks. A host gets
/// at most max_slots. The rest of its share goes to the other hosts in the same way.
Result<Plan> make_plan(const PlanRequest& request);

}  // namespace dt
