#include "launcher/ssh/config/ssh_config.h"

#include "tests/unit/launcher/ssh/ssh_fixture.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace dt {
namespace {

/// Reads a host's settings from a ~/.ssh/config with this text.
Result<SshSettings> read_config(const std::string& text, const std::string& host = "node1") {
  const FakeWorld fake = {{{"/home/me/.ssh/config", text}}};
  return read_ssh_config(request_of_me(host), fake.world());
}

std::string error_of(const std::string& text) {
  const Result<SshSettings> settings = read_config(text);
  return settings ? "no error" : settings.error().message;
}

TEST_CASE("without any file a host has OpenSSH's defaults") {
  const SshSettings settings = read_ssh_config(request_of_me("Node1"), FakeWorld().world()).value();
  CHECK(shown(settings) ==
        "me@node1:22\n"
        "identities [/home/me/.ssh/id_rsa /home/me/.ssh/id_ecdsa /home/me/.ssh/id_ecdsa_sk "
        "/home/me/.ssh/id_ed25519 /home/me/.ssh/id_ed25519_sk /home/me/.ssh/id_xmss "
        "/home/me/.ssh/id_dsa]\n"
        "certificates []\nagent (none)\njump [] command []\n"
        "known [/home/me/.ssh/known_hosts /home/me/.ssh/known_hosts2] "
        "[/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2]\n"
        "checking 0 alias [] hash false\ntimeout -1 bind [] family 0 gssapi false\n"
        "openssh []\nbeyond []\n");
}

TEST_CASE("directives that change the client's session are listed, also below a Match") {
  const auto changes = [](const std::string& text) { return read_config(text)->session_changes; };
  using Names = std::set<std::string, std::less<>>;
  CHECK(changes("Port 22\n").empty());
  CHECK(changes("RemoteCommand tmux new -A\nStdinNull yes\nLocalForward 1 a:2\n") ==
        Names{"remotecommand", "stdinnull"});
  CHECK(changes("Host other\n SessionType none\nHost node1\n ForkAfterAuthentication yes\n") ==
        Names{"forkafterauthentication"});
  CHECK(changes("Match exec true\n SessionType none\n") == Names{"sessiontype"});
}

TEST_CASE("the command line wins over the user's file, and that over the system's") {
  const FakeWorld fake = {{
      {"/home/me/.ssh/config", "Host node*\n Port 2201\n IdentityFile ~/.ssh/a\n"},
      {"/etc/ssh/ssh_config",
       "Port 2202\nUser system\nHashKnownHosts yes\nIdentityFile /etc/key\n"},
  }};
  SshRequest request = request_of_me("node1");
  SshSettings settings = read_ssh_config(request, fake.world()).value();
  CHECK(settings.port == 2201);
  CHECK(settings.user == "system");
  CHECK(settings.hash_known_hosts);
  CHECK(settings.identity_files == std::vector<std::string>{"/home/me/.ssh/a", "/etc/key"});
  request.port = 2203;
  request.user = "given";
  request.identity_files = {"~/mine"};
  settings = read_ssh_config(request, fake.world()).value();
  CHECK(settings.port == 2203);
  CHECK(settings.user == "given");
  CHECK(settings.identity_files ==
        std::vector<std::string>{"/home/me/mine", "/home/me/.ssh/a", "/etc/key"});
  request.config_file = "none";
  settings = read_ssh_config(request, fake.world()).value();
  CHECK(settings.identity_files == std::vector<std::string>{"/home/me/mine"});
}

TEST_CASE("a configuration file that is named must be there; the usual ones need not") {
  SshRequest request = request_of_me("node1");
  request.config_file = "/my config";
  CHECK(read_ssh_config(request, FakeWorld().world()).error().message ==
        "cannot read the ssh configuration \"/my config\": No such file or directory");
  const FakeWorld fake = {{{"/my config", "Port 9"}, {"/etc/ssh/ssh_config", "User no"}}};
  CHECK(read_ssh_config(request, fake.world())->port == 9);
  CHECK(read_ssh_config(request, fake.world())->user == "me");
}

TEST_CASE("Include looks in ~/.ssh or /etc/ssh, and Host blocks do not leak through it") {
  const FakeWorld fake = {{
      {"/home/me/.ssh/config", "Include hosts.d/*\nInclude absent ~/other /opt/ssh\nUser end\n"},
      {"/home/me/.ssh/hosts.d/1", "Host node2\n Port 1\n"},
      {"/home/me/.ssh/hosts.d/2", "ConnectTimeout 5\nHost node1\n Port 2\n"},
      {"/home/me/other", "BindAddress ::1\n"},
      {"/opt/ssh", "Host x\nInclude /opt/inner\n"},
      {"/opt/inner", "Host node1\n HostKeyAlias never\n"},
      {"/etc/ssh/ssh_config", "Include ssh_config.d/*.conf\n"},
      {"/etc/ssh/ssh_config.d/a.conf", "Host *\n HashKnownHosts yes\n"},
  }};
  const SshSettings settings = read_ssh_config(request_of_me("node1"), fake.world()).value();
  CHECK(settings.port == 2);
  CHECK(settings.connect_timeout_s == 5);
  CHECK(settings.bind_address == "::1");
  CHECK(settings.user == "end");
  CHECK(settings.hash_known_hosts);
  CHECK(settings.host_key_alias.empty());
}

TEST_CASE("files that include themselves, or a file of the system with ~, are refused") {
  FakeWorld fake = {{{"/home/me/.ssh/config", "Port 1\nInclude config\n"}}};
  CHECK(read_ssh_config(request_of_me("node1"), fake.world()).error().message ==
        "/home/me/.ssh/config:2: include: too many files include one another");
  fake.files = {{"/etc/ssh/ssh_config", "Include ~/x\n"}};
  CHECK(read_ssh_config(request_of_me("node1"), fake.world()).error().message ==
        "/etc/ssh/ssh_config:1: include: \"~/x\" has a ~ in a file of the system");
}

TEST_CASE("a bad line is refused with its place and its word, also where it does not count") {
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"Port", "no value after \"Port\""},
      {"Port # 5", "port: its value is missing"},
      {"Port 0", "port: bad value \"0\""},
      {"Port 65536", "port: bad value \"65536\""},
      {"Port 22 23", "port: \"23\" is one word too many"},
      {"User \"a", "a quote is not closed after \"User\""},
      {"User \"\"", "user: its value is missing"},
      {"Host other\nIdentitiesOnly maybe", "identitiesonly: bad value \"maybe\""},
      {"StrictHostKeyChecking perhaps", "stricthostkeychecking: bad value \"perhaps\""},
      {"ConnectTimeout 5x", "connecttimeout: bad value \"5x\""},
      {"ConnectTimeout 99999999999", "connecttimeout: bad value \"99999999999\""},
      {"UserKnownHostsFile a none", "userknownhostsfile: \"none\" must stand alone"},
      {"UserKnownHostsFile ~nobody-of-this-name/x",
       "userknownhostsfile: there is no user nobody-of-this-name"},
      {"IdentityFile ${NOT_SET}/x", "identityfile: the variable NOT_SET is not set"},
      {"IdentityFile x%", "identityfile: a % stands at its end"},
      {"Host other\nIdentityAgent ${NOT_SET}", "identityagent: the variable NOT_SET is not set"},
      {"IdentityAgent $a-b", "identityagent: bad value \"$a-b\""},
      {"ProxyJump me@", "proxyjump: bad value \"me@\""},
      {"ProxyJump a,b:0", "proxyjump: bad value \"a,b:0\""},
      {"Host a \"\"", "host: an empty word"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const bool second = c.text.find('\n') != std::string::npos;
    CHECK(error_of(c.text) == format("/home/me/.ssh/config:{}: {}", second ? 2 : 1, c.message));
  }
}

