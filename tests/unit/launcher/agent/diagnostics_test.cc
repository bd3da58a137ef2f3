#include "launcher/agent/diagnostics.h"

#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <csignal>
#include <utility>

namespace dt {
namespace {

/// An agent's Diagnostics, and its messages.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Token token = Token::random().value();
  std::vector<std::pair<MessageType, Bytes>> sent;
  Diagnostics examiner{*loop, [this](MessageType type, ByteSpan payload) {
                         sent.emplace_back(type, Bytes(payload.begin(), payload.end()));
                       }};
  TemporaryFolder folder;
  DiagnoseRequest wanted = {.token = token.text(), .number = 4, .path = folder.path()};

  void await() {
    run_until(*loop, [this] { return !sent.empty(); });
    REQUIRE(sent.size() == 1);
  }
  HostDiagnostics diagnose() {
    examiner.diagnose(wanted, {.bandwidth_addresses = {Address{"127.0.0.1", 0}}}, 100);
    await();
    CHECK(sent[0].first == MessageType::diagnosed);
    const auto examined = decode<DiagnoseReply>(sent[0].second).value();
    CHECK(examined.sent_ns > 0);
    CHECK_FALSE(examined.bandwidth_addresses.empty());
    sent.clear();
    return examined.facts;
  }
};

TEST_CASE_FIXTURE(Fixture, "Diagnostics asks the first Python in the job's PATH for its version") {
  CHECK(diagnose().python_path == "");
  folder.write("python", "#!/bin/sh\necho Python 2.7.1 >&2\n", 0755);
  CHECK(diagnose().python_path == folder.path() + "/python");
  CHECK(diagnose().python_version == "2.7.1");
  // It runs with the same PATH, so that a shim finds the real Python there.
  folder.write("real", "#!/bin/sh\necho Python 3.9.9 $1\n", 0755);
  folder.write("python3", "#!/bin/sh\nreal $1\n", 0755);
  CHECK(diagnose().python_path == folder.path() + "/python3");
  CHECK(diagnose().python_version == "3.9.9");
}

TEST_CASE_FIXTURE(Fixture, "Diagnostics answers also when Python cannot be run or prints nothing") {
  folder.write("python3", "#!/no/such/interpreter\n", 0755);
  CHECK(diagnose().python_version == "");
  folder.write("python3", "#!/bin/sh\nexit 3\n", 0755);
  CHECK(diagnose().python_version == "");
  // A process that it leaves holds its output open; Diagnostics does not wait for that.
  folder.write("python3", "#!/bin/sh\n/bin/sleep 60 &\necho $! >$0.pid\necho Python 3.1\n", 0755);
  CHECK(diagnose().python_version == "3.1");
  const pid_t left = std::stoi(folder.read("python3.pid"));
  ::kill(left, SIGKILL);
}

TEST_CASE_FIXTURE(Fixture, "Diagnostics finds the job's command, and the digest of its file") {
  folder.write("train", "#!/bin/sh\n", 0755);
  CHECK(diagnose().command_path == "");
  wanted.command = "train";
  wanted.cwd = "/no/such/folder";
  wanted.path = folder.path() + ":/no/folder";
  const HostDiagnostics found = diagnose();
  CHECK(found.command_path == folder.path() + "/train");
  CHECK(found.command_sha256 == "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf");
  CHECK(found.path_missing == std::vector<std::string>{"/no/folder"});
  wanted.command = "./train";
  CHECK(diagnose().command_failure.find("./train") != std::string::npos);
  wanted.cwd = folder.path();
  CHECK(diagnose().command_path == folder.path() + "/./train");
}

TEST_CASE_FIXTURE(Fixture,
                  "Diagnostics imports modules with the job's variables and a time limit") {
  wanted.path = "/usr/bin:/bin";
  folder.write("versioned.py", "import sys\nprint('noise')\n__version__ = '1.2'\n");
  folder.write("plain.py", "\n");
  folder.write("broken.py", "raise ValueError('two\\nlines')\n");
  folder.write("slow.py", "import time\ntime.sleep(60)\n");
  wanted.forwarded = {{"PYTHONPATH", folder.path()}};
  wanted.imports = {"versioned", "plain", "broken", "nosuch"};
  CHECK(diagnose().modules ==
        std::vector<PythonModule>{{"versioned", "1.2", ""},
                                  {"plain", "", ""},
                                  {"broken", "", "ValueError: two lines"},
                                  {"nosuch", "", "ModuleNotFoundError: No module named 'nosuch'"}});
  wanted.imports = {"versioned", "slow"};
  wanted.import_patience = seconds(5);
  CHECK(diagnose().modules == std::vector<PythonModule>{{"versioned", "1.2", ""},
                                                        {"slow", "", "not imported within 5s"}});
  wanted.path = "/no/such/folder";
  CHECK(diagnose().modules[0].failure == "there is no Python");
}

TEST_CASE_FIXTURE(Fixture, "Diagnostics measures the network to another host, or reports why not") {
  diagnose();
  const Claim claim = {.token = token, .job = "check", .generation = 1, .self = {"agent", 9}};
  const auto other = BandwidthServer::open(*loop, {Address{"127.0.0.1", 0}}, claim,
                                           {.bytes_max = 1 << 20, .time_max = seconds(9)});
  const Address address = other->addresses().at(0);
  examiner.measure({.number = 9, .address = address, .patience = seconds(20)});
  await();
  CHECK(sent[0].first == MessageType::measured);
  const auto measured = decode<Measured>(sent[0].second).value();
  CHECK(measured.failure == "");
  CHECK(measured.speed.bytes >= 1 << 20);
  sent.clear();
  // Another program answers there.
  examiner.measure({.number = 8, .address = address, .patience = seconds(20)});
  await();
  CHECK(decode<Measured>(sent[0].second).value().failure != "");
}

}  // namespace
}  // namespace dt
