// ssh_config and the output of `ssh -G`: any text parses to a host's settings, or to a readable
// error.

#include "launcher/ssh/config/ssh_config.h"

#include "tests/fuzz/fuzz.h"

namespace dt {
namespace {

SshWorld world_of(std::string_view text) {
  return {.read = [text](const std::string& path, bool) -> Result<std::string> {
            if (path == "/etc/ssh/ssh_config") return fail(Errc::not_found, "No such file");
            return std::string(text);
          },
          .glob =
              [](const std::string& pattern) {
                return std::vector<std::string>(pattern.size() % 3, pattern);
              },
          .environment = [](const std::string& name) -> std::optional<std::string> {
            if (name.size() % 2 == 0) return std::nullopt;
            return "value";
          },
          .home_of = [](const std::string& user) -> std::optional<std::string> {
            if (user.size() % 2 == 0) return std::nullopt;
            return "/home/" + user;
          }};
}

void check(const Result<SshSettings>& settings) {
  if (!settings) return check_message(settings.error());
  assert(settings->port >= 1 && settings->port <= 65535);
  assert(!settings->user.empty());
  assert(settings->connect_timeout_s.value_or(1) > 0);
  assert(settings->proxy_jump.empty() || settings->proxy_command.empty());
  for (const auto* listed : {&settings->needs_ssh_g, &settings->needs_openssh}) {
    for (const SshDirective& directive : *listed)
      check_message({Errc::input, directive.text()});
  }
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  const SshRequest request = {.host = "node1",
                              .local_user = "me",
                              .home = "/home/me",
                              .local_uid = 1000,
                              .local_host = "desk.example.org"};
  const SshWorld world = world_of(as_text(bytes));
  const Result<SshSettings> read = read_ssh_config(request, world);
  check(read);
  const std::string answer = "hostname node1\nport 22\nuser me\n" + std::string(as_text(bytes));
  for (const std::string_view text : {as_text(bytes), std::string_view(answer)})
    check(parse_ssh_g(text, request, world, read ? *read : SshSettings()));
}

}  // namespace dt
