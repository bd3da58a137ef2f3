#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/keyword.h"
#include "launcher/ssh/config/options.h"
#include "launcher/ssh/config/ssh_config.h"

#include <algorithm>
#include <array>

namespace dt {
namespace {

/// ssh -G prints these even when no file sets them.
constexpr std::array<std::string_view, 6> always_shown = {
    "ciphers", "hostbasedacceptedalgorithms", "hostkeyalgorithms", "kexalgorithms",
    "macs",    "pubkeyacceptedalgorithms"};

bool is_always_shown(std::string_view name) {
  return std::ranges::find(always_shown, name) != always_shown.end();
}

/// Stores the paths of a known_hosts option. `ssh -G` joins them with blanks and quotes nothing, so
/// several words may be one path. A path that is split wrongly would make a changed key look new.
/// So only the paths that the reader has found in the files are used; else the ssh program decides.
void take_files(SshOptions& options, const std::string& name, const std::string& value,
                const std::vector<std::string>& read) {
  SshOption option = {{value}, "ssh -G"};
  if (value == join(read, " ")) {
    option.words = read;
  } else if (value.find_first_of(" \t") != std::string::npos) {
    options.needs_openssh.push_back({name + " with a blank", option.place});
  }
  options.first.try_emplace(name, std::move(option));
}

void take_line(SshOptions& options, std::string_view line, const SshSettings& read) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank + 1 == line.size()) return;
  const std::string_view name = line.substr(0, blank);
  const std::string value(line.substr(blank + 1));
  const SshKeyword* const keyword = find_ssh_keyword(name);
  if (keyword == nullptr || keyword->use == SshUse::ignored || is_always_shown(name)) return;
  if (keyword->use == SshUse::session) {
    options.session.emplace(name);
    return;
  }
  SshOption option = {{value}, "ssh -G"};
  if (keyword->use == SshUse::collected) {
    options.collected[std::string(name)].push_back(std::move(option));
    return;
  }
  if (name == "userknownhostsfile") {
    return take_files(options, std::string(name), value, read.user_known_hosts_files);
  }
  if (name == "globalknownhostsfile") {
    return take_files(options, std::string(name), value, read.global_known_hosts_files);
  }
  options.first.try_emplace(std::string(name), std::move(option));
}

}  // namespace

std::vector<std::string> ssh_g_command(const SshRequest& request) {
  std::vector<std::string> command = {"ssh", "-G"};
  const auto add = [&command](std::string option, std::string value) {
    command.push_back(std::move(option));
    command.push_back(std::move(value));
  };
  if (request.config_file) add("-F", *request.config_file);
  if (request.port) add("-p", format("{}", *request.port));
  if (request.user) add("-l", *request.user);
  for (const std::string& path : request.identity_files)
    add("-i", path);
  add("--", request.host);
  return command;
}

Result<SshSettings> parse_ssh_g(std::string_view output, const SshRequest& request,
                                const SshWorld& world, const SshSettings& read) {
  SshOptions options;
  for (const std::string_view line : split(output, '\n'))
    take_line(options, line, read);
  const int64_t port = parse_integer(options.word("port")).value_or(0);
  if (options.word("hostname").empty() || port < 1 || port > 65535) {
    return fail(Errc::protocol, format("ssh -G printed nothing about {}: {}",
                                       printable(request.host), printable(output)));
  }
  // ssh -G has resolved canonicalization and Match. For the lists above it prints its defaults,
  // too, so the reader's result decides.
  std::ranges::copy_if(
      read.needs_openssh, std::back_inserter(options.needs_openssh),
      [](const SshDirective& directive) { return is_always_shown(directive.name); });
  SshSettings settings =
      TRY(make_ssh_settings(std::move(options), request, world, SshResolved::yes));
  settings.needs_ssh_g.clear();
  return settings;
}

}  // namespace dt
