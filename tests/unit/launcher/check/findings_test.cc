#include "base/format.h"
#include "base/text.h"
#include "launcher/check/host_findings.h"
#include "launcher/check/resource_findings.h"
#include "launcher/protocol/diagnose_messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

namespace dt {
namespace {

constexpr int64_t gibi = int64_t{1} << 30;

HostDiagnostics good_host() {
  return {.dtrain = "1.0",
          .executable = "/home/me/.cache/dtrain/" + std::string(64, 'a') + "/dtrain",
          .hostname = "node1",
          .architecture = "x86_64",
          .kernel = "6.1",
          .glibc = "2.36",
          .addresses = {"10.0.0.1", "127.0.0.1"},
          .cpus_allowed = 8,
          .cpus_online = 8,
          .memory_bytes = 64 * gibi,
          .memory_free_bytes = 60 * gibi,
          .open_files = {.soft = 1024, .hard = 524288},
          .locked_memory = {.soft = 8 << 20, .hard = 8 << 20},
          .shared_memory = {"/dev/shm", 32 * gibi, 32 * gibi},
          .home = {"/home/me", 100 * gibi, 50 * gibi},
          .temporary = {"/tmp", 100 * gibi, 50 * gibi},
          .python_path = "/usr/bin/python3",
          .python_version = "3.11.2",
          .gpus = {.gpus = {{.index = 0, .name = "H100"}, {.index = 1, .name = "H100"}},
                   .driver_version = "535.1",
                   .cuda_version = "12.2"},
          .gpus_on_bus = 2};
}

HostSeen good_seen() {
  return {.host = {.name = "node1", .slots = 2},
          .connection = {.login = "libssh2 1.10.0, key rsa from /k",
                         .pushed = true,
                         .took = milliseconds(42)},
          .diagnosis = Diagnosis{.found = {.facts = good_host()},
                                 .clock = {microseconds(100), milliseconds(1)}},
          .launcher_at = {"10.0.0.9"},
          .reaches_launcher = {{"10.0.0.9"}},
          .reached_at = {"10.0.0.1"}};
}

const Usual usual = {
    .dtrain = "1.0",
    .driver = "535.1",
    .gpus = 2,
    .programs = {.python = {"3.11", {"node1"}}, .python_path = {"/usr/bin/python3", {"node1"}}}};

/// "topic grade: text → remedy" of the findings that are not ok.
std::string complaints(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    if (finding.grade == Grade::ok) continue;
    lines.push_back(format("{} {}: {}{}{}", finding.topic, name_of(finding.grade), finding.text,
                           finding.remedy.empty() ? "" : " → ", finding.remedy));
  }
  return join(lines, "\n");
}

TEST_CASE("an agent that a host keeps in memory only is a warning") {
  HostSeen seen = good_seen();
  seen.diagnosis->found.facts.executable = "/memfd:dtrain (deleted)";
  CHECK(complaints(host_findings(seen, usual)) ==
        "agent warning: sent, and kept in memory → no folder there is writable and can run "
        "programs, so each job sends it again");
}

TEST_CASE("a host that has all that a job needs is ok in every topic") {
  const std::vector<Finding> findings = host_findings(good_seen(), usual);
  CHECK(complaints(findings) == "");
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(finding.topic + ": " + finding.text);
  CHECK(lines ==
        std::vector<std::string>{
            "ssh: libssh2 1.10.0, key rsa from /k, 42.0 ms",
            "agent: sent to /home/me/.cache/dtrain",
            "versions: dtrain 1.0, glibc 2.36, Linux 6.1 x86_64",
            "clock: as this machine's, within 1.00 ms", "addresses: 10.0.0.1 lead other hosts here",
            "launcher: reaches this machine at 10.0.0.9", "gpus: 2 H100, driver 535.1, CUDA 12.2",
            "cores: 8", "memory: 60.0 GiB free of 64.0 GiB", "open_files: 1024, hard limit 524288",
            "locked_memory: 8.0 MiB", "shared_memory: 32.0 GiB free of 32.0 GiB in /dev/shm",
            "home: 50.0 GiB free of 100 GiB in /home/me",
            "temporary: 50.0 GiB free of 100 GiB in /tmp", "path: all folders exist",
            "python: 3.11.2 at /usr/bin/python3"});
}

using Spoil = std::function<void(HostSeen& seen, HostDiagnostics& host)>;
struct SpoiledHost {
  Spoil spoil;
  std::string complaint;
};

void check_complaint(const SpoiledHost& one) {
  CAPTURE(one.complaint);
  HostSeen seen = good_seen();
  one.spoil(seen, seen.diagnosis->found.facts);
  CHECK(complaints(host_findings(seen, usual)) == one.complaint);
}

TEST_CASE("the home, the job's folder and the host's own name are findings") {
  const SpoiledHost cases[] = {
      {[](HostSeen&, HostDiagnostics& host) { host.name_failure = "unknown"; },
       "own_name warning: its own name node1 does not resolve, which JAX on CPUs requires → write "
       "in its /etc/hosts: 10.0.0.1 node1"},
      {[](HostSeen&, HostDiagnostics& host) { host.name_addresses = {"127.0.1.1"}; },
       "own_name warning: node1 is 127.0.1.1, which JAX on CPUs and TensorPipe give to other hosts "
       "→ write in its /etc/hosts: 10.0.0.1 node1"},
      {[](HostSeen& seen, HostDiagnostics& host) {
         host.name_addresses = {"127.0.1.1"};
         seen.reached_at.clear();
       },
       ""},
      {[](HostSeen&, HostDiagnostics& host) { host.name_addresses = {"10.0.0.1"}; }, ""},
      {[](HostSeen&, HostDiagnostics& host) { host.home_failure = "Read-only file system"; },
       "home warning: no file can be made in /home/me: Read-only file system → checkpoints and "
       "caches fail there; give programs another folder"},
      {[](HostSeen&, HostDiagnostics& host) {
         host.folder = "/root/proj";
         host.folder_failure = "No such file or directory";
       },
       "folder warning: /root/proj cannot be entered: No such file or directory → a job starts in "
       "the home folder there; copy the folder, or give --chdir"},
      {[](HostSeen&, HostDiagnostics& host) {
         host.folder = "/root/proj";
         host.folder_failure = "No such file or directory";
         host.files_missing = {"train.py"};
       },
       "folder failure: /root/proj and train.py are not there → start the job with --sync, or "
       "copy it to the same path there"},
      {[](HostSeen&, HostDiagnostics& host) {
         host.folder = "/root/proj";
         host.files_missing = {"train.py"};
       },
       "folder failure: train.py is not in /root/proj → start the job with --sync, or copy it to "
       "the same "
       "path there"},
  };
  for (const SpoiledHost& one : cases)
    check_complaint(one);
}

TEST_CASE("each obstacle for a job is a finding with its remedy") {
  const SpoiledHost cases[] = {
      {[](HostSeen& seen, HostDiagnostics&) {
         seen.diagnosis->clock = {seconds(-90), milliseconds(2)};
       },
       "clock warning: 90.0 s behind this machine's, ±2.00 ms → let NTP set it: timedatectl "
       "set-ntp true, or chronyc makestep"},
      {[](HostSeen& seen, HostDiagnostics&) {
         seen.diagnosis->clock = {milliseconds(1001), milliseconds(2)};
       },
       ""},
      {[](HostSeen& seen, HostDiagnostics&) {
         seen.diagnosis->clock = {milliseconds(1003), milliseconds(2)};
       },
       "clock warning: 1.00 s ahead of this machine's, ±2.00 ms → let NTP set it: timedatectl "
       "set-ntp true, or chronyc makestep"},
      {[](HostSeen& seen, HostDiagnostics&) { seen.reaches_launcher->clear(); },
       "launcher warning: cannot reach this machine at 10.0.0.9 → its tasks will reach the "
       "rendezvous through their agent; to avoid that, allow TCP connections from that host to "
       "this machine"},
      {[](HostSeen& seen, HostDiagnostics&) {
         seen.diagnosis->found.listen_failure = "it has only eth0";
       },
       "addresses failure: it has only eth0"},
      {[](HostSeen&, HostDiagnostics& host) { host.dtrain = "0.9"; },
       "versions failure: dtrain 0.9, glibc 2.36, Linux 6.1 x86_64 → the other hosts have dtrain "
       "1.0; remove the one that is found first here"},
  };
  for (const SpoiledHost& one : cases)
    check_complaint(one);
}

TEST_CASE("a finding about a scarce resource has the number that is needed") {
  struct Case {
    std::function<void(HostDiagnostics& host)> spoil;
    std::string complaint;  ///< its beginning
    int slots = 2;
  };
  const Case cases[] = {
      {[](HostDiagnostics& h) { h.gpus.gpus.pop_back(); },
       "gpus warning: 1 H100, driver 535.1, CUDA 12.2 → most hosts have 2; try there: nvidia-smi"},
      {[](HostDiagnostics& h) { h.gpus = {}; },
       "gpus warning: 2 of NVIDIA's on the PCI bus, and no driver for them → install"},
      {[](HostDiagnostics& h) {
         h.gpus = {};
         h.gpu_failure = "the driver and the library differ";
       },
       "gpus warning: the driver and the library differ → try there: nvidia-smi"},
      {[](HostDiagnostics& h) { h.gpus.driver_version = "470"; },
       "gpus warning: 2 H100, driver 470, CUDA 12.2 → most hosts have driver 535.1"},
      {[](HostDiagnostics& h) { h.gpus.warnings = {"GPU 3 is lost"}; },
       "gpus warning: 2 H100, driver 535.1, CUDA 12.2 → GPU 3 is lost"},
      {[](HostDiagnostics&) {},
       "gpus warning: 2 H100, driver 535.1, CUDA 12.2 → 3 slots: tasks would share GPUs", 3},
      {[](HostDiagnostics& h) { h.cpus_allowed = 1; },
       "cores warning: 1 of 8 may be used → 2 slots: tasks would share cores"},
      {[](HostDiagnostics& h) { h.memory_free_bytes = gibi - 1; },
       "memory warning: 1024 MiB free of 64.0 GiB → 2 tasks of a framework need about 1.0 GiB"},
      {[](HostDiagnostics& h) { h.open_files.soft = 256; },
       "open_files warning: 256, hard limit 524288 → data loaders and NCCL want 1024, hard limit "
       "4096: nofile in /etc/security/limits.conf"},
      {[](HostDiagnostics& h) { h.open_files = {.soft = 1024, .hard = 1024}; },
       "open_files warning: 1024, hard limit 1024 →"},
      {[](HostDiagnostics& h) { h.open_files = {.soft = {}, .hard = {}}; }, ""},
      {[](HostDiagnostics& h) { h.open_files = {.soft = 16, .hard = 16}; },
       "open_files failure: 16, hard limit 16 → 2 tasks need 22: raise the hard limit of nofile"},
      {[](HostDiagnostics& h) { h.locked_memory.soft = 4096; },
       "locked_memory warning: 4.0 KiB → programs count on 64.0 KiB: memlock in"},
      {[](HostDiagnostics& h) { h.rdma_devices = 1; },
       "locked_memory warning: 8.0 MiB → RDMA wants it unlimited: memlock in"},
      {[](HostDiagnostics& h) {
         h.rdma_devices = 1;
         h.locked_memory = {};
       },
       ""},
      {[](HostDiagnostics& h) { h.shared_memory = {"/dev/shm", 64 << 20, 64 << 20}; },
       "shared_memory warning: 64.0 MiB free of 64.0 MiB in /dev/shm → NCCL and data loaders want "
       "1 GiB: docker run --shm-size=1g or --ipc=host"},
      {[](HostDiagnostics& h) { h.shared_memory = {"/dev/shm", {}, {}}; },
       "shared_memory warning: there is no /dev/shm →"},
      {[](HostDiagnostics& h) { h.home.free_bytes = 100 << 20; },
       "home warning: 100 MiB free of 100 GiB in /home/me → make room there"},
      {[](HostDiagnostics& h) { h.temporary.free_bytes = 0; },
       "temporary failure: 0 bytes free of 100 GiB in /tmp → make room there"},
      {[](HostDiagnostics& h) { h.home = {}; }, "home warning: HOME is not set →"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.complaint);
    HostDiagnostics host = good_host();
    one.spoil(host);
    const std::string text = complaints(resource_findings(host, one.slots, usual));
    CAPTURE(text);
    CHECK(text.starts_with(one.complaint));
    CHECK(text.empty() == one.complaint.empty());
    CHECK(std::ranges::count(text, '\n') == 0);
  }
}

TEST_CASE("settings and connections that keep GPUs from collectives are found") {
  struct Case {
    std::function<void(HostDiagnostics& host)> spoil;
    std::string complaint;  ///< its beginning
    int slots = 2;
  };
  const Case cases[] = {
      {[](HostDiagnostics& h) { h.gpus.gpus[1].compute_mode = "prohibited"; },
       "gpus warning: GPU 1 accepts no program: its compute mode is prohibited → try there: "
       "nvidia-smi -c DEFAULT"},
      {[](HostDiagnostics& h) {
         h.gpus.gpus[0].uuid = "GPU-a";
         h.gpus.gpus[1].uuid = "GPU-b";
         h.gpus.pairs = {{"GPU-a", "GPU-hidden", "SYS", "why"},
                         {"GPU-a", "GPU-b", "PHB", "the chipset does not support it"}};
       },
       "gpus warning: GPUs 0 and 1 cannot use each other's memory: the chipset does not support "
       "it → collectives go through the host's memory"},
      {[](HostDiagnostics& h) { h.gpus.gpus[0].compute_mode = "exclusive_process"; },
       "gpus warning: 2 H100, driver 535.1, CUDA 12.2 → 3 slots: tasks would share GPUs, and their "
       "compute mode allows one process each",
       3},
      {[](HostDiagnostics& h) {
         h.gpus.pairs = {{"GPU-a", "GPU-b", "NVLink", ""}};
         h.gpus.driver_version = "470";
       },
       "gpus warning: 2 H100, driver 470, CUDA 12.2, NVLink → most hosts have driver 535.1"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.complaint);
    HostDiagnostics host = good_host();
    one.spoil(host);
    const std::string told = complaints(resource_findings(host, one.slots, usual));
    CAPTURE(told);
    CHECK(told.starts_with(one.complaint));
    CHECK(told.empty() == one.complaint.empty());
    CHECK(std::ranges::count(told, '\n') == 0);
  }
}

TEST_CASE("an unreachable host has that failure as its only finding") {
  HostSeen unreachable = good_seen();
  unreachable.unreachable = "is sshd running there?";
  CHECK(host_findings(unreachable, usual) ==
        std::vector<Finding>{{"ssh", Grade::failure, "is sshd running there?"}});
  HostSeen silent = good_seen();
  silent.diagnosis.reset();
  silent.silent = "its process ended";
  CHECK(complaints(host_findings(silent, usual)) == "agent failure: its process ended");
}

TEST_CASE("the most frequent value is usual, and the first of equally frequent ones") {
  std::vector<HostSeen> hosts(3, good_seen());
  const Usual of_three = usual_of(hosts);
  CHECK(of_three.dtrain == "1.0");
  CHECK(of_three.driver == "535.1");
  CHECK(of_three.programs.python == CommonValue{"3.11", {"node1", "node1", "node1"}});
  hosts[0].diagnosis->found.facts.gpus = {};
  CHECK(usual_of(hosts) == of_three);
  hosts.pop_back();
  CHECK(usual_of(hosts).gpus == 0);
  hosts[0].diagnosis.reset();
  CHECK(usual_of(hosts).gpus == 2);
  CHECK(usual_of({}) == Usual());
}

TEST_CASE("a clock is compared by four readings, whatever time the agent takes") {
  constexpr int64_t s = 1'000'000'000;
  struct Case {
    int64_t asked;
    int64_t received;
    int64_t sent;
    int64_t answered;
    ClockSkew skew;
  };
  const Case cases[] = {
      // 10 s ahead, 2 s of delay in both directions, 5 s of work between.
      {100 * s, 111 * s, 116 * s, 107 * s, {seconds(10), seconds(1)}},
      {100 * s, 91 * s, 91 * s, 102 * s, {seconds(-10), seconds(1)}},
      {100 * s, 100 * s, 103 * s, 103 * s, {seconds(0), seconds(0)}},
      // All of the delay is in the answer: half of it counts as skew, and is reported as error.
      {100 * s, 100 * s, 100 * s, 104 * s, {seconds(-2), seconds(2)}},
  };
  for (const Case& one : cases) {
    const DiagnoseReply answer = {.received_ns = one.received, .sent_ns = one.sent};
    CHECK(clock_skew(one.asked, answer, one.answered) == one.skew);
  }
}

}  // namespace
}  // namespace dt
