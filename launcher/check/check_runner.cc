#include "launcher/check/check_runner.h"

#include "base/io/network.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/job/start/reach.h"

#include <algorithm>
#include <iterator>

namespace dt {

namespace {

/// Returns the addresses without those of the loopback, unless the host has no others. They lead
/// from no host to another one.
std::vector<Address> without_loopback(const std::vector<Address>& addresses) {
  std::vector<Address> outside;
  std::ranges::copy_if(addresses, std::back_inserter(outside),
                       [](const Address& address) { return !is_loopback(address.ip); });
  return outside.empty() ? addresses : outside;
}

std::vector<std::string> ips_of(const std::vector<Address>& addresses) {
  std::vector<std::string> ips;
  for (const Address& address : addresses)
    ips.push_back(address.ip);
  return ips;
}

}  // namespace

CheckRunner::CheckRunner(Runtime& runtime, AgentGroup& agents, const std::vector<Host>& hosts,
                         Terms terms)
    : runtime_(runtime), agents_(agents), terms_(std::move(terms)) {
  for (const Host& host : hosts)
    seen_.push_back({.host = host});
}

AgentGroup::Awaited CheckRunner::awaited() const {
  return {.deadline = Clock::now() + terms_.step_max,
          .interrupted = [this] { return runtime_.interrupted() != 0; }};
}

Result<> CheckRunner::await_hellos() {
  const Responses<Hello> hellos = TRY(agents_.await_each_hello(awaited()));
  for (size_t host = 0; host < seen_.size(); ++host) {
    hellos_.push_back(hellos[host] ? std::optional(*hellos[host]) : std::nullopt);
    if (!hellos[host]) seen_[host].unreachable = hellos[host].error().message;
    seen_[host].connection = agents_.connection(host);
  }
  return {};
}

Result<> CheckRunner::diagnose() {
  // Probe and measurement prove this token, so that strangers cannot take part.
  token_ = TRY(Token::random());
  std::vector<DiagnoseRequest> orders;
  for (size_t host = 0; host < seen_.size(); ++host) {
    orders.push_back(
        {.token = token_.text(),
         .number = static_cast<uint32_t>(host),
         .path = terms_.path,
         .cwd = terms_.cwd,
         .forwarded = terms_.forwarded,
         .command = terms_.command,
         .files = terms_.files,
         .imports = terms_.imports,
         // The rest of the step is for the answer.
         .import_patience = terms_.step_max / 5 * 4,
         .networks = terms_.networks,
         .port_range = terms_.port_range,
         .heartbeat = terms_.heartbeat,
         .dead_after = seen_[host].host.here ? terms_.local_dead_after : terms_.dead_after});
  }
  Responses<Diagnosis> answers = TRY(agents_.diagnose_each(orders, awaited()));
  for (size_t host = 0; host < seen_.size(); ++host) {
    HostSeen& seen = seen_[host];
    if (answers[host]) {
      seen.diagnosis = *std::move(answers[host]);
    } else if (seen.unreachable.empty()) {
      seen.silent = answers[host].error().message;
    }
    // The ssh client may print its lines about the login after the agent's hello.
    if (seen.unreachable.empty()) seen.connection.login = agents_.connection(host).login;
  }
  return {};
}

Result<> CheckRunner::probe() {
  // A job on this machine alone uses loopback.
  if (seen_.size() == 1 && seen_.front().host.here) return {};
  // Without an address in these networks this machine does not listen: agents relay for it.
  std::unique_ptr<ProbeListener> own;
  if (const auto where = allowed_addresses(interface_addresses(), terms_.networks)) {
    std::vector<HeldPort> held;
    if (terms_.port_range) held = TRY(hold_ports(1, terms_.port_range));
    const uint16_t port = held.empty() ? uint16_t{0} : held.front().number;
    own = TRY(ProbeListener::open(runtime_.loop(), {*where, port}, token_, launcher_number));
  }
  std::vector<Address> own_addresses;
  if (own) {
    for (const ProbeEndpoint& endpoint : own->endpoints())
      own_addresses.push_back(endpoint.address);
    own_addresses = without_loopback(own_addresses);
  }
  const auto count = static_cast<uint32_t>(seen_.size());
  std::vector<Probe> orders(seen_.size());
  for (uint32_t from = 0; from < count; ++from) {
    for (const uint32_t to : probe_targets(from, count)) {
      if (to == launcher_number) {
        orders[from].targets.push_back({to, own_addresses});
      } else if (to != from && present(to)) {
        orders[from].targets.push_back({to, without_loopback(found(to).probe_addresses)});
      }
    }
  }
  const Responses<Reached> answers = TRY(agents_.probe_each(orders, awaited()));
  for (uint32_t from = 0; from < count; ++from) {
    if (!present(from)) continue;
    seen_[from].launcher_at = ips_of(own_addresses);
    for (const ProbeTarget& target : orders[from].targets) {
      if (target.number == launcher_number) continue;
      pairs_[{from, target.number}] = {.from = seen_[from].host.name,
                                       .to = seen_[target.number].host.name,
                                       .tried = target.addresses,
                                       .reached = {}};
    }
    if (answers[from]) {
      record_reached(from, answers[from]->targets);
    } else {
      seen_[from].silent = answers[from].error().message;
    }
  }
  return {};
}

void CheckRunner::record_reached(size_t from, const std::vector<ProbeTarget>& targets) {
  for (const ProbeTarget& target : targets) {
    if (target.number == launcher_number) {
      seen_[from].reaches_launcher = ips_of(target.addresses);
      continue;
    }
    const auto pair = pairs_.find({from, target.number});
    if (pair == pairs_.end()) continue;
    pair->second.reached = target.addresses;
    std::vector<std::string>& known = seen_[target.number].reached_at;
    for (const Address& address : target.addresses) {
      if (std::ranges::count(known, address.ip) == 0) known.push_back(address.ip);
    }
  }
}

std::optional<Pair> CheckRunner::working_direction(const Pair& pair) const {
  for (const Pair& direction : {pair, Pair(pair.second, pair.first)}) {
    const auto seen = pairs_.find(direction);
    if (seen != pairs_.end() && !seen->second.reached.empty()) return direction;
  }
  return std::nullopt;
}

/// Returns the order to measure along this direction. Returns none when the second host does not
/// listen for measurements at the address that the first one reached.
std::optional<Measure> CheckRunner::order_for(const Pair& direction) const {
  const std::string& ip = pairs_.at(direction).reached.front().ip;
  const std::vector<Address>& points = found(direction.second).bandwidth_addresses;
  const auto point = std::ranges::find(points, ip, &Address::ip);
  if (point == points.end()) return std::nullopt;
  return Measure{.number = static_cast<uint32_t>(direction.second), .address = *point};
}

Result<> CheckRunner::measure() {
  for (const std::vector<Pair>& round : measuring_rounds(seen_.size())) {
    std::vector<std::optional<Measure>> orders(seen_.size());
    std::vector<Pair> directions;
    for (const Pair& pair : round) {
      const auto direction = working_direction(pair);
      if (!direction) continue;
      directions.push_back(*direction);
      orders[direction->first] = order_for(*direction);
    }
    if (directions.empty()) continue;
    const Responses<Measured> answers = TRY(agents_.measure_each(orders, awaited()));
    for (const Pair& direction : directions) {
      const Result<Measured>& answer = answers[direction.first];
      PairSeen& seen = pairs_.at(direction);
      seen.failure = answer ? answer->failure : answer.error().message;
      if (seen.failure.empty()) seen.speed = answer->speed;
    }
  }
  return {};
}

std::vector<std::string> CheckRunner::shared() const {
  std::vector<std::string> names;
  std::vector<Hello> hellos;
  for (size_t host = 0; host < hellos_.size(); ++host) {
    if (!hellos_[host]) continue;
    names.push_back(seen_[host].host.name);
    hellos.push_back(*hellos_[host]);
  }
  return shared_machines(names, hellos);
}

CheckReport CheckRunner::report() const {
  CheckReport report = {.seen = seen_};
  const Usual usual = usual_of(seen_);
  for (const HostSeen& seen : seen_)
    report.hosts.push_back({seen.host.name, host_findings(seen, usual)});
  for (const auto& [pair, seen] : pairs_) {
    PairReport one = pair_report(seen);
    // A pair that was only dialed gets a line when that failed.
    if (one.speed || one.grade != Grade::ok) report.pairs.push_back(std::move(one));
  }
  return report;
}

}  // namespace dt
