#include "launcher/ssh/config/ssh_config.h"
#include "tests/unit/launcher/ssh/ssh_fixture.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {
namespace {

TEST_CASE("an output of ssh -G without values is an error that shows it") {
  const FakeWorld fake;
  const SshRequest request = request_of_me("node1");
  CHECK(parse_ssh_g("usage: ssh\n", request, fake.world(), {}).error().message ==
        "ssh -G printed nothing about node1: usage: ssh\\x0A");
}

TEST_CASE("ciphers below a Match are taken to count, since ssh -G prints its defaults, too") {
  const FakeWorld fake = {{{"/home/me/.ssh/config", "Match all\n Ciphers aes128-ctr\n"}}};
  const SshRequest request = request_of_me("node1");
  const SshSettings read = read_ssh_config(request, fake.world()).value();
  REQUIRE(read.needs_ssh_g.size() == 1);
  const SshSettings asked =
      parse_ssh_g("hostname node1\nport 22\nciphers aes128-ctr\n", request, fake.world(), read)
          .value();
  REQUIRE(asked.needs_openssh.size() == 1);
  CHECK(asked.needs_openssh[0].text() == "/home/me/.ssh/config:2: ciphers");
  CHECK(asked.needs_ssh_g.empty());
}

TEST_CASE("known_hosts files that ssh -G shows with blanks are those of the reader, or ssh's") {
  struct Case {
    std::string config;
    std::string shown;  ///< by ssh -G
    std::vector<std::string> user = {};
    std::vector<std::string> global = {};
    std::string needs = {};
  };
  const std::string defaults = "/home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2";
  const std::string user = "userknownhostsfile ";
  const std::string global = "globalknownhostsfile ";
  const Case cases[] = {
      {"", user + defaults, {"/home/me/.ssh/known_hosts", "/home/me/.ssh/known_hosts2"}},
      {"UserKnownHostsFile /a ~/b\n", user + "/a /home/me/b", {"/a", "/home/me/b"}},
      {"UserKnownHostsFile \"/my dir/k\" /b\n", user + "/my dir/k /b", {"/my dir/k", "/b"}},
      {"UserKnownHostsFile /b\n", user + "/b", {"/b"}},
      {"Match host node1\n UserKnownHostsFile /b\n", user + "/b", {"/b"}},
      {"Match host node1\n UserKnownHostsFile \"/my dir/k\"\n",
       user + "/my dir/k",
       {"/my dir/k"},
       {},
       "ssh -G: userknownhostsfile with a blank"},
      {"Match host node1\n UserKnownHostsFile /a /b\n",
       user + "/a /b",
       {"/a /b"},
       {},
       "ssh -G: userknownhostsfile with a blank"},
      {"GlobalKnownHostsFile \"/my dir/k\"\n", global + "/my dir/k", {}, {"/my dir/k"}},
      {"Match host node1\n GlobalKnownHostsFile \"/my dir/k\"\n",
       global + "/my dir/k",
       {},
       {"/my dir/k"},
       "ssh -G: globalknownhostsfile with a blank"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.config);
    const FakeWorld fake = {{{"/home/me/.ssh/config", c.config + "Match exec true\n"}}};
    const SshRequest request = request_of_me("node1");
    const SshSettings read = read_ssh_config(request, fake.world()).value();
    const SshSettings asked =
        parse_ssh_g("hostname node1\nport 22\n" + c.shown + "\n", request, fake.world(), read)
            .value();
    if (!c.user.empty()) CHECK(asked.user_known_hosts_files == c.user);
    if (!c.global.empty()) CHECK(asked.global_known_hosts_files == c.global);
    CHECK(asked.needs_openssh.size() == (c.needs.empty() ? 0 : 1));
    if (!asked.needs_openssh.empty()) CHECK(asked.needs_openssh[0].text() == c.needs);
  }
}

/// Runs the real ssh -G on a configuration file.
Result<SshSettings> ask_ssh(const SshRequest& request, const SshSettings& read) {
  const ProgramResult result = run_program(ssh_g_command(request));
  if (result.status != 0) return fail(Errc::input, result.error);
  return parse_ssh_g(result.output, request, this_machine_for_ssh(), read);
}

/// Checks that the reader and ssh -G agree on a file: on its settings, or on refusing it. Returns
/// false when the reader needs ssh -G.
bool check_agreement(const SshRequest& request) {
  const Result<SshSettings> read = read_ssh_config(request, this_machine_for_ssh());
  if (read && !read->needs_ssh_g.empty()) return false;
  const Result<SshSettings> asked = ask_ssh(request, read ? *read : SshSettings());
  CAPTURE(shown(read));
  CAPTURE(shown(asked));
  CHECK(read.has_value() == asked.has_value());
  if (read && asked) CHECK(shown(*read) == shown(*asked));
  return read.has_value();
}

const std::string configurations[] = {
    "",
    "Host *\n  Port 2222\n  User bob\n",
    "Host node1\n Port 1\nHost node*\n Port 2\n User two\nHost *\n User three\n",
    "Host * !node1\n Port 1\n",
    "Host !node1 *\n Port 1\n",
    "Host !other\n Port 1\n",
    "Host NODE1\n Port 1\n",
    "Host n?de1 x\n Port 1\n",
    "Host #comment\n Port 1\n",
    "Host\tnode1\t#comment\n Port 1 # two\n",
    "HostName %h.Example.ORG\n",
    "HostName 100%%\n",
    "HostName 127.1\n",
    "HostName 1\n",
    "HostName FE80::0:1\n",
    "HostName example.org.\n",
    "Port=2222\n",
    "Port = 2222\nUser =bob\nHostKeyAlias= Alias\n",
    "port \"2222\"\nUSER 'b o b'\n",
    "User b\\\"o\\\\b\\ x\\y\n",
    "User a#b\n",
    "\"User\" x\n",
    "  # nothing\n\t\n\r\nUser dos\r\n\f\n",
    "User x \f\n",
    "IdentityFile ~/.ssh/a\nIdentityFile /b\nIdentityFile ~/.ssh/a\n",
    "IdentityFile none\n",
    "IdentityFile ~/.ssh/id_ed25519\nIdentitiesOnly TRUE\n",
    "IdentityFile %d/%u/%r@%h:%p-%n-%k-%i-%l-%L-%%\nHostName other\nPort 7\nUser u\n",
    "IdentityFile ${HOME}/x\n",
    "CertificateFile ~/c\nCertificateFile %h-cert\n",
    "IdentityAgent none\n",
    "IdentityAgent SSH_AUTH_SOCK\n",
    "IdentityAgent $SOME_SOCKET_NOT_SET\n",
    "IdentityAgent ~/agent-%r\nUser z\n",
    "UserKnownHostsFile none\nGlobalKnownHostsFile NONE\n",
    "UserKnownHostsFile ~/a ${HOME}/b %d/%h-%k\nGlobalKnownHostsFile ~/a /b\n",
    "UserKnownHostsFile /a\nUserKnownHostsFile /b\n",
    "UserKnownHostsFile ~root/a\n",
    "StrictHostKeyChecking no\n",
    "StrictHostKeyChecking Off\n",
    "StrictHostKeyChecking accept-NEW\n",
    "StrictHostKeyChecking ask\n",
    "ConnectTimeout 1h2m3s\n",
    "ConnectTimeout none\nConnectTimeout 5\n",
    "ConnectTimeout 0\n",
    "ConnectTimeout 1W\n",
    "BindAddress 127.0.0.1\nBindAddress ::1\nAddressFamily Inet6\n",
    "HashKnownHosts yes\nHashKnownHosts no\nGSSAPIAuthentication yes\n",
    "ProxyJump a\n",
    "ProxyJump none\nProxyJump x\n",
    "ProxyJump none # comment\n",
    "ProxyCommand x\nProxyJump none\n",
    "ProxyJump = me@a:1,you@[::1]:22,b # comment\n",
    "ProxyJump ssh://me@hop:2022\n",
    "ProxyJump 10.0.0.1\n",
    "ProxyCommand nc \"%h\" %p # no comment\nProxyJump a\n",
    "ProxyCommand=none\n",
    "Ciphers aes128-ctr\n",
    "PubkeyAuthentication unbound\nVerifyHostKeyDNS ask\nCheckHostIP yes\n",
    "ForwardAgent yes\nRequestTTY force\nLocalForward 1234 localhost:80\nTunnel no\n",
    "Protocol 2\nUseRoaming no\nCompressionLevel 9\n",
    "IgnoreUnknown foo*\nFooBar x \"y z\"\n",
    "Ciphers \n",
    "Port x y\n",
    "Host\n",
    "Host a \"\"\n",
    "User a b\n",
    "User \"a\n",
    "IdentityFile %\n",
    "IdentityFile ${NOT_SET_ANYWHERE}\n",
    "Host zzz\nIdentityAgent ${NOT_SET_ANYWHERE}\n",
    "Host zzz\nPort 0\n",
    "Host zzz\nProxyJump a:b:c:0\n",
    "ConnectTimeout 5 6\n",
    "UserKnownHostsFile a none b\n",
    "Include /no/such/file /nor/this*\nUser after\n",
};

TEST_CASE("a table of configurations is read as ssh -G reads it") {
  if (!has_ssh()) {
    MESSAGE("skipped: there is no ssh to compare with");
    return;
  }
  const TemporaryFolder folder;
  for (const std::string& text : configurations) {
    folder.write("config", text);
    CAPTURE(text);
    SshRequest request = request_of_this_user("node1");
    request.config_file = folder.path() + "/config";
    check_agreement(request);
  }
}

TEST_CASE("user, port and identities of the command line are read as ssh -G reads them") {
  if (!has_ssh()) {
    MESSAGE("skipped: there is no ssh to compare with");
    return;
  }
  const TemporaryFolder folder;
  folder.write("key", "");
  folder.write("config", "User file\nPort 5\nIdentityFile /file\nInclude " + folder.path() +
                             "/part*\nHost [x] node1\n Include " + folder.path() + "/part1\n");
  folder.write("part1", "HostKeyAlias one\nHost other\nBindAddress ::9\n");
  folder.write("part2", "HostKeyAlias two\nHost node1\nBindAddress ::2\n");
  SshRequest request = request_of_this_user("node1");
  request.config_file = folder.path() + "/config";
  check_agreement(request);
  request.user = "given";
  request.port = 6;
  request.identity_files = {folder.path() + "/key"};
  check_agreement(request);
  request.config_file = "none";
  check_agreement(request);
}

TEST_CASE("this user's own configuration is read as ssh -G reads it") {
  if (!has_ssh()) {
    MESSAGE("skipped: there is no ssh to compare with");
    return;
  }
  const SshRequest request = request_of_this_user("node1");
  if (!check_agreement(request)) MESSAGE("skipped: only ssh can read this machine's files");
}

TEST_CASE("an included file that others may write is refused by both") {
  if (!has_ssh()) {
    MESSAGE("skipped: there is no ssh to compare with");
    return;
  }
  const TemporaryFolder folder;
  folder.write("config", "Include " + folder.path() + "/part\n");
  for (const mode_t mode : {0600, 0644, 0666, 0602}) {
    CAPTURE(mode);
    folder.write("part", "User part\n", mode);
    SshRequest request = request_of_this_user("node1");
    request.config_file = folder.path() + "/config";
    check_agreement(request);
  }
}

/// Random configurations like those of people, with mistakes.
class RandomConfig {
 public:
  explicit RandomConfig(uint32_t seed) : random_(seed) {}

