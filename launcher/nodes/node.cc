#include "launcher/nodes/node.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/io/network.h"
#include "base/io/socket.h"
#include "base/version.h"
#include "launcher/nodes/node_dial.h"
#include "launcher/nodes/node_output.h"
#include "launcher/nodes/node_relay.h"
#include "launcher/process/sweep.h"
#include "launcher/report/conclusion.h"
#include "launcher/report/report.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

bool names_path(const RunConfig& config) {
  return std::ranges::any_of(
      config.environment, [](const EnvironmentSetting& setting) { return setting.name == "PATH"; });
}

std::string own_path(const RunConfig& config, const Environment& environment) {
  const auto path = environment.find("PATH");
  return path == environment.end() || names_path(config) ? "" : path->second;
}

/// Files of the job are on node 0.
NodeRelay::Options relay_options(const RunConfig& config, const Environment& environment,
                                 Runtime& runtime) {
  TaskOutput::Options output = output_options(config, runtime);
  output.folder.reset();
  output.results.reset();
  return {.intro = own_intro(config),
          .path = own_path(config, environment),
          .grace = config.grace,
          .output = std::move(output)};
}

bool owns(const std::string& master) {
  if (canonical_host(master) == canonical_host(own_host_name())) return true;
  const auto ips = look_up_addresses(master);
  if (!ips) return false;
  const std::vector<InterfaceAddress> own = interface_addresses();
  return std::ranges::any_of(*ips, [&own](const std::string& ip) {
    return std::ranges::count(own, ip, &InterfaceAddress::ip) > 0;
  });
}

/// A second node of rank 0 only shows by its effects: here the port is taken, or nodes are missing.
DialedHosts::NodeAdvice advice_for(const NodeOptions& nodes) {
  if (!nodes.rank) {
    const std::string endpoint = host_port(nodes.master, nodes.port);
    return {.absent = format(
                "does dtrain run start there, with --rdzv-endpoint {} and --nnodes {}?", endpoint,
                nodes.least == nodes.count ? format("{}", nodes.count)
                                           : format("{}:{}", nodes.least, nodes.count)),
            .port_taken =
                format("give all nodes another port than that of --rdzv-endpoint {}", endpoint)};
  }
  // A look-up of a name could block; addresses and this machine's own name need none.
  const bool is_numeric = IpNetwork::parse(nodes.master + "/0").has_value();
  const std::string foreign =
      is_numeric && !owns(nodes.master)
          ? format("; this machine has no address {}, which is that of node 0", nodes.master)
          : "";
  return {.absent = format("does dtrain run start there, with its own {0}? A second node of rank 0 "
                           "would wait, too: check {0} on each node{1}",
                           nodes.rank_origin, foreign),
          .port_taken = format("if that is another node of rank 0, check {} on each node, else "
                               "give all nodes another port",
                               nodes.rank_origin)};
}

Result<int> serve(const RunConfig& config, const Environment& environment, Runtime& runtime) {
  Dialed dialed = TRY(dial_node_0(runtime, *config.nodes,
                                  {.patience = config.start_timeout,
                                   .dead_after = config.dead_after,
                                   .look_up = look_up_addresses}));
  NodeRelay relay(runtime, relay_options(config, environment, runtime));
  TRY(relay.open(std::move(dialed)));
  return relay.run();
}

/// A process that ended without its agent has left tasks, which are children of this one now.
void end_leftovers(Runtime& runtime) {
  if (!has_children()) return;
  bool is_over = false;
  const Sweep sweep(runtime.loop(), {}, [&is_over](const Sweep::Report&) { is_over = true; });
  while (!is_over && runtime.loop().run_once(Time::max()))
    continue;
}

}  // namespace

NodeIntro own_intro(const RunConfig& config) {
  return {.build = std::string(build_version),
          .hostname = own_host_name(),
          .count = config.nodes->count,
          .processes = config.nodes->processes,
          .command = config.command,
          .order = config.nodes->order.value_or(-1)};
}

std::optional<DialedHosts::Options> dialed_by_nodes(const RunConfig& config) {
  if (!config.nodes) return std::nullopt;
  const NodeOptions& nodes = *config.nodes;
  DialedHosts::Options options = {
      .program = "dtrain run", .patience = config.start_timeout, .dead_after = config.dead_after};
  options.where = [port = nodes.port]() -> Result<DialedHosts::Where> {
    return DialedHosts::Where{.ips = {}, .port = port};
  };
  options.nodes = DialedHosts::Nodes{.token = token_of_nodes(nodes),
                                     .job = name_of_nodes(nodes),
                                     .own = own_intro(config),
                                     .may_return = config.restarts.max > 0,
                                     .anonymous = config.restarts.size.has_value(),
                                     .least = nodes.least,
                                     .advice = advice_for(nodes)};
  return options;
}

bool begin_as_node_0(RunConfig& config, Log& log) {
  const NodeOptions& nodes = *config.nodes;
  const bool is_first = nodes.rank
                            ? *nodes.rank == 0
                            : owns(nodes.master) && check_no_listener(nodes.port).has_value();
  if (!is_first) return false;
  config.hosts.front().name = own_host_name();
  const int others = nodes.count - 1;
  log.print("node 0 of {} ({}); waiting for {} node{} at port {}", nodes.count,
            nodes.rank ? nodes.rank_origin : format("it has the address {}", nodes.master), others,
            others == 1 ? "" : "s", nodes.port);
  if (!nodes.token)
    log.warn("--no-token: each process that reaches port {} may take part, and run as this user",
             nodes.port);
  return true;
}

void dismiss_nodes(DialedHosts* nodes, const Outcome& outcome) {
  if (nodes == nullptr || !nodes->has_nodes()) return;
  const std::string reason = outcome.failure ? failure_text(*outcome.failure, {}) : outcome.reason;
  // A node that does not hear of it notices the end of its connection.
  static_cast<void>(nodes->dismiss({.status = outcome.exit_status, .reason = reason}));
}

int run_node(const RunConfig& config, const Environment& environment, Runtime& runtime) {
  become_subreaper();
  auto status = serve(config, environment, runtime);
  end_leftovers(runtime);
  const bool ended_well = status && *status == 0;
  runtime.drain(Clock::now() + (ended_well ? own_reader_patience : drain_patience));
  if (status) return *status;
  if (status.error().code == Errc::interrupted)
    return interrupted_outcome(runtime.interrupted()).exit_status;
  runtime.log().error("{}", status.error().message);
  runtime.drain(Clock::now() + drain_patience);
  return exit_status_of(status.error().code);
}

}  // namespace dt
