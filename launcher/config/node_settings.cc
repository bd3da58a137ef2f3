#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/started_once.h"
#include "launcher/config/host_options.h"
#include "launcher/config/nodes/endpoint.h"
#include "launcher/config/nodes/nodes_token.h"
#include "launcher/config/option_value.h"
#include "launcher/config/restart_settings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr uint16_t static_port = 29500;
constexpr uint16_t c10d_port = 29400;
/// Pods may start after node 0's, and their names are published later still.
constexpr Duration pods_start_timeout_of_nodes = seconds(300);

std::string value_in(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool is_variable(const std::optional<OptionValue>& given) {
  return given && given->origin.starts_with("PET_");
}

/// Returns the option that names the hosts of the job.
std::optional<OptionValue> hosts_named_by(const OptionSources& sources) {
  for (const std::string_view name : {"hosts", "hostfile", "host-discovery-script"}) {
    if (auto given = find_option(sources, name)) return given;
  }
  return std::nullopt;
}

Result<bool> is_standalone(const OptionSources& sources) {
  const auto given = find_option(sources, "standalone");
  if (!given) return false;
  return given->flag();
}

/// True where --nnodes counts nodes of which each starts this command. A job of 1:N nodes that
/// names none of the others runs on this machine alone, as under torchrun.
bool counts_nodes(const OptionSources& sources, const NodeRange& nodes) {
  if (nodes.most < 2) return false;
  if (nodes.least > 1 || is_variable(find_option(sources, "nnodes"))) return true;
  const std::string_view others[] = {"node-rank", "master-addr", "rdzv-endpoint"};
  return std::ranges::any_of(
      others, [&](std::string_view name) { return find_option(sources, name).has_value(); });
}

/// Returns the nodes of --nnodes, if it counts nodes that start by themselves.
Result<std::optional<NodeRange>> started_nodes(const OptionSources& sources) {
  const std::optional<NodeRange> nodes = TRY(read_node_range(sources));
  if (!nodes || !counts_nodes(sources, *nodes)) return std::nullopt;
  const bool alone = TRY(is_standalone(sources));
  return alone || hosts_named_by(sources) ? std::nullopt : nodes;
}

NodeOptions options_of(const NodeRange& nodes) {
  NodeOptions options;
  options.least = nodes.least;
  options.count = nodes.most;
  return options;
}

/// Returns whether nodes without a rank order themselves.
Result<bool> has_ranks_by_address(const OptionSources& sources) {
  const auto given = find_option(sources, "rdzv-backend");
  if (!given || given->value() == "static") return false;
  if (given->value() == "c10d") return true;
  return given->expected("static or c10d in a job of several nodes");
}

Result<std::optional<Endpoint>> read_endpoint(const OptionSources& sources) {
  const auto given = find_option(sources, "rdzv-endpoint");
  if (!given) return std::nullopt;
  const auto endpoint = parse_endpoint(given->value());
  if (!endpoint) return given->refuse(endpoint.error().message);
  return *endpoint;
}

/// Reads --master-addr and --master-port.
Result<Endpoint> read_master_words(const OptionSources& sources) {
  Endpoint master;
  if (const auto given = find_option(sources, "master-addr")) {
    const auto host = parse_master_host(given->value());
    if (!host) return given->refuse(host.error().message);
    master.host = *host;
  }
  if (const auto given = find_option(sources, "master-port")) {
    const int64_t port = TRY(given->integer(1, std::numeric_limits<uint16_t>::max()));
    master.port = static_cast<uint16_t>(port);
  }
  return master;
}

/// Reads the address of node 0, which two options may give.
Result<> read_master(const OptionSources& sources, uint16_t port, NodeOptions& nodes) {
  const std::optional<Endpoint> endpoint = TRY(read_endpoint(sources));
  const Endpoint words = TRY(read_master_words(sources));
  if (!endpoint && words.host.empty()) {
    const auto count = find_option(sources, "nnodes");
    return count->refuse(
        format("{} nodes, but neither their hosts nor the address of node 0 are given. Start "
               "dtrain run once with -H HOST,HOST,…, or on each node with --node-rank K and "
               "--master-addr HOST",
               printable(count->value())));
  }
  const auto differs = [&](std::string_view name, const std::string& value) {
    const auto given = find_option(sources, "rdzv-endpoint");
    return given->refuse(format("{}, but {} is {}; give the same, or leave one of them out",
                                endpoint->text(), find_option(sources, name)->origin, value));
  };
  if (endpoint && !words.host.empty() && endpoint->host != words.host)
    return differs("master-addr", words.host);
  if (endpoint && endpoint->port != 0 && words.port != 0 && endpoint->port != words.port)
    return differs("master-port", std::to_string(words.port));
  nodes.master = endpoint ? endpoint->host : words.host;
  const uint16_t given = endpoint && endpoint->port != 0 ? endpoint->port : words.port;
  nodes.port = given != 0 ? given : port;
  return {};
}

/// A rank as text, and the option or variable that has it.
struct RankText {
  std::string text;
  std::string origin;
};

/// Returns the number that Slurm gives this node of the step; empty outside of one.
std::string number_in_step(const Environment& environment) {
  return tasks_of_step(environment) < 1 ? "" : value_in(environment, "SLURM_NODEID");
}

/// Finds the text of this node's rank; none: nothing has one, or Slurm's number only orders it.
Result<std::optional<RankText>> find_rank(const OptionSources& sources,
                                          const Environment& environment, bool by_address) {
  constexpr std::string_view of_variable = "env:";
  const auto given = find_option(sources, "node-rank");
  if (given && !is_variable(given) && given->value().starts_with(of_variable)) {
    const std::string name = given->value().substr(of_variable.size());
    if (name.empty()) return given->expected("env:NAME with the name of a variable");
    const std::string value = value_in(environment, name);
    if (value.empty()) {
      return given->refuse(
          format("the variable {} is {}; set it to the rank of this node, or give the number",
                 shell_quote(printable(name)),
                 environment.contains(name) ? "empty" : "not in the environment"));
    }
    return RankText{.text = value, .origin = name};
  }
  if (given) return RankText{.text = given->value(), .origin = given->origin};
  const std::string of_step = number_in_step(environment);
  if (of_step.empty() || by_address) return std::nullopt;
  return RankText{.text = of_step, .origin = "SLURM_NODEID"};
}

/// Reads the rank of this node. With `by_address`, only a given rank is one: Slurm's first node
/// need not be the one that the others dial.
Result<> read_rank(const OptionSources& sources, const Environment& environment, bool by_address,
                   NodeOptions& nodes) {
  const std::optional<RankText> found = TRY(find_rank(sources, environment, by_address));
  if (!found && by_address) {
    const auto order = parse_integer(number_in_step(environment));
    if (order && *order >= 0 && *order <= std::numeric_limits<int>::max())
      nodes.order = static_cast<int>(*order);
  }
  if (!found) return {};
  const auto rank = parse_integer(found->text);
  if (!rank || *rank < 0 || *rank >= nodes.count) {
    return fail(Errc::input,
                format("{}: expected the rank of this node, 0..{} of {} nodes, got "
                       "\"{}\"",
                       found->origin, nodes.count - 1, nodes.count, printable(found->text)));
  }
  nodes.rank = static_cast<int>(*rank);
  nodes.rank_origin = found->origin;
  return {};
}

Result<> read_token(const OptionSources& sources, const Environment& environment,
                    NodeOptions& nodes) {
  const auto open = find_option(sources, "no-token");
  bool accepts_all = false;
  if (open) accepts_all = TRY(open->flag());
  std::string origin;
  if (const auto file = find_option(sources, "token-file")) {
    const std::string path = TRY(file->text("a file"));
    const auto token = read_nodes_token_file(path);
    if (!token) {
      return file->refuse(format("{}: {}", shell_quote(printable(path)), token.error().message));
    }
    nodes.token = *token;
    origin = file->origin;
  } else {
    nodes.token = TRY(read_nodes_token_variable(environment));
    origin = nodes_token_variable;
  }
  if (nodes.token && accepts_all) {
    return open->refuse(
        format("conflicts with {}, which has a token; leave one of them out", origin));
  }
  if (nodes.token || accepts_all) return {};
  return fail(Errc::input,
              format("the nodes of a job prove themselves by a token, and there is none. `dtrain "
                     "token` prints one: give it to all nodes as {}, or as --token-file FILE. "
                     "--no-token accepts every process that reaches the port of node 0",
                     nodes_token_variable));
}

/// Names hosts that no user can name, since a blank is in no host name.
void name_hosts(RunConfig& config) {
  for (int rank = 0; rank < config.nodes->count; ++rank) {
    Host host = {.name = rank == 0 ? "localhost" : format("node {}", rank)};
    host.slots = config.placement.per_host.value_or(0);
    config.hosts.push_back(std::move(host));
  }
}

/// Fails for values that are wrong in each job, also where no nodes start by themselves.
Result<> check_node_words(const OptionSources& sources) {
  for (const std::string_view name :
       {"token-file", "node-rank", "master-addr", "rdzv-endpoint", "rdzv-backend", "rdzv-id"}) {
    if (const auto given = find_option(sources, name)) TRY(given->text("a text"));
  }
  if (const auto given = find_option(sources, "no-token")) TRY(given->flag());
  const auto port = find_option(sources, "master-port");
  if (!port) return {};
  // Where no nodes await each other nothing uses the port, and torchrun's 0 is one, too.
  const std::optional<NodeRange> nodes = TRY(started_nodes(sources));
  const int64_t least = nodes && port->value() != "0" ? 1 : 0;
  TRY(port->integer(least, std::numeric_limits<uint16_t>::max()));
  return {};
}

/// Fails where srun starts several tasks on a node.
Result<> check_task_per_node(const Environment& environment) {
  const int64_t nodes = parse_integer(value_in(environment, "SLURM_STEP_NUM_NODES")).value_or(0);
  const int64_t tasks = tasks_of_step(environment);
  if (nodes == 0 || tasks <= nodes) return {};
  const bool is_first = value_in(environment, "SLURM_PROCID") == "0";
  if (!is_first) return fail(Errc::input, "");
  return fail(Errc::input,
              format("srun has started {} tasks on {} node{}, and dtrain run is started once on "
                     "each node; give srun --ntasks-per-node=1, and dtrain run --nproc-per-node N",
                     tasks, nodes, nodes == 1 ? "" : "s"));
}

/// Fails where each of the nodes that PET_NNODES counts would start a job of its own.
Result<> check_single_world(const OptionSources& sources, const Environment& environment,
                            const RunConfig& config) {
  const std::string text = value_in(environment, "PET_NNODES");
  // torchrun's form: "2", or "1:4" for an elastic job.
  const int64_t most = parse_integer(split(text, ':').back()).value_or(0);
  const bool has_hosts = config.external_cluster || !config.allocation.empty();
  if (most < 2 || has_hosts || environment.contains("DTRAIN_ROLE")) return {};
  auto other = hosts_named_by(sources);
  if (!other && !config.hosts.empty()) other = find_option(sources, "role");
  const auto nodes = find_option(sources, "nnodes");
  if (!other && nodes && !is_variable(nodes)) return {};
  if (!other) other = find_option(sources, "standalone");
  const std::string shown =
      format("PET_NNODES={} shows that each node starts this command", printable(text));
  if (!other) {
    return fail(Errc::input,
                shown + ", and each would be a job of its own; unset PET_NNODES for that");
  }
  return other->refuse(
      format("{}, and with {} each would be a job of its own; leave {} out, or "
             "unset PET_NNODES",
             shown, other->origin, other->origin));
}

/// Fails for --nnodes beside a cluster, which has the hosts.
Result<> check_no_nodes(const OptionSources& sources) {
  const std::optional<NodeRange> nodes = TRY(read_node_range(sources));
  const auto given = find_option(sources, "nnodes");
  if (!nodes || nodes->most < 2 || is_variable(given)) return {};
  const auto cluster = find_option(sources, "cluster-spec");
  return given->refuse(format("{} already has the hosts; leave one of them out",
                              cluster ? cluster->origin : "TF_CONFIG"));
}

/// Returns an option that is given and that a job of nodes cannot have, with the reason.
std::optional<std::pair<std::string_view, std::string_view>> unfit_option(const RunConfig& config) {
  const bool has_workers_only = config.roles.size() == 1 && config.roles.front().name == "worker" &&
                                config.roles.front().hosts.empty();
  if (!has_workers_only) {
    return std::pair{"role",
                     "a job of nodes has workers only, as many on each node; name the hosts by -H "
                     "for a job with other roles"};
  }
  if (config.sync) {
    return std::pair{"sync",
                     "the nodes of a job start by themselves, with files of their own; leave it "
                     "out, or name the hosts by -H"};
  }
  if (config.setup) {
    return std::pair{"setup",
                     "the nodes of a job start by themselves, and are set up before; leave it out, "
                     "or name the hosts by -H"};
  }
  if (config.fetch) {
    return std::pair{"fetch",
                     "the nodes of a job keep their files; leave it out, or name the hosts by -H"};
  }
  const bool forwards_token = std::ranges::any_of(
      config.environment,
      [](const EnvironmentSetting& setting) { return setting.name == nodes_token_variable; });
  if (forwards_token) {
    return std::pair{
        "env",
        "DTRAIN_NODES_TOKEN is the secret of the nodes, which no worker gets; leave it "
        "out"};
  }
  if (!config.restarts.spares.empty()) {
    return std::pair{"spare",
                     "the nodes of a job start by themselves; write --nnodes MIN:MAX, or name the "
                     "hosts by -H"};
  }
  return std::nullopt;
}

}  // namespace

