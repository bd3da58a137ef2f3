#include "launcher/config/role.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/placement_options.h"
#include "rendezvous/cluster/task.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace dt {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_role_letter(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Result<Role> parse_role(std::string_view text, std::string_view origin) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(Errc::input, format("{}: expected NAME=COUNT or NAME=COUNT@HOSTS, got \"{}\"",
                                    origin, printable(text)));
  }
  const std::string_view name = text.substr(0, equals);
  TRY(check_role_name(name, origin));
  const std::optional<int64_t> count = parse_integer(text.substr(equals + 1));
  if (!count || *count < 1 || *count > processes_max) {
    return fail(Errc::input, format("{}: role {}: expected 1..{} tasks, got \"{}\"", origin, name,
                                    processes_max, printable(text.substr(equals + 1))));
  }
  return Role{
      .name = std::string(name), .count = static_cast<int>(*count), .ranked = is_ranked(name)};
}

int count_of(const std::vector<Role>& roles, std::string_view name) {
  const Role* role = find_role(roles, name);
  return role == nullptr ? 0 : role->count;
}

/// True for "a,worker=1@b". Names of hosts contain no equals sign, but paths of hostfiles may.
bool another_role_follows(std::string_view hosts) {
  return std::ranges::any_of(split(hosts, ','), [](std::string_view entry) {
    return !entry.starts_with('@') && entry.find('=') != std::string_view::npos;
  });
}

}  // namespace

Result<> check_role_name(std::string_view name, std::string_view origin) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::input, format("{}: role \"{}\": {}", origin, printable(name), why));
  };
  if (name.size() > role_bytes_max) {
    return refuse(
        format("a name of {} bytes is too long; at most {}", name.size(), role_bytes_max));
  }
  if (name.empty() || !is_letter(name.front()) || !std::ranges::all_of(name, is_role_letter)) {
    return refuse("a name is made of letters, digits, - and _, a letter first");
  }
  // A role named rank would share the folder rank.0 with the output of rank 0.
  if (name == launcher_role || name == "rank") {
    return refuse("dtrain uses this name itself; give the role another one");
  }
  return {};
}

std::vector<Role> workers(int count) {
  return {{.name = "worker", .count = count}};
}

bool is_ranked(std::string_view role) {
  return role == "chief" || role == "master" || role == "worker";
}

int task_count(const std::vector<Role>& roles) {
  return std::accumulate(roles.begin(), roles.end(), 0,
                         [](int sum, const Role& role) { return sum + role.count; });
}

int ranked_count(const std::vector<Role>& roles) {
  return std::accumulate(roles.begin(), roles.end(), 0, [](int sum, const Role& role) {
    return sum + (role.ranked ? role.count : 0);
  });
}

int unranked_count(const std::vector<Role>& roles) {
  return task_count(roles) - ranked_count(roles);
}

std::string roles_text(const std::vector<Role>& roles) {
  std::vector<std::string> words;
  for (const Role& role : roles)
    words.push_back(format("{}={}", role.name, role.count));
  return join(words, ", ");
}

std::string restarts_text(const Role& role) {
  const std::string number = role.restarts == restarts_unlimited ? "" : format("{}", role.restarts);
  const std::string_view word = role.restarts_always ? "always"
                                : number.empty()     ? "on-failure"
                                                     : "";
  return format("--restart-role {}={}{}{}", role.name, word,
                word.empty() || number.empty() ? "" : ":", number);
}

const Role* find_role(const std::vector<Role>& roles, std::string_view name) {
  const auto found = std::ranges::find(roles, name, &Role::name);
  return found == roles.end() ? nullptr : &*found;
}

Result<std::vector<Role>> parse_roles(std::string_view text, std::string_view origin,
                                      const TextReader& read_text,
                                      std::vector<std::string>& warnings) {
  std::vector<Role> roles;
  const size_t at = text.find('@');
  for (const std::string_view one : split(text.substr(0, at), ',')) {
    Role role = TRY(parse_role(trim(one), origin));
    roles.push_back(std::move(role));
  }
  if (at == std::string_view::npos) return roles;
  const std::string_view hosts = text.substr(at + 1);
  // "a=1@h1,b=2" is ambiguous: the comma may separate hosts or roles.
  if (roles.size() > 1 || another_role_follows(hosts)) {
    return fail(Errc::input, format("{}: role {} has hosts, whose list has commas too; give each "
                                    "role by a --role of its own",
                                    origin, roles.back().name));
  }
  HostList list = TRY(parse_host_list(hosts, origin, read_text));
  roles.front().hosts = std::move(list.hosts);
  std::ranges::move(list.warnings, std::back_inserter(warnings));
  return roles;
}

Result<> check_roles(const std::vector<Role>& roles, std::string_view origin) {
  const auto refuse = [origin](const std::string& why) {
    return fail(Errc::input, format("{}: {}", origin, why));
  };
  int64_t all = 0;
  for (const Role& role : roles) {
    if (find_role(roles, role.name) != &role)
      return refuse(format("role {} is given twice; write its number of tasks once", role.name));
    all += role.count;
  }
  if (all > processes_max) return refuse(format("{} tasks; at most {}", all, processes_max));
  const int chiefs = count_of(roles, "chief");
  const int masters = count_of(roles, "master");
  if (chiefs + masters > 1) {
    return refuse(chiefs > 1    ? format("chief={}: a job has one chief; use chief=1", chiefs)
                  : masters > 1 ? format("master={}: a job has one master; use master=1", masters)
                                : "chief and master: each leads the job; use one of them");
  }
  if (count_of(roles, "ps") > 0 && count_of(roles, "worker") + chiefs + masters == 0) {
    return refuse(
        format("ps={}: parameter servers without worker have nobody to serve; add "
               "--role worker=N",
               count_of(roles, "ps")));
  }
  if (std::ranges::none_of(roles, &Role::ranked)) {
    return refuse(
        format("no task has a rank ({}); add --role worker=N, or give ranks by "
               "--role-ranked {}",
               roles_text(roles), roles.front().name));
  }
  return {};
}

}  // namespace dt
