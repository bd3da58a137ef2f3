#include "launcher/connect/remote_hosts.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/ssh/config/expand.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dt {

namespace {

/// The user's facts as ssh takes them: from the user database, not from HOME and USER.
SshRequest request_of_user(const LoginOptions& login) {
  SshRequest request;
  request.local_uid = getuid();
  if (const passwd* const entry =
          getpwuid(getuid())) {  // NOLINT(concurrency-mt-unsafe): one thread
    request.local_user = entry->pw_name;
    request.home = entry->pw_dir;
  }
  request.local_host = own_host_name();
  request.port = login.port;
  if (login.identity) request.identity_files = {*login.identity};
  request.config_file = login.config;
  return request;
}

std::string first_of(const std::vector<SshDirective>& directives) {
  return directives.empty() ? "" : directives.front().text();
}

}  // namespace

RemoteHosts::RemoteHosts(Loop& loop, Log& log, Options options, std::unique_ptr<Resolver> resolver)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      user_(request_of_user(options_.login)),
      keyring_(loop, world_),
      resolver_(std::move(resolver)),
      limiter_(loop, options_.login.parallel) {
}

Result<std::unique_ptr<RemoteHosts>> RemoteHosts::create(Loop& loop, Log& log, Options options) {
  ignore_openssl_config();
  const SshLibrary library = ssh_library();
  if (options.login.implementation == SshImplementation::libssh2 && !library.present) {
    return fail(Errc::input, format("--ssh libssh2: {}; use --ssh openssh", library.text));
  }
  auto resolver = TRY(Resolver::create(loop));
  std::unique_ptr<RemoteHosts> hosts(
      new RemoteHosts(loop, log, std::move(options), std::move(resolver)));
  hosts->choose_program();
  hosts->drop_missing_identity();
  return hosts;
}

/// Keeps the scheduler's program only where it is used.
void RemoteHosts::choose_program() {
  LoginOptions& login = options_.login;
  if (login.scheduler_program.empty()) return;
  if (login.implementation == SshImplementation::automatic && login.program.empty()) {
    if (has_client(login.scheduler_program)) {
      login.program = {login.scheduler_program};
      return;
    }
    log_.print("{} is not in PATH, so that agents start over ssh", login.scheduler_program);
  }
  login.scheduler_program.clear();
}

/// As ssh does, warns of a key file that does not exist, and uses the user's other keys.
void RemoteHosts::drop_missing_identity() {
  std::erase_if(user_.identity_files, [this](const std::string& path) {
    const SshExpansion expanded = expand_tilde(path, user_, world_);
    if (::access(expanded.text.c_str(), F_OK) == 0) return false;
    log_.warn("--ssh-identity-file {}: {}; the other keys are tried", printable(path),
              errno_text(errno));
    return true;
  });
}

SshRequest RemoteHosts::request(const Host& host) const {
  SshRequest request = user_;
  request.host = host.name;
  if (!host.user.empty()) request.user = host.user;
  return request;
}

SshRouteFacts RemoteHosts::route_facts(const SshSettings& settings) {
  const SshLibrary library = ssh_library();
  SshRouteFacts facts = {.asked = login().implementation,
                         .library = library.text,
                         .library_missing = library.present ? "" : library.text,
                         .configuration = first_of(settings.needs_openssh),
                         .own_key_exchange = std::ranges::any_of(
                             settings.needs_openssh, [](const SshDirective& directive) {
                               return directive.name == "kexalgorithms";
                             })};
  if (facts.asked == SshImplementation::openssh || !library.present) return facts;
  facts.known_hosts = keyring_.known_host(settings).needs_openssh();
  facts.credentials = keyring_.needs_openssh(settings);
  return facts;
}

}  // namespace dt