Result<> find_step_nodes(const OptionSources& sources, const ProcessStart& start,
                         RunConfig& config) {
  TRY(check_node_words(sources));
  if (config.external_cluster) return check_no_nodes(sources);
  const int64_t tasks = tasks_of_step(start.environment);
  const bool inside_job = start.environment.contains("DTRAIN_ROLE");
  const std::optional<NodeRange> nodes = TRY(started_nodes(sources));
  // A shell of srun --pty may start all hosts, and srun starts one task for each rank of a loop.
  const bool started_each =
      tasks > 1 ? !start.on_terminal : tasks == 1 && find_option(sources, "node-rank").has_value();
  if (!nodes || !started_each || inside_job)
    return check_single_task(start.environment, start.on_terminal);
  TRY(check_task_per_node(start.environment));
  config.nodes = options_of(*nodes);
  return {};
}

Result<> read_nodes(const OptionSources& sources, const ProcessStart& start, RunConfig& config) {
  if (!config.nodes) {
    const std::optional<NodeRange> nodes = TRY(started_nodes(sources));
    if (!nodes || !config.allocation.empty()) return {};
    config.nodes = options_of(*nodes);
  }
  NodeOptions& nodes = *config.nodes;
  const bool by_address = TRY(has_ranks_by_address(sources));
  TRY(read_master(sources, by_address ? c10d_port : static_port, nodes));
  TRY(read_rank(sources, start.environment, by_address, nodes));
  if (!nodes.rank && !by_address) {
    return find_option(sources, "nnodes")
        ->refuse(format("{} nodes, but the rank of this one is missing: give --node-rank K of "
                        "0..{}, or set PET_NODE_RANK; srun with a task on each node sets "
                        "SLURM_NODEID",
                        nodes.count, nodes.count - 1));
  }
  if (const auto given = find_option(sources, "rdzv-id")) nodes.id = given->value();
  if (const auto given = find_option(sources, "nproc-per-node")) nodes.processes = given->value();
  TRY(read_token(sources, start.environment, nodes));
  if (start.environment.contains("KUBERNETES_SERVICE_HOST"))
    config.start_timeout = pods_start_timeout_of_nodes;
  if (!find_option(sources, "np") && !config.placement.per_host && !config.placement.slot_unit)
    config.placement.per_host = 1;
  name_hosts(config);
  return {};
}

Result<> settle_nodes_job(const OptionSources& sources, const ProcessStart& start,
                          RunConfig& config) {
  if (!config.nodes) return check_single_world(sources, start.environment, config);
  const auto unfit = unfit_option(config);
  if (!unfit) {
    std::vector<std::string>& of_role = config.roles.front().command;
    if (!of_role.empty()) config.command = std::exchange(of_role, {});
    return {};
  }
  const auto given = find_option(sources, unfit->first);
  if (given) return given->refuse(unfit->second);
  return fail(Errc::input, format("--{}: {}", unfit->first, unfit->second));
}

}  // namespace dt