TEST_CASE("what only ssh can decide is listed with its place, and nothing after it is believed") {
  struct Case {
    std::string text;
    std::string needs_ssh_g;
  };
  const Case cases[] = {
      {"Match host node1\n Port 5\n", "match@1"},
      {"Host other\n Port 5\nMatch all\n", "match@3"},
      {"Host other\n CanonicalizeHostname yes\n", ""},
      {"CanonicalizeHostname always\n", "canonicalizehostname@1"},
      {"CanonicalizeHostname no\nCanonicalDomains a.example\n", ""},
      {"Host other\n ObscureKeystrokeTiming no\n", "obscurekeystroketiming@2"},
      {"IgnoreUnknown Use*,Obs*\nUseKeychain yes\nObscureKeystrokeTiming no\n", ""},
      {"IgnoreUnknown Use*\nUseKeychain yes\nTag x\n", "tag@3"},
      {"Port ssh\n", "port ssh@1"},
      {"User %u\n", "user %u@1"},
      {"IdentityFile x-%C\n", "identityfile with %C@1"},
      {"HostName %n.example\n", "hostname with %n@1"},
      {"Include ${HOME}/x\n", "include ${HOME}/x@1"},
      {"ProxyJump none\nProxyCommand nc\n", "proxycommand after \"proxyjump none\"@2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<SshSettings> settings = read_config(c.text);
    REQUIRE(settings);
    std::string needs_ssh_g;
    for (const SshDirective& directive : settings->needs_ssh_g)
      needs_ssh_g += directive.name + "@" + directive.place.substr(directive.place.rfind(':') + 1);
    CHECK(needs_ssh_g == c.needs_ssh_g);
    CHECK(settings->port == 22);
  }
}

TEST_CASE("what only the OpenSSH client can do is listed, unless it asks for the usual") {
  struct Case {
    std::string text;
    std::string openssh;
  };
  const Case cases[] = {
      {"ProxyJump hop\n", "proxyjump"},
      {"ProxyJump none\nProxyJump hop\n", ""},
      {"ProxyCommand nc %h %p\nProxyJump hop\n", "proxycommand"},
      {"ProxyCommand none\n", ""},
      {"CertificateFile ~/.ssh/c\n", "certificatefile"},
      {"PubkeyAuthentication yes\nHostbasedAuthentication no\n", ""},
      {"PubkeyAuthentication no\n", "pubkeyauthentication"},
      {"PreferredAuthentications publickey,password\n", ""},
      {"PreferredAuthentications gssapi-with-mic\n", "preferredauthentications"},
      {"Host other\n Ciphers aes128-ctr\n", ""},
      {"Ciphers aes128-ctr\n", "ciphers"},
      {"PKCS11Provider none\nRevokedHostKeys none\nRequiredRSASize 1024\n", ""},
      {"PKCS11Provider /lib/p.so\n", "pkcs11provider"},
      {"GSSAPIAuthentication yes\nForwardAgent yes\nControlMaster auto\nSendEnv LANG LC_*\n", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<SshSettings> settings = read_config(c.text);
    REQUIRE(settings);
    std::string openssh;
    for (const SshDirective& directive : settings->needs_openssh)
      openssh += directive.name;
    CHECK(openssh == c.openssh);
  }
}

TEST_CASE("any bytes are a configuration or an error") {
  std::mt19937 random(7);
  const std::string pieces[] = {"Host ",
                                "Match ",
                                "\n",
                                "\0",
                                "\"",
                                "'",
                                "\\",
                                "%",
                                "${",
                                "}",
                                "*",
                                "!",
                                "IdentityFile ",
                                "ProxyJump ",
                                "Include *",
                                "=",
                                "#",
                                "\xff",
                                "UserKnownHostsFile ",
                                "a",
                                ",",
                                "@",
                                "[",
                                ":",
                                "~",
                                "Port "};
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t count = random() % 24; count > 0; --count)
      text += pieces[random() % std::size(pieces)];
    const Result<SshSettings> settings = read_config(text);
    if (settings) ++good;
    if (!settings) CHECK(settings.error().message.find(".ssh/config:") != std::string::npos);
  }
  CHECK(good > 0);
}

}  // namespace
}  // namespace dt
