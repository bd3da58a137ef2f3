#pragma once

#include "launcher/check/check_report.h"

namespace dt {

/// Three hosts, each worse than the one before. Two of them reach each other in one direction
/// only.
inline CheckReport check_sample() {
  CheckReport report;
  report.hosts = {{"node1", {{"ssh", Grade::ok, "the OpenSSH client"}, {"cores", Grade::ok, "8"}}},
                  {"node2",
                   {{"ssh", Grade::ok, "the OpenSSH client"},
                    {"shared_memory", Grade::warning, "64.0 MiB free of 64.0 MiB in /dev/shm",
                     "NCCL and data loaders want 1 GiB: docker run --shm-size=1g or --ipc=host"}}},
                  {"node3", {{"ssh", Grade::failure, "it said this instead:\n  go away"}}}};
  report.seen.resize(3);
  const Speed speed = {microseconds(52), 1 << 26, milliseconds(50)};
  report.pairs = {{.from = "node1", .to = "node2", .address = "10.0.0.2", .speed = speed},
                  {.from = "node2",
                   .to = "node1",
                   .grade = Grade::failure,
                   .text = "node2 cannot reach node1 at 10.0.0.1",
                   .remedy = "a firewall must let TCP connections from node2 to node1, to any "
                             "port or to those of --port-range"}};
  return report;
}

}  // namespace dt