  std::string file(const std::string& include) {
    std::string text;
    for (size_t lines = below(14); lines > 0; --lines) {
      const size_t kind = below(10);
      if (kind < 2) {
        text += host_line();
      } else if (kind == 2 && !include.empty()) {
        text += "Include " + include + "\n";
      } else {
        text += value_line();
      }
    }
    return text;
  }

  std::string host() { return one_of({"node1", "node12", "a.example.org", "10.0.0.7", "Mixed"}); }

 private:
  size_t below(size_t end) { return random_() % end; }
  std::string one_of(const std::vector<std::string>& choices) {
    return choices[below(choices.size())];
  }
  std::string spelled(std::string word) {
    for (char& c : word) {
      if (below(4) == 0) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return word;
  }
  std::string host_line() {
    std::string line = one_of({"Host", "  host", "HOST\t"});
    for (size_t words = 1 + below(3); words > 0; --words) {
      line += one_of({" ", "  ", "\t"}) + one_of({"", "", "", "!"}) +
              one_of({"node1", "node*", "*", "*.example.org", "10.0.?.*", "n?de1", "Mixed", "mixed",
                      "\"node12\"", "?????", "**1", "other"});
    }
    return line + one_of({"\n", " # comment\n", "\r\n"});
  }
  std::string value_line() {
    const auto& [name, values] = directives[below(directives.size())];
    std::string value = one_of(values);
    const bool plain = value.find_first_of(" \"'") == std::string::npos;
    if (plain && below(6) == 0) value = "\"" + value + "\"";
    return one_of({"", " ", "\t"}) + spelled(name) + one_of({" ", "=", " = ", "\t", "  "}) + value +
           one_of({"", "", " ", " #x"}) + one_of({"\n", "\r\n"});
  }

  inline static const std::vector<std::pair<std::string, std::vector<std::string>>> directives = {
      {"hostname", {"%h.example.org", "OTHER", "10.1", "::1", "a%%b", "%h", "x %p"}},
      {"port", {"22", "2222", "1", "65535", "65536", "0"}},
      {"user", {"bob", "a'b c'd", "x\\ y", "u#v", "two words"}},
      {"identityfile", {"~/.ssh/a", "/b", "%d/%h-%r", "none", "~/.ssh/id_rsa", "'~/q r'", "c%p"}},
      {"identitiesonly", {"yes", "no", "true", "YES", "si"}},
      {"certificatefile", {"~/cert", "/cert-%u"}},
      {"identityagent", {"none", "SSH_AUTH_SOCK", "/run/%r", "~/s", "${HOME}/s", "${GONE_X}"}},
      {"proxyjump", {"a", "b@c:9", "none", "x,y,z@w", "[::2]:3", "ssh://q@r:5", "a:0"}},
      {"proxycommand", {"nc %h %p", "none", "sh -c 'x y'", "exec \"a b\""}},
      {"userknownhostsfile", {"/a", "/a ~/b", "none", "%d/k-%h", "/a none", "${HOME}/k"}},
      {"globalknownhostsfile", {"/g", "none", "/g /h", "~/g"}},
      {"stricthostkeychecking", {"yes", "no", "ask", "accept-new", "off", "false", "never"}},
      {"hostkeyalias", {"Alias", "[x]:1"}},
      {"hashknownhosts", {"yes", "no"}},
      {"connecttimeout", {"5", "1m", "1m30s", "none", "0", "5q"}},
      {"bindaddress", {"127.0.0.1", "::1"}},
      {"addressfamily", {"inet", "inet6", "any", "ipx"}},
      {"gssapiauthentication", {"yes", "no"}},
      {"pubkeyauthentication", {"yes", "no", "host-bound"}},
      {"preferredauthentications", {"publickey", "password,publickey", "hostbased"}},
      {"checkhostip", {"yes", "no"}},
      {"forwardagent", {"yes", "no"}},
      {"serveraliveinterval", {"5", "1m"}},
      {"loglevel", {"INFO", "DEBUG"}},
      {"sendenv", {"LANG LC_*", "-LANG"}},
      {"compression", {"yes", "no"}},
      {"ignoreunknown", {"fancy*", "fancynew,other"}},
  };
  std::mt19937 random_;
};

TEST_CASE("random configurations are read as ssh -G reads them") {
  if (!has_ssh()) {
    MESSAGE("skipped: there is no ssh to compare with");
    return;
  }
  const TemporaryFolder folder;
  int read = 0;
  for (uint32_t seed = 1; seed <= 250; ++seed) {
    RandomConfig random(seed);
    SshRequest request = request_of_this_user(random.host());
    request.config_file = folder.path() + "/config";
    const std::string text = random.file(folder.path() + "/part");
    const std::string part = random.file("");
    folder.write("config", text);
    folder.write("part", part);
    CAPTURE(seed);
    CAPTURE(text);
    CAPTURE(part);
    CAPTURE(request.host);
    if (check_agreement(request)) ++read;
  }
  // The mistakes must leave enough files to compare.
  CHECK(read > 60);
}

TEST_CASE("any bytes are an answer of ssh -G or an error") {
  std::mt19937 random(11);
  const FakeWorld fake;
  const std::string pieces[] = {"hostname ",
                                "port ",
                                "identityfile ",
                                "userknownhostsfile ",
                                "proxyjump ",
                                "identityagent ",
                                "\n",
                                " ",
                                "%",
                                "~",
                                "$",
                                "\xff",
                                "none",
                                "22",
                                "a"};
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = "hostname node1\nport 22\n";
    if (random() % 2 == 0) text.clear();
    for (size_t count = random() % 24; count > 0; --count)
      text += pieces[random() % std::size(pieces)];
    if (parse_ssh_g(text, request_of_me("node1"), fake.world(), {})) ++good;
  }
  CHECK(good > 1000);
}

}  // namespace
}  // namespace dt
