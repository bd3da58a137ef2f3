#include "launcher/check/check_runner.h"

#include "launcher/config/hosts/networks.h"
#include "launcher/job/reach.h"

#include <algorithm>

namespace dt {

namespace {

std::vector<std::string> ips_of(const std::vector<Address>& addresses) {
  std::vector<std::string> ips;
  for (const Address& address : addresses)
    ips.push_back(address.ip);
  return ips;
}

}  // namespace

CheckRunner::CheckRunner(Runtime& stage, AgentGroup& crew, const std::vector<Host>& hosts,
                         Terms terms)
    : stage_(stage), crew_(crew), terms_(std::move(terms)) {
  for (const Host& host : hosts)
    seen_.push_back({.host = host});
}

AgentGroup::Awaited CheckRunner::awaited() const {
  return {.deadline = Clock::now() + terms_.step_max,
          .interrupted = [this] { return stage_.interrupted() != 0; }};
}

Result<> CheckRunner::greet() {
  const Responses<Hello> hellos = TRY(crew_.await_each_hello(awaited()));
  for (size_t host = 0; host < seen_.size(); ++host) {
    hellos_.push_back(hellos[host] ? std::optional(*hellos[host]) : std::nullopt);
    if (!hellos[host]) seen_[host].unreachable = hellos[host].error().message;
    seen_[host].connection = crew_.connection(host);
  }
  return {};
}

Result<> CheckRunner::diagnose() {
  token_ = TRY(Token::random());
  std::vector<DiagnoseRequest> orders;
  for (size_t host = 0; host < seen_.size(); ++host) {
    orders.push_back({.token = token_.text(),
                      .number = static_cast<uint32_t>(host),
                      .path = terms_.path,
                      .networks = terms_.networks,
                      .port_range = terms_.port_range,
                      .heartbeat = terms_.heartbeat,
                      .dead_after = terms_.dead_after});
  }
  Responses<Diagnosis> answers = TRY(crew_.diagnose_each(orders, awaited()));
  for (size_t host = 0; host < seen_.size(); ++host) {
    HostSeen& seen = seen_[host];
    if (answers[host]) {
      seen.diagnosis = *std::move(answers[host]);
    } else if (seen.unreachable.empty()) {
      seen.silent = answers[host].error().message;
    }
    // The client's words about the login may have come behind the hello.
    if (seen.unreachable.empty()) seen.connection.login = crew_.connection(host).login;
  }
  return {};
}

Result<> CheckRunner::probe() {
  if (seen_.size() == 1 && seen_.front().host.here) return {};
  // One that has none of these networks is reached through its agents alone.
  std::unique_ptr<ProbeListener> own;
  if (const auto where = allowed_addresses(interface_addresses(), terms_.networks)) {
    std::vector<HeldPort> held;
    if (terms_.port_range) held = TRY(hold_ports(1, terms_.port_range));
    const uint16_t port = held.empty() ? uint16_t{0} : held.front().number;
    own = TRY(ProbeListener::open(stage_.loop(), {*where, port}, token_, launcher_number));
  }
  std::vector<Address> own_addresses;
  if (own) {
    for (const ProbeEndpoint& place : own->endpoints())
      own_addresses.push_back(place.address);
  }
  const auto count = static_cast<uint32_t>(seen_.size());
  std::vector<Probe> orders(seen_.size());
  for (uint32_t from = 0; from < count; ++from) {
    for (const uint32_t to : probe_targets(from, count)) {
      if (to == launcher_number) {
        orders[from].targets.push_back({to, own_addresses});
      } else if (to != from && present(to)) {
        orders[from].targets.push_back({to, found(to).probe_addresses});
      }
    }
  }
  const Responses<Reached> answers = TRY(crew_.probe_each(orders, awaited()));
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
      keep_reached(from, answers[from]->targets);
    } else {
      seen_[from].silent = answers[from].error().message;
    }
  }
  return {};
}

void CheckRunner::keep_reached(size_t from, const std::vector<ProbeTarget>& targets) {
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

std::optional<Pair> CheckRunner::way_between(const Pair& pair) const {
  for (const Pair& way : {pair, Pair(pair.second, pair.first)}) {
    const auto seen = pairs_.find(way);
    if (seen != pairs_.end() && !seen->second.reached.empty()) return way;
  }
  return std::nullopt;
}

std::optional<Measure> CheckRunner::order_for(const Pair& way) const {
  const std::string& ip = pairs_.at(way).reached.front().ip;
  const std::vector<Address>& points = found(way.second).bandwidth_addresses;
  const auto point = std::ranges::find(points, ip, &Address::ip);
  if (point == points.end()) return std::nullopt;
  return Measure{.number = static_cast<uint32_t>(way.second), .address = *point};
}

Result<> CheckRunner::measure() {
  for (const std::vector<Pair>& round : measuring_rounds(seen_.size())) {
    std::vector<std::optional<Measure>> orders(seen_.size());
    std::vector<Pair> ways;
    for (const Pair& pair : round) {
      const auto way = way_between(pair);
      if (!way) continue;
      ways.push_back(*way);
      orders[way->first] = order_for(*way);
    }
    if (ways.empty()) continue;
    const Responses<Measured> answers = TRY(crew_.measure_each(orders, awaited()));
    for (const Pair& way : ways) {
      const Result<Measured>& answer = answers[way.first];
      PairSeen& seen = pairs_.at(way);
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
    // Those that were only dialled are worth a line when that failed.
    if (one.speed || one.grade != Grade::ok) report.pairs.push_back(std::move(one));
  }
  return report;
}

}  // namespace dt
