#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/placement_options.h"
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

/// A process and its place. Ranks and sizes are over ranked tasks; -1: it has none.
struct Task {
  TaskId id;
  int rank = -1;
  int local_rank = -1;
  int cross_rank = -1;
  int cross_size = 0;        ///< hosts that have this local rank
  int agent = 0;             ///< index into Plan::hosts
  uint32_t local_index = 0;  ///< index into its host's tasks; its streams are named by it
  bool operator==(const Task&) const = default;
};

/// A host that takes part, with its place in the agents' order.
struct PlannedHost {
  Host host;
  std::vector<size_t> tasks = {};  ///< indices into Plan::tasks, in the order of its launch
  int ranked = 0;                  ///< how many of them have a rank; they are the first
  int task_count() const { return static_cast<int>(tasks.size()); }
  bool operator==(const PlannedHost&) const = default;
};

/// A cluster that somebody else has laid out, of which a plan has the tasks of this machine. Their
/// ranks and sizes are those in all of it.
struct ExternalLayout {
  ClusterSpec cluster;
  size_t elsewhere = 0;            ///< tasks that others start
  JobShape shape = {};             ///< of all tasks; its one node is this machine
  std::string first_address = {};  ///< rank 0's "host:port"; empty without ranks
  bool operator==(const ExternalLayout&) const = default;
};

/// Who runs where. A value: made once, compared, printed.
struct Plan {
  std::vector<PlannedHost> hosts;  ///< index = agent number
  std::vector<Task> tasks;         ///< in rank order; tasks without rank after them
  std::vector<Role> roles;         ///< of the tasks, in their order; all counts known
  int world_size = 0;
  std::optional<ExternalLayout> external_layout = {};  ///< none: agents choose the ports

  /// Appends a task, also to those of its host, which must be there.
  void add(Task task);
  /// Ranks on its host.
  int local_size(const Task& task) const { return hosts[static_cast<size_t>(task.agent)].ranked; }
  /// Whether others start some of the job's tasks, which nobody here can speak with.
  bool is_partial() const { return external_layout && external_layout->elsewhere > 0; }
  /// Of the job's roles those that have tasks here.
  std::vector<const Role*> roles_here() const;
  /// Those that have tasks on one of its hosts, in the same order.
  std::vector<const Role*> roles_on(const PlannedHost& host) const;
  /// Digits of the highest rank: how wide NN is in rank.NN.
  int rank_digits() const;
  bool operator==(const Plan&) const = default;
};

/// In the order of their ranks; a role is ranked as a whole.
std::vector<Role> in_rank_order(std::vector<Role> roles);
/// Numbers the hosts that share a local rank, once all tasks are there.
void number_across_hosts(Plan& plan);

struct PlanRequest {
  std::vector<Host> hosts;             ///< slots all known (> 0)
  std::vector<Role> roles = {Role()};  ///< as RunConfig::roles; their hosts are some of `hosts`
  bool oversubscribe = false;          ///< more processes than slots, in equal blocks a host
  MapBy map_by = MapBy::slot;
  MapBy rank_by = MapBy::slot;
};

/// Deals the processes to the hosts by map_by, in the order given, then the ranks to the processes
/// by rank_by. A role with hosts of its own is placed first, on those alone; the others share what
/// is left, so that rank 0 is on the first host unless its role says otherwise. Ranks count through
/// the roles in Plan::roles' order: chief or master, the workers, other ranked roles; a host's
/// local ranks follow its ranks. A host that gets no task is left out. With more processes than
/// slots and `oversubscribe`, every host gets its share of the processes in proportion to its slots
/// (never fewer than its slots), and what rounding leaves over goes to the largest remainders, the
/// first named first: hosts of equal slots get equal blocks. A host takes max_slots at most; what
/// it would have had above them goes to the others in the same way.
Result<Plan> make_plan(const PlanRequest& request);

}  // namespace dt
