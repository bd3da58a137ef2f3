#include "launcher/check/program_findings.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

namespace dt {
namespace {

HostDiagnostics good_host() {
  HostDiagnostics host;
  host.python_path = "/usr/bin/python3";
  host.python_version = "3.11.2";
  host.command_path = "/work/train";
  host.command_sha256 = std::string(64, 'a');
  host.modules = {{"torch", "2.1", ""}, {"own", "", ""}};
  return host;
}

/// "topic grade: text → remedy" of each finding of `host`, beside two good hosts.
std::vector<std::string> findings_beside_good_ones(const HostDiagnostics& host) {
  const HostDiagnostics good = good_host();
  const CommonPrograms common =
      common_programs({{"node1", &good}, {"node2", &good}, {"node3", &host}});
  std::vector<std::string> lines;
  for (const Finding& finding : program_findings(host, common)) {
    lines.push_back(format("{} {}: {}{}{}", finding.topic, name_of(finding.grade), finding.text,
                           finding.remedy.empty() ? "" : " → ", finding.remedy));
  }
  return lines;
}

TEST_CASE("hosts with the same programs are ok in every topic") {
  CHECK(findings_beside_good_ones(good_host()) ==
        std::vector<std::string>{"path ok: all folders exist", "command ok: /work/train",
                                 "python ok: 3.11.2 at /usr/bin/python3",
                                 "modules ok: torch 2.1, own"});
}

TEST_CASE("a difference to other hosts is a warning with both values and the hosts") {
  struct Case {
    std::function<void(HostDiagnostics& host)> spoil;
    std::string finding;
  };
  const Case cases[] = {
      {[](HostDiagnostics& h) { h.path_missing = {"/opt/cuda/bin"}; },
       "path warning: missing here: /opt/cuda/bin → node1, node2 have /opt/cuda/bin: a job finds "
       "other programs there, or none here"},
      {[](HostDiagnostics& h) { h.command_path = "/usr/bin/train"; },
       "command warning: /usr/bin/train → node1, node2 have /work/train"},
      {[](HostDiagnostics& h) { h.command_sha256 = std::string(64, 'b'); },
       "command warning: /work/train, SHA-256 bbbbbbbbbbbb… → node1, node2 have another file "
       "there, SHA-256 aaaaaaaaaaaa…; copy one to all hosts"},
      {[](HostDiagnostics& h) { h.command_sha256 = ""; }, "command ok: /work/train"},
      {[](HostDiagnostics& h) {
         h.command_path = "";
         h.command_failure = "cannot run train: not found in PATH=/bin";
       },
       "command failure: cannot run train: not found in PATH=/bin → copy it there, or give its "
       "path on the hosts"},
      {[](HostDiagnostics& h) { h.python_path = h.python_version = ""; },
       "python warning: neither python3 nor python is in the PATH of the job → a job gets the PATH "
       "of this shell: activate the environment first, or give Python's whole path"},
      {[](HostDiagnostics& h) { h.python_version = ""; },
       "python warning: /usr/bin/python3 prints no version → try there: /usr/bin/python3 "
       "--version"},
      {[](HostDiagnostics& h) { h.python_version = "3.9.2"; },
       "python warning: 3.9.2 at /usr/bin/python3 → node1, node2 have Python 3.11: packages and "
       "pickles may not fit"},
      {[](HostDiagnostics& h) { h.python_version = "3.11.9"; },
       "python ok: 3.11.9 at /usr/bin/python3"},
      {[](HostDiagnostics& h) { h.python_path = "/opt/venv/bin/python3"; },
       "python warning: 3.11.2 at /opt/venv/bin/python3 → node1, node2 have /usr/bin/python3: its "
       "packages may differ"},
      {[](HostDiagnostics& h) { h.modules[0].version = "2.0"; },
       "modules warning: torch 2.0, own → node1, node2 have torch 2.1"},
      {[](HostDiagnostics& h) {
         h.modules[1].failure = "ModuleNotFoundError: No module named 'own'";
       },
       "modules failure: torch 2.1, own: ModuleNotFoundError: No module named 'own' → install what "
       "is missing for this Python, or activate its environment"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.finding);
    HostDiagnostics host = good_host();
    one.spoil(host);
    const std::vector<std::string> lines = findings_beside_good_ones(host);
    CHECK(std::ranges::count(lines, one.finding) == 1);
  }
}

TEST_CASE("the file of a Python is not compared, nor are topics that nobody asked for") {
  HostDiagnostics host = good_host();
  host.command_path = host.python_path;
  HostDiagnostics other = host;
  other.command_sha256 = std::string(64, 'b');
  const CommonPrograms common = common_programs({{"a", &host}, {"b", &other}});
  CHECK(program_findings(other, common)[1] == Finding{"command", Grade::ok, "/usr/bin/python3"});
  host.command_path = host.command_sha256 = "";
  host.modules.clear();
  const auto findings = program_findings(host, common_programs({{"a", &host}}));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].topic == "path");
  CHECK(findings[1].topic == "python");
}

TEST_CASE(
    "a folder that no host has is no warning; of two equally frequent values the first counts") {
  HostDiagnostics first = good_host();
  HostDiagnostics second = good_host();
  first.path_missing = second.path_missing = {"/opt/cuda/bin"};
  second.python_path = "/opt/python3";
  const CommonPrograms common = common_programs({{"a", &first}, {"b", &second}});
  CHECK(program_findings(first, common)[0] ==
        Finding{"path", Grade::ok, "missing here: /opt/cuda/bin"});
  first.path_missing.push_back("/b");
  CHECK(program_findings(first, common)[0].text ==
        "2 folders are missing here, such as /opt/cuda/bin");
  CHECK(common.python_path == CommonValue{"/usr/bin/python3", {"a"}});
  CHECK(common.python_path.hosts_have() == "a has");
  CHECK(common_programs({}) == CommonPrograms());
}

}  // namespace
}  // namespace dt
