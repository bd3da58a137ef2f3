#include "launcher/export/kubernetes/node_shape.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/placement_options.h"
#include "launcher/config/role.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace dt {
namespace {

/// Returns the last value of an option that the user gave.
std::optional<std::string> given_value(const ExportJob& job, std::string_view name) {
  for (const DecidedOption& one : job.options)
    if (one.option->name == name && !one.values.empty()) return one.values.back();
  return std::nullopt;
}

std::optional<int> parse_count(std::string_view text) {
  const std::optional<int64_t> count = parse_integer(text);
  if (!count || *count < 1 || *count > processes_max) return std::nullopt;
  return static_cast<int>(*count);
}

Result<> read_nnodes(const std::string& text, NodeShape& shape) {
  const size_t colon = text.find(':');
  const auto least = parse_count(std::string_view(text).substr(0, colon));
  const auto most =
      colon == std::string::npos ? least : parse_count(std::string_view(text).substr(colon + 1));
  if (!least || !most || *least > *most) {
    return fail(Errc::input, format("--nnodes: expected a number of nodes, 1..{}, or MIN:MAX, got "
                                    "\"{}\"",
                                    processes_max, printable(text)));
  }
  shape.nodes = *most;
  shape.nnodes = text;
  return {};
}

/// Reads the nodes from the hosts of the job, whose names do not count.
Result<> count_hosts(const ExportJob& job, NodeShape& shape) {
  if (!job.plan) {
    shape.nodes = std::max(1, static_cast<int>(job.config.hosts.size()));
    shape.nnodes = format("{}", shape.nodes);
    return {};
  }
  shape.nodes = std::max(1, static_cast<int>(job.plan->host_count()));
  shape.nnodes = format("{}", shape.nodes);
  for (const PlannedHost& host : job.plan->hosts) {
    if (host.task_count() == 0) continue;
    if (shape.processes != 0 && shape.processes != host.task_count()) {
      return fail(Errc::input,
                  format("hosts of {} and {} processes: the pods of a job are equal; give --nnodes "
                         "N and --nproc-per-node N",
                         shape.processes, host.task_count()));
    }
    shape.processes = host.task_count();
  }
  return {};
}

Result<> split_processes(const ExportJob& job, NodeShape& shape) {
  const int all = task_count(job.config.roles);
  if (all == 0) return {};
  if (all % shape.nodes != 0) {
    return fail(Errc::input, format("{} processes on {} nodes: the pods of a job are equal; give a "
                                    "multiple of {}",
                                    all, shape.nodes, shape.nodes));
  }
  shape.processes = all / shape.nodes;
  return {};
}

}  // namespace

bool is_node_option(std::string_view name) {
  constexpr std::array<std::string_view, 9> names = {"nnodes",      "node-rank",    "master-addr",
                                                     "master-port", "rdzv-backend", "rdzv-endpoint",
                                                     "rdzv-id",     "rdzv-conf",    "standalone"};
  return std::ranges::find(names, name) != names.end();
}

Result<NodeShape> node_shape(const ExportJob& job) {
  NodeShape shape;
  const auto nnodes = given_value(job, "nnodes");
  auto per_node = given_value(job, "nproc-per-node");
  if (!per_node) per_node = given_value(job, "ppn");
  if (nnodes) {
    TRY(read_nnodes(*nnodes, shape));
  } else {
    TRY(count_hosts(job, shape));
  }
  if (per_node) {
    // The configuration has refused other words.
    shape.processes = parse_count(*per_node).value_or(0);
    shape.per_node = *per_node;
    const int all = task_count(job.config.roles);
    if (!nnodes && shape.processes > 0 && all > shape.processes && job.config.hosts.empty()) {
      shape.nodes = (all + shape.processes - 1) / shape.processes;
      shape.nnodes = format("{}", shape.nodes);
    }
    if (shape.processes > 0 && all > 0 && all != shape.nodes * shape.processes) {
      return fail(Errc::input, format("{} processes, but {} nodes have {} each; leave -np out", all,
                                      shape.nodes, shape.processes));
    }
    return shape;
  }
  if (shape.processes == 0) TRY(split_processes(job, shape));
  // As torchrun has it.
  if (shape.processes == 0 && nnodes) shape.processes = 1;
  if (shape.processes > 0) shape.per_node = format("{}", shape.processes);
  return shape;
}

ExportJob with_workers(ExportJob job, const NodeShape& shape) {
  job.config.roles.front().count = shape.nodes * shape.processes;
  return job;
}

}  // namespace dt
