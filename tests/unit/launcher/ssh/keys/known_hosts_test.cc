#include "launcher/ssh/keys/known_hosts.h"

#include "base/format.h"
#include "base/text.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {
namespace {

// known_hosts_ssh_test.cc compares the verdicts with a real ssh's.

const std::string key_text =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFgJvrI7X9nnx7/F0MbNEOjz/4ZMfJx+4RpICQX/t26";
const std::string other_text =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBI0FkbUIcYK96RqQ/5L/"
    "eNacO4cQV3M4TTcdY6xUomuzc5cd3kbBssKYH/iZNJ+lSpZ1tMdH+tOkQoJjLDI+K38=";
const HostKey key = parse_host_key(key_text).value();
const HostKey other_key = parse_host_key(other_text).value();

KnownHost find(const std::string& text, const HostKeyOwner& owner = {"node1"}) {
  return KnownHosts({{"/kh", text}}).find(owner);
}

std::string message_of(const std::string& text, const SshRequest& request,
                       const HostKeyOwner& owner = {"node1"}) {
  const KnownHost host = find(text, owner);
  return refused_host_key_message(host.verdict(name_of(key)), host, name_of(key), request);
}

SshRequest request_for(std::string host) {
  return {.host = std::move(host), .local_user = "me", .home = "/home/me"};
}

TEST_CASE("a host is looked up by its alias, or by its name and a port that is not 22") {
  CHECK(find("", {"Node1"}).name == "node1");
  CHECK(find("", {"Node1", 2222}).name == "[node1]:2222");
  CHECK(find("", {"fe80::1", 2222}).name == "[fe80::1]:2222");
  CHECK(find("", {"node1", 2222, "The.Alias"}).name == "the.alias");
}

TEST_CASE("the types that are known come in OpenSSH's order, each once") {
  using Types = std::vector<std::string>;
  CHECK(find("").key_types().empty());
  CHECK(find("@revoked node1 " + other_text).key_types().empty());
  CHECK(find("node1 " + key_text, {"node1", 2222}).key_types().empty());
  CHECK(find("node1 " + other_text).key_types() == Types{"ecdsa-sha2-nistp256"});
  CHECK(find("node1 " + other_text + "\nnode1 " + key_text + "\nnode1 " + key_text).key_types() ==
        Types{"ssh-ed25519", "ecdsa-sha2-nistp256"});
}

TEST_CASE("lines that only OpenSSH is trusted with are named, if they name the host") {
  struct Case {
    std::string text;
    std::string needs;
  };
  const Case cases[] = {
      {"node1 " + key_text, ""},
      {"!node2,node1 " + key_text, ""},
      {"# x\n@cert-authority node1 " + key_text, "/kh:2: @cert-authority"},
      {"@cert-authority node2 " + key_text, ""},
      {"@revoked node1 " + other_text, "/kh:1: @revoked"},
      {"node* " + key_text, "/kh:1: a wildcard"},
      {"node?,x " + key_text, "/kh:1: a wildcard"},
      {"*,!node1 " + key_text, ""},
      {"@cert-authority node1 garbage", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(find(c.text).needs_openssh() == c.needs);
  }
  CHECK(find("* " + key_text, {"node1", 2222}).needs_openssh() == "/kh:1: a wildcard");
  CHECK(find("@cert-authority node1 " + key_text, {"node1", 2222}).needs_openssh() ==
        "/kh:1: @cert-authority");
}

TEST_CASE("a line that is cut or no line at all spoils no other") {
  for (const std::string garbage :
       {"node1", "node1 ", "@", "@revoked", "@revoked ", "@revoked node1", "|", "|1", "|1|", "|1||",
        "|1|AAAA|BBBB x", "|2|a|b c", "node1 ssh-ed25519 !!!!", "\x01\xff", ",,, ,"}) {
    CAPTURE(garbage);
    const KnownHost host = find(garbage + "\n" + "node1 " + key_text + "\n" + garbage);
    CHECK(host.keys.size() == 1);
    CHECK(host.verdict(key).by->place() == "/kh:2");
  }
  CHECK(find(std::string("node1\0 ", 7) + key_text).keys.empty());
}

TEST_CASE("a new key that cannot be recorded is not accepted") {
  using Kind = HostKeyVerdict::Kind;
  SshSettings settings = {.host_name = "node1",
                          .user_known_hosts_files = {"/kh"},
                          .host_key_checking = HostKeyChecking::accept_new};
  CHECK(decide_host_key(Kind::unknown, settings) == HostKeyDecision::accept_and_record);
  settings.host_name = "odd|name";
  CHECK(decide_host_key(Kind::unknown, settings) == HostKeyDecision::refuse);
  settings.host_name = "node1";
  settings.user_known_hosts_files.clear();
  CHECK(decide_host_key(Kind::unknown, settings) == HostKeyDecision::refuse);
  CHECK(decide_host_key(Kind::known, settings) == HostKeyDecision::accept);
}

TEST_CASE("a refusal names key, place, and the command that repairs it") {
  const std::string shown =
      "its host key ssh-ed25519 SHA256:F4Y0ST+lPaXjf1zCGWaydcsY5l9zRvOcIuNtNgx6y5c ";
  CHECK(message_of("", request_for("node1")) ==
        shown +
            "is not known: no known_hosts file lists node1\n"
            "  compare the fingerprint with one from the host's administrator, then accept it: ssh "
            "node1 true\n"
            "  to accept whatever new hosts show: ssh -o StrictHostKeyChecking=accept-new node1 "
            "true");
  SshRequest request = request_for("Node1");
  request.port = 2222;
  request.user = "me";
  request.config_file = "/my config";
  CHECK(message_of("x y\n[node1]:2222 " + other_text, request, {"node1", 2222}) ==
        shown +
            "is not the one of /kh:2 (ecdsa-sha2-nistp256)\n"
            "  the host was reinstalled, or somebody intercepts the connection: compare the "
            "fingerprint "
            "with one from its administrator\n"
            "  if it is right: ssh-keygen -f /kh -R '[node1]:2222' && ssh -F '/my config' -p 2222 "
            "-l me Node1 true");
  CHECK(message_of("@revoked * " + key_text, request_for("node1")) ==
        shown +
            "is revoked by /kh:1\n"
            "  its private key may be stolen: do not log in; the host needs a new key (there: "
            "remove the old ones, then ssh-keygen -A)\n"
            "  if the line is wrong, delete it: sed -i 1d /kh");
}

TEST_CASE("a line is appended to a file that is made if need be, after a newline if one lacks") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/.ssh/known_hosts";
  REQUIRE(append_known_hosts(path, "a b c\n"));
  REQUIRE(append_known_hosts(path, "d e f\n"));
  CHECK(folder.read(".ssh/known_hosts") == "a b c\nd e f\n");
  struct stat status = {};
  CHECK(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(stat((folder.path() + "/.ssh").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  folder.write("cut", "x y");
  REQUIRE(append_known_hosts(folder.path() + "/cut", "a b c\n"));
  CHECK(folder.read("cut") == "x y\na b c\n");
  CHECK(append_known_hosts("/dev/null", "a b c\n"));
  CHECK(append_known_hosts("/proc/no/known_hosts", "a\n").error().message ==
        "cannot make /proc/no: No such file or directory");
}

TEST_CASE("any bytes are a known_hosts file") {
  std::mt19937 random(5);
  const std::string pieces[] = {"node1",
                                " ",
                                "\n",
                                "@revoked ",
                                "@cert-authority ",
                                "|1|",
                                "|",
                                "*",
                                "!",
                                ",",
                                "[node1]:2222 " + key_text + "\n",
                                key_text,
                                other_text,
                                "ssh-ed25519 ",
                                "AAAA",
                                "=",
                                "#",
                                "\t",
                                "[node1]:2222",
                                std::string(1, '\0'),
                                "\xff"};
  size_t keys = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t count = random() % 24; count > 0; --count)
      text += pieces[random() % std::size(pieces)];
    const KnownHost host = find(text, {"node1", 2222});
    keys += host.keys.size();
    (void)host.verdict(key);
    (void)host.needs_openssh();
  }
  CHECK(keys > 100);
}

}  // namespace
}  // namespace dt
