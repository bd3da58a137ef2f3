#pragma once

#include "base/format.h"
#include "launcher/ssh/config/ssh_config.h"
#include "tests/unit/run_program.h"

#include <pwd.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// Returns all settings of a host in one text. It contains the places of needs_ssh_g, but only the
/// names of needs_openssh: `ssh -G` prints no places.
inline std::string shown(const SshSettings& settings) {
  std::set<std::string> names;
  for (const SshDirective& directive : settings.needs_openssh)
    names.insert(directive.name);
  const std::vector<std::string> openssh(names.begin(), names.end());
  std::vector<std::string> needs_ssh_g;
  for (const SshDirective& directive : settings.needs_ssh_g)
    needs_ssh_g.push_back(directive.text());
  return format(
      "{}@{}:{}\nidentities [{}]{}{}\ncertificates [{}]\nagent {}\njump [{}] command [{}]\n"
      "known [{}] [{}]\nchecking {} alias [{}] hash {}\ntimeout {} bind [{}] family {} gssapi {}\n"
      "openssh [{}]\nbeyond [{}]\n",
      settings.user, settings.host_name, settings.port, join(settings.identity_files, " "),
      settings.identities_given ? " given" : "", settings.identities_only ? " only" : "",
      join(settings.certificate_files, " "), settings.identity_agent.value_or("(none)"),
      settings.proxy_jump, settings.proxy_command, join(settings.user_known_hosts_files, " "),
      join(settings.global_known_hosts_files, " "), static_cast<int>(settings.host_key_checking),
      settings.host_key_alias, settings.hash_known_hosts, settings.connect_timeout_s.value_or(-1),
      settings.bind_address, static_cast<int>(settings.address_family), settings.gssapi,
      join(openssh, " "), join(needs_ssh_g, ", "));
}

inline std::string shown(const Result<SshSettings>& settings) {
  return settings ? shown(*settings) : settings.error().message;
}

/// Files by their paths, for a user "me" with home /home/me.
struct FakeWorld {
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}, {"SOCK", "/run/agent"}};

  SshWorld world() const {
    return {.read = [this](const std::string& path, bool) -> Result<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return fail(Errc::not_found, "No such file or directory");
              return found->second;
            },
            .glob =
                [this](const std::string& pattern) {
                  std::vector<std::string> paths;
                  const size_t star = pattern.find('*');
                  for (const auto& [path, text] : files) {
                    if (path == pattern ||
                        (star != std::string::npos && path.starts_with(pattern.substr(0, star)))) {
                      paths.push_back(path);
                    }
                  }
                  return paths;
                },
            .environment = [this](const std::string& name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              if (found == variables.end()) return std::nullopt;
              return found->second;
            },
            .home_of = [](const std::string& user) -> std::optional<std::string> {
              if (user != "you") return std::nullopt;
              return "/home/you";
            }};
  }
};

inline SshRequest request_of_me(std::string host) {
  return {.host = std::move(host),
          .local_user = "me",
          .home = "/home/me",
          .local_uid = 1000,
          .local_host = "desk.example.org"};
}

/// Returns a request of the user who runs the test, as a real ssh has it.
inline SshRequest request_of_this_user(std::string host) {
  const passwd* const entry = getpwuid(getuid());
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return {.host = std::move(host),
          .local_user = entry->pw_name,
          .home = entry->pw_dir,
          .local_uid = getuid(),
          .local_host = name};
}

inline bool has_ssh() {
  return run_program({"ssh", "-V"}).status == 0;
}

}  // namespace dt
