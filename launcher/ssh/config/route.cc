#include "launcher/ssh/config/route.h"

#include "base/format.h"

namespace dt {

namespace {

using By = SshRoute::By;

SshRoute by_client(const SshRouteFacts& facts, std::string why) {
  return {facts.own_key_exchange ? By::openssh_plain : By::openssh, std::move(why)};
}

}  // namespace

Result<SshRoute> choose_ssh_route(const SshRouteFacts& facts) {
  if (facts.asked == SshImplementation::openssh) return by_client(facts, "--ssh openssh");
  for (const std::string* reason :
       {&facts.library_missing, &facts.configuration, &facts.known_hosts, &facts.credentials}) {
    if (reason->empty()) continue;
    if (facts.asked == SshImplementation::automatic) return by_client(facts, *reason);
    return fail(Errc::unsupported,
                format("--ssh libssh2 cannot reach it: {}; use --ssh auto or openssh", *reason));
  }
  return SshRoute{By::libssh2, facts.library};
}

std::optional<SshRoute> next_ssh_try(const SshRouteFacts& facts, const SshTryEnd& end) {
  if (end.elsewhere && end.by == By::libssh2 && facts.asked == SshImplementation::automatic) {
    return by_client(facts, end.why);
  }
  if (end.elsewhere && end.by == By::openssh) return SshRoute{By::openssh_plain, end.why};
  if (end.again) return SshRoute{end.by, end.why};
  return std::nullopt;
}

}  // namespace dt
