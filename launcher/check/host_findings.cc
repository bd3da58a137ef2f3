#include "launcher/check/host_findings.h"

#include "base/format.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/check/resource_findings.h"
#include "launcher/check/units.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace dt {

namespace {

/// Above it, nobody can compare the logs of several hosts. Files of other hosts seem to come from
/// the future. Kerberos and TLS refuse a skew of minutes. dtrain itself never compares two clocks.
constexpr Duration clock_skew_max = seconds(1);

template <class Value>
void count(std::vector<std::pair<Value, int>>& counts, Value value) {
  const auto found = std::ranges::find(counts, value, &std::pair<Value, int>::first);
  if (found == counts.end()) {
    counts.emplace_back(std::move(value), 1);
  } else {
    ++found->second;
  }
}

template <class Value>
Value most_frequent(const std::vector<std::pair<Value, int>>& counts) {
  const auto best = std::ranges::max_element(counts, {}, &std::pair<Value, int>::second);
  return best == counts.end() ? Value() : best->first;
}

Finding ssh_finding(const HostSeen& seen) {
  if (!seen.unreachable.empty()) return {"ssh", Grade::failure, seen.unreachable};
  if (seen.host.here && seen.connection.login.empty())
    return {"ssh", Grade::ok, "this machine, without ssh"};
  return {"ssh", Grade::ok,
          format("{}, {}", printable(seen.connection.login, 400), time_text(seen.connection.took))};
}

bool is_digest(std::string_view name) {
  constexpr size_t digits = 64;
  return name.size() == digits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Finding agent_finding(const HostSeen& seen) {
  if (!seen.silent.empty()) return {"agent", Grade::failure, seen.silent};
  const std::string& path = seen.diagnosis->found.facts.executable;
  if (seen.host.here) return {"agent", Grade::ok, printable(path, 200)};
  if (path.starts_with("/memfd:")) {
    return {"agent", Grade::warning, "sent, and kept in memory",
            "no folder there is writable and can run programs, so each job sends it again"};
  }
  // A cached executable is in a folder of ~/.cache/dtrain with its digest as name.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string shown = is_digest(folder.filename().string()) ? folder.parent_path() : folder;
  return {"agent", Grade::ok,
          format("{} {}", seen.connection.pushed ? "sent to" : "found in", printable(shown, 200))};
}

Finding versions_finding(const HostDiagnostics& host, const Usual& usual) {
  Finding finding = {
      "versions", Grade::ok,
      format("dtrain {}, glibc {}, Linux {} {}", printable(host.dtrain), printable(host.glibc),
             printable(host.kernel), printable(host.architecture))};
  if (host.dtrain == usual.dtrain) return finding;
  finding.grade = Grade::failure;
  finding.remedy = format("the other hosts have dtrain {}; remove the one that is found first here",
                          printable(usual.dtrain));
  return finding;
}

Finding clock_finding(const HostSeen& seen) {
  const ClockSkew& clock = seen.diagnosis->clock;
  const Duration off = std::chrono::abs(clock.ahead);
  // One machine has one clock; the measured difference is only the delay of messages.
  if (seen.host.here) return {"clock", Grade::ok, "this machine's"};
  if (off <= clock.error) {
    return {"clock", Grade::ok, "as this machine's, within " + time_text(clock.error)};
  }
  Finding finding = {
      "clock", Grade::ok,
      format("{} {} this machine's, ±{}", time_text(off),
             clock.ahead < Duration::zero() ? "behind" : "ahead of", time_text(clock.error))};
  if (off - clock.error <= clock_skew_max) return finding;
  finding.grade = Grade::warning;
  finding.remedy = "let NTP set it: timedatectl set-ntp true, or chronyc makestep";
  return finding;
}

Finding launcher_finding(const HostSeen& seen) {
  if (!seen.reaches_launcher->empty()) {
    return {"launcher", Grade::ok, "reaches this machine at " + seen.reaches_launcher->front()};
  }
  // A job still works: agents relay the rendezvous for tasks that cannot dial it.
  return {"launcher", Grade::warning,
          seen.launcher_at.empty() ? "this machine has none of the networks"
                                   : "cannot reach this machine at " + join(seen.launcher_at, ", "),
          "its tasks will reach the rendezvous through their agent; to avoid that, "
          "allow TCP connections from that host to this machine"};
}

Finding addresses_finding(const HostSeen& seen) {
  const std::vector<std::string>& reached = seen.reached_at;
  const std::string& failure = seen.diagnosis->found.listen_failure;
  if (!failure.empty()) return {"addresses", Grade::failure, printable(failure, 400)};
  if (!reached.empty()) {
    return {"addresses", Grade::ok, join(reached, ", ") + " lead other hosts here"};
  }
  std::vector<std::string> all = seen.diagnosis->found.facts.addresses;
  if (!std::ranges::all_of(all, is_loopback)) std::erase_if(all, is_loopback);
  return {"addresses", Grade::ok, printable(join(all, ", "), 400)};
}

/// The host's own name. JAX on CPUs and TensorPipe give its address to other hosts.
std::optional<Finding> name_finding(const HostSeen& seen) {
  const HostDiagnostics& host = seen.diagnosis->found.facts;
  const std::string name = printable(host.hostname);
  const auto outside = std::ranges::find_if_not(host.addresses, is_loopback);
  const std::string address = !seen.reached_at.empty()          ? seen.reached_at.front()
                              : outside == host.addresses.end() ? std::string("127.0.0.1")
                                                                : *outside;
  const std::string remedy = format("write in its /etc/hosts: {} {}", printable(address), name);
  if (!host.name_failure.empty()) {
    return Finding{"own_name", Grade::warning,
                   format("its own name {} does not resolve, which JAX on CPUs requires", name),
                   remedy};
  }
  if (host.name_addresses.empty()) return std::nullopt;
  const std::string leads =
      format("{} is {}", name, printable(join(host.name_addresses, ", "), 200));
  const bool others = !seen.reached_at.empty();
  if (!others || !std::ranges::all_of(host.name_addresses, is_loopback))
    return Finding{"own_name", Grade::ok, leads};
  return Finding{"own_name", Grade::warning,
                 leads + ", which JAX on CPUs and TensorPipe give to other hosts", remedy};
}

}  // namespace

Usual usual_of(const std::vector<HostSeen>& hosts) {
  std::vector<std::pair<std::string, int>> dtrain;
  std::vector<std::pair<std::string, int>> driver;
  std::vector<std::pair<size_t, int>> gpus;
  FactsOfHosts programs;
  for (const HostSeen& seen : hosts) {
    if (!seen.diagnosis) continue;
    const HostDiagnostics& host = seen.diagnosis->found.facts;
    count(dtrain, host.dtrain);
    count(gpus, host.gpus.gpus.size());
    programs.emplace_back(seen.host.name, &host);
    if (!host.gpus.driver_version.empty()) count(driver, host.gpus.driver_version);
  }
  return {.dtrain = most_frequent(dtrain),
          .driver = most_frequent(driver),
          .gpus = most_frequent(gpus),
          .programs = common_programs(programs)};
}

std::vector<Finding> host_findings(const HostSeen& seen, const Usual& usual) {
  std::vector<Finding> findings = {ssh_finding(seen)};
  if (!seen.unreachable.empty()) return findings;
  if (!seen.silent.empty() || seen.diagnosis) findings.push_back(agent_finding(seen));
  if (!seen.diagnosis) return findings;
  const HostDiagnostics& host = seen.diagnosis->found.facts;
  findings.push_back(versions_finding(host, usual));
  findings.push_back(clock_finding(seen));
  findings.push_back(addresses_finding(seen));
  if (auto name = name_finding(seen)) findings.push_back(*std::move(name));
  if (seen.reaches_launcher && !seen.host.here) findings.push_back(launcher_finding(seen));
  std::ranges::move(resource_findings(host, seen.host.slots, usual), std::back_inserter(findings));
  std::ranges::move(program_findings(host, usual.programs), std::back_inserter(findings));
  return findings;
}

}  // namespace dt
