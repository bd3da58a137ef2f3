#include "launcher/discovery/host_discovery.h"

#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

struct DiscoveryFixture {
  TemporaryFolder folder;
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string path = folder.path() + "/hosts";

  static std::string text_of(const Result<HostList>& list) {
    if (!list) return list.error().message;
    std::string all;
    for (const Host& host : list->hosts)
      all += (all.empty() ? "" : " ") + host.text();
    return all;
  }
  Result<HostList> read(HostDiscovery& discovery) const {
    std::optional<Result<HostList>> list;
    discovery.read([&](Result<HostList> given) {
      CHECK_FALSE(discovery.is_reading());
      list = std::move(given);
    });
    CHECK_FALSE(list.has_value());
    CHECK(discovery.is_reading());
    run_until(*loop, [&] { return list.has_value(); });
    if (!*list) CHECK(list->error().code == Errc::input);
    return *list;
  }
  void write_program(const std::string& body) const {
    folder.write("hosts", "#!/bin/sh\n" + body + "\n", 0700);
  }
};

TEST_CASE_FIXTURE(DiscoveryFixture, "HostDiscovery reads a hostfile anew each time") {
  HostDiscovery discovery(*loop, {.hostfile = path});
  CHECK(text_of(read(discovery)) == "cannot read " + path + ": No such file or directory");
  folder.write("hosts", "a slots=2\nb:4 # new\n");
  CHECK(text_of(read(discovery)) == "a:2 b:4");
  folder.write("hosts", "b:4\n");
  CHECK(text_of(read(discovery)) == "b:4");
  folder.write("hosts", "b:4\nc:x\n");
  CHECK(text_of(read(discovery)).starts_with(path + ":2:"));
  folder.write("hosts", "# all are away\n");
  CHECK(text_of(read(discovery)).starts_with(path + ": no hosts in this file"));
}

TEST_CASE_FIXTURE(DiscoveryFixture, "read_once returns the hosts, or what has come instead") {
  write_program("echo a:2");
  const HostSource source = {.program = path};
  CHECK(text_of(read_once(*loop, source, [] { return false; })) == "a:2");
  write_program("exec sleep 600");
  bool is_over = false;
  const Timer timer = loop->after(Duration::zero(), [&is_over] { is_over = true; });
  const auto list = read_once(*loop, source, [&is_over] { return is_over; });
  REQUIRE_FALSE(list.has_value());
  CHECK(list.error().code == Errc::interrupted);
}

TEST_CASE_FIXTURE(DiscoveryFixture, "HostDiscovery waits for no pipe in the place of a hostfile") {
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  HostDiscovery fifo(*loop, {.hostfile = path});
  CHECK(text_of(read(fifo)) ==
        "cannot read " + path + ": it is not a regular file, so it cannot be read again");
  HostDiscovery folder_path(*loop, {.hostfile = folder.path()});
  CHECK(text_of(read(folder_path)) == "cannot read " + folder.path() + ": Is a directory");
}

TEST_CASE_FIXTURE(DiscoveryFixture, "HostDiscovery runs a program anew each time") {
  HostDiscovery discovery(*loop, {.program = path, .slots_per_host = 3});
  write_program("echo a:1; echo b");
  CHECK(text_of(read(discovery)) == "a:1 b:3");
  write_program("exit 4");
  CHECK(text_of(read(discovery)) == "cannot read hosts from " + path + ": exit status 4");
  CHECK(text_of(read(discovery)) == "cannot read hosts from " + path + ": exit status 4");
  write_program("");
  const auto none = read(discovery);
  REQUIRE(none.has_value());
  CHECK(none->hosts.empty());
}

TEST_CASE_FIXTURE(DiscoveryFixture, "HostDiscovery: a reader may read again, or destroy it") {
  folder.write("hosts", "a:1\n");
  auto discovery = std::make_unique<HostDiscovery>(*loop, HostSource{.hostfile = path});
  int reads = 0;
  discovery->read([&](const Result<HostList>&) {
    ++reads;
    discovery->read([&](const Result<HostList>&) {
      ++reads;
      discovery.reset();
    });
  });
  run_until(*loop, [&] { return discovery == nullptr; });
  CHECK(reads == 2);

  write_program("echo a");
  discovery = std::make_unique<HostDiscovery>(*loop, HostSource{.program = path});
  discovery->read([&](const Result<HostList>&) {
    ++reads;
    discovery->read([&](const Result<HostList>&) {
      ++reads;
      discovery.reset();
    });
  });
  run_until(*loop, [&] { return discovery == nullptr; });
  CHECK(reads == 4);
}

TEST_CASE_FIXTURE(DiscoveryFixture, "HostDiscovery: a destroyed one calls nobody") {
  write_program("echo a");
  bool called = false;
  {
    HostDiscovery discovery(*loop, {.program = path});
    discovery.read([&](const Result<HostList>&) { called = true; });
  }
  REQUIRE(loop->run_once(loop->now() + milliseconds(10)));
  CHECK_FALSE(called);
}

TEST_CASE("parse_discovered_hosts reads the hosts of -H and of hostfiles, a line each") {
  struct Case {
    std::string output;
    int slots_per_host;
    std::string text;
  };
  for (const Case& c : std::vector<Case>{
           {"user@host:4\n[::1]:2\n", 0, "user@host:4 [::1]:2"},
           {"node[01-03]:8\n", 0, "node01:8 node02:8 node03:8"},
           {"b slots=2\r\na\r\n", 4, "b:2 a:4"},
           {"a", 0, "a"},
           {"b\na\nb\n", 4, "b:4 a:4"},
           {"b\na\nb\n", 0, "b:2 a"},
           {"b:1\na\nb:2\n", 4, "b:3 a:4"},
           {"", 4, ""},
           {"\n# none\n \t\r\n", 4, ""},
           {"a:0\n", 4, "output of ./h:1:3: host \"a\": slots must be 1..4096, got 0"},
           {std::string("a\0b\n", 4), 4,
            "output of ./h:1: not a text file (byte 0x00 at offset 1)"},
           {std::string("#\0\n", 3), 4, "output of ./h:1: not a text file (byte 0x00 at offset 1)"},
           {"a\nb:x\n", 4, "output of ./h:2:"},
       }) {
    CAPTURE(c.output);
    const std::string text =
        DiscoveryFixture::text_of(parse_discovered_hosts(c.output, "./h", c.slots_per_host));
    if (c.text.ends_with(":")) {
      CHECK(text.starts_with(c.text));
    } else {
      CHECK(text == c.text);
    }
  }
  const auto twice = parse_discovered_hosts("b:1\nb:2\n", "./h", 0);
  REQUIRE(twice.has_value());
  CHECK(twice->warnings ==
        std::vector<std::string>{"output of ./h: host \"b\" given twice; merged to 3 slots"});
}

}  // namespace
}  // namespace dt
