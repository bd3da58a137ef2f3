#include "launcher/ssh/openssh.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"
#include "launcher/ssh/login.h"

#include <algorithm>

namespace dt {

namespace {

/// Returns the login as a person would type it.
std::string login_of(const SshRequest& request) {
  return request.user ? *request.user + "@" + request.host : request.host;
}

/// A directive of ssh_config that changes the client's session, and the option that undoes it.
struct SessionChange {
  std::string_view directive;
  const char* undo;
};
constexpr SessionChange session_changes[] = {
    {"forkafterauthentication", "ForkAfterAuthentication=no"},
    {"remotecommand", "RemoteCommand=none"},
    {"sessiontype", "SessionType=default"},
    {"stdinnull", "StdinNull=no"},
};

/// A text in the client's stderr, and its remedy. The first row that fits counts.
struct Meaning {
  std::string_view text;
  std::string_view remedy = {};  ///< empty: the line needs no remedy
  bool again = false;
  bool refused = false;
  bool too_old = false;
  bool unknown_name = false;
};
constexpr Meaning meanings[] = {
    {"jumphost loop via", "give the jump host a Host block with ProxyJump none"},
    {"Too many authentication failures", "give the right key with --ssh-identity-file"},
    {.text = "Temporary failure in name resolution", .again = true},
    {.text = "Could not resolve hostname", .unknown_name = true},
    {"Bad configuration option"},
    {.text = "Bad SSH2 KexAlgorithms", .too_old = true},
    {"Connection refused", "is sshd running there?", true, true},
    {"Connection timed out", "is the host up, and its port open?", true},
    {"No route to host", "is the host up?", true},
    {"Network is unreachable", "is the host up?", true},
    {"kex_exchange_identification",
     "the log of its sshd has the reason (MaxStartups, hosts.deny, …)", true},
    {.text = "Connection reset", .again = true},
    {.text = "Connection closed", .again = true},
};

/// True for the lines that -v adds, and for the frames of warnings.
bool is_chatter(std::string_view line) {
  constexpr std::string_view fronts[] = {
      "debug1: ", "debug2: ",          "debug3: ",      "OpenSSH_",
      "@@@@",     "Authenticated to ", "Transferred: ", "Bytes per second: "};
  return std::ranges::any_of(fronts,
                             [line](std::string_view front) { return line.starts_with(front); });
}

/// "Offering public key: PATH TYPE SHA256:… [agent]"
std::string offered_key(std::string_view offer) {
  const size_t digest = offer.find(" SHA256:");
  if (digest == std::string_view::npos) return printable(offer);
  const bool agent = offer.ends_with(" agent");
  offer = offer.substr(0, digest);
  const size_t type = offer.rfind(' ');
  if (type == std::string_view::npos) return printable(offer);
  return format("{} from {}", lower_case(offer.substr(type + 1)),
                agent ? "ssh-agent" : printable(offer.substr(0, type)));
}

bool contains(const ClientOutput& output, std::string_view what) {
  return std::ranges::any_of(output.lines, [what](std::string_view line) {
    return line.find(what) != std::string_view::npos;
  });
}

/// Returns the message for a host key that the client refused. None when it did not refuse it, or
/// did so for a reason that only the client knows.
std::optional<std::string> host_key_failure(const ClientContext& context,
                                            const ClientOutput& output) {
  if (output.host_key.fingerprint.empty() || !contains(output, "Host key verification failed")) {
    return std::nullopt;
  }
  // The files as dtrain reads them may accept the key; then only the client knows why it refused.
  const HostKeyVerdict verdict = context.known.verdict(output.host_key);
  if (verdict.kind == HostKeyVerdict::Kind::known) return std::nullopt;
  return refused_host_key_message(verdict, context.known, output.host_key, context.request);
}

}  // namespace

std::vector<std::string> ssh_command(const SshRequest& request, const ClientOptions& options,
                                     const std::string& command) {
  std::vector<std::string> arguments = {"ssh"};
  const auto add = [&arguments](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more);
  };
  const auto timeout_s = std::max<int64_t>(
      1, std::chrono::ceil<std::chrono::seconds>(options.connect_timeout).count());
  add({"-v", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", format("ConnectTimeout={}", timeout_s),
       "-o", "ClearAllForwardings=yes"});
  for (const SessionChange& change : session_changes) {
    if (options.session_changes.contains(change.directive)) add({"-o", change.undo});
  }
  if (options.curve25519_first) {
    add({"-o", "KexAlgorithms=^curve25519-sha256,curve25519-sha256@libssh.org"});
  }
  if (request.config_file) add({"-F", *request.config_file});
  if (request.port) add({"-p", format("{}", *request.port)});
  for (const std::string& path : request.identity_files)
    add({"-i", path});
  add({"--", login_of(request), command});
  return arguments;
}

std::vector<std::string> rsh_command(const std::vector<std::string>& program,
                                     const SshRequest& request) {
  std::vector<std::string> arguments = program;
  if (request.user) arguments.insert(arguments.end(), {"-l", *request.user});
  arguments.insert(arguments.end(), {request.host, "/bin/sh"});
  return arguments;
}

std::string copy_id_arguments(const SshRequest& request) {
  std::string arguments;
  for (const std::string& path : request.identity_files)
    arguments += format("-i {} ", shell_quote(path));
  if (request.port) arguments += format("-p {} ", *request.port);
  return arguments + login_of(request);
}

ClientOutput parse_client_output(std::string_view messages) {
  ClientOutput output;
  const auto after = [](std::string_view line, std::string_view front) {
    return line.starts_with(front) ? std::optional(line.substr(front.size())) : std::nullopt;
  };
  for (std::string_view line : split(messages, '\n')) {
    line = trim(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto key = after(line, "debug1: Server host key: ")) {
      const size_t blank = std::min(key->find(' '), key->size() - 1);
      output.host_key = {std::string(key->substr(0, blank)), printable(key->substr(blank + 1))};
    } else if (const auto offered = after(line, "debug1: Offering public key: ")) {
      output.tried.push_back(offered_key(*offered));
    } else if (!line.empty() && !is_chatter(line)) {
      output.lines.push_back(line);
    }
  }
  return output;
}

ClientFailure client_failure(const ClientContext& context, std::string_view messages,
                             std::string_view how_it_ended) {
  const ClientOutput output = parse_client_output(messages);
  if (auto refused = host_key_failure(context, output)) return {.text = *std::move(refused)};
  if (contains(output, "Permission denied (")) {
    return {.text = login_refused_text(copy_id_arguments(context.request), output.tried,
                                       context.key_problems)};
  }
  for (const Meaning& meaning : meanings) {
    const auto line = std::ranges::find_if(output.lines, [&meaning](std::string_view text) {
      return text.find(meaning.text) != std::string_view::npos;
    });
    if (line == output.lines.end()) continue;
    return {.text = meaning.remedy.empty()
                        ? printable(*line, 300)
                        : format("{}; {}", printable(*line, 300), meaning.remedy),
            .again = meaning.again,
            .refused = meaning.refused,
            .unknown_name = meaning.unknown_name,
            .too_old = meaning.too_old};
  }
  if (output.lines.empty()) return {.text = std::string(how_it_ended)};
  return {.text = format("{} ({})", printable(output.lines.back(), 300), how_it_ended)};
}

}  // namespace dt
