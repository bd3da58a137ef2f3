#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A group of equal tasks of a job: what -np or --role, --role-command, --role-env and
/// --role-ranked say of it.
struct Role {
  std::string name = "worker";
  int count = 0;                          ///< 0: one for each slot; a job's only role may say so
  std::vector<Host> hosts = {};           ///< its tasks run on these alone; empty: on all
  std::vector<std::string> command = {};  ///< empty: the job's
  Environment environment = {};           ///< over what travels to all, under what dtrain sets
  bool ranked = true;                     ///< its tasks have ranks
  bool operator==(const Role&) const = default;
};

/// What -np N stands for: one role, of workers.
std::vector<Role> workers(int count);

/// Refuses a name that cannot stand in tags, folders, variables and TensorFlow's names of devices.
/// `origin` names the place in errors.
Result<> check_role_name(std::string_view name, std::string_view origin);

/// Whether tasks of this role have ranks unless it is said: those that train.
bool is_ranked(std::string_view role);

/// How many tasks these are together; 0: as many as there are slots.
int task_count(const std::vector<Role>& roles);
/// Those that have ranks, likewise.
int ranked_count(const std::vector<Role>& roles);

/// "chief=1, ps=2, worker=4".
std::string roles_text(const std::vector<Role>& roles);

const Role* find_role(const std::vector<Role>& roles, std::string_view name);

/// Roles as --role writes them: NAME=COUNT@HOSTS, or several NAME=COUNT with commas between.
/// `origin` names the place in errors; what the hosts are worth a warning goes to `warnings`.
Result<std::vector<Role>> parse_roles(std::string_view text, std::string_view origin,
                                      const TextReader& read_text,
                                      std::vector<std::string>& warnings);

/// Why these roles make no job: one twice, two chiefs, ps that nobody trains with, no ranks.
Result<> check_roles(const std::vector<Role>& roles, std::string_view origin);

}  // namespace dt
