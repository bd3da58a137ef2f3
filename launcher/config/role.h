#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/resources/role_resources.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Role::restarts without a limit.
inline constexpr int restarts_unlimited = std::numeric_limits<int>::max();

/// A group of equal tasks of a job, by -np or --role, and by --role-command, --role-env,
/// --role-ranked, --role-image, --restart-role, and --role-cpus, --role-gpus and --role-memory.
struct Role {
  std::string name = "worker";
  int count = 0;                          ///< 0: one for each slot, allowed if it is the only role
  std::vector<Host> hosts = {};           ///< the hosts of its tasks; empty: all
  std::vector<std::string> command = {};  ///< empty: the job's
  Environment environment = {};           ///< wins over forwarded variables, but not over dtrain's
  bool ranked = true;                     ///< its tasks have ranks
  int restarts = 0;                       ///< the most restarts of each task
  bool restarts_always = false;           ///< after exit status 0, too, until the job ends
  RoleResources resources = {};           ///< of each task
  std::string image = {};                 ///< of its containers, for exports; empty: the job's
  std::vector<uint16_t> ports = {};       ///< one a task, or one for each; empty: any free ones
  bool operator==(const Role&) const = default;
};

/// Returns the roles of -np N: one role, of workers.
std::vector<Role> workers(int count);

/// Fails for a name that is not valid in tags, folders, variables or TensorFlow's names of devices.
/// `origin` names the place in errors.
Result<> check_role_name(std::string_view name, std::string_view origin);

/// True when tasks of this role have ranks by default: those that train.
bool is_ranked(std::string_view role);

/// Returns the number of all tasks; 0: one for each slot.
int task_count(const std::vector<Role>& roles);
/// Returns the number of tasks with ranks; 0: one for each slot.
int ranked_count(const std::vector<Role>& roles);

/// Returns the number of tasks without ranks.
int unranked_count(const std::vector<Role>& roles);

/// Returns "chief=1, ps=2, worker=4".
std::string roles_text(const std::vector<Role>& roles);

/// Returns "--restart-role ps=always:3", the option that gives the role its restarts.
std::string restarts_text(const Role& role);

const Role* find_role(const std::vector<Role>& roles, std::string_view name);

/// Parses a value of --role: NAME=COUNT@HOSTS, or several NAME=COUNT with commas between. `origin`
/// names the place in errors; warnings about the hosts are added to `warnings`.
Result<std::vector<Role>> parse_roles(std::string_view text, std::string_view origin,
                                      const TextReader& read_text,
                                      std::vector<std::string>& warnings);

/// Fails for roles that make no job: a role twice, two chiefs, ps without workers, or no ranks.
Result<> check_roles(const std::vector<Role>& roles, std::string_view origin);

}  // namespace dt
