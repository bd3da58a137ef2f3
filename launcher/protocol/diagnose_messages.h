#pragma once

#include "launcher/protocol/host_diagnostics.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Speed of the network from one host to another. It has the shortest of some round trips, and the
/// bytes that arrived in a short transfer.
struct Speed {
  Duration round_trip{};
  uint64_t bytes = 0;
  Duration elapsed{};  ///< from the first bytes to the last, as the receiver saw them
  bool operator==(const Speed&) const = default;
};

/// From the launcher, instead of prepare: examine your host, and listen for probes and
/// measurements.
struct DiagnoseRequest {
  std::string token;
  uint32_t number = 0;         ///< of this agent
  std::string path;            ///< the PATH of the job
  std::string cwd = {};        ///< the folder of the job
  Environment forwarded = {};  ///< the variables that a job gets from the launcher
  std::string command = {};    ///< the first word of the job's command; empty: none
  /// Words of the command that are files where the launcher is; relative ones are in `cwd`.
  std::vector<std::string> files = {};
  std::vector<std::string> imports = {};  ///< modules that Python shall import
  Duration import_patience = seconds(20);
  std::vector<std::string> networks;  ///< to listen on: launcher/config/hosts/networks.h
  std::optional<PortRange> port_range = {};
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  bool operator==(const DiagnoseRequest&) const = default;
};

/// From the agent: the properties of its host, and the addresses at which it listens.
struct DiagnoseReply {
  HostDiagnostics facts;
  int64_t received_ns = 0;     ///< agent's wall clock when `diagnose` arrived, since 1970
  int64_t sent_ns = 0;         ///< agent's wall clock when this was sent
  std::string listen_failure;  ///< why it listens nowhere; empty: it listens
  std::vector<Address> probe_addresses;
  std::vector<Address> bandwidth_addresses;
  bool operator==(const DiagnoseReply&) const = default;
};

/// From the launcher: dial this BandwidthServer and measure.
struct Measure {
  uint32_t number = 0;  ///< of the agent that listens there
  Address address;
  Duration patience = seconds(3);
  bool operator==(const Measure&) const = default;
};

/// From the agent: the result of `measure`.
struct Measured {
  Speed speed;
  std::string failure;  ///< empty: `speed` is valid
  bool operator==(const Measured&) const = default;
};

Bytes encode(const DiagnoseRequest& message);
Bytes encode(const DiagnoseReply& message);
Bytes encode(const Measure& message);
Bytes encode(const Measured& message);
template <>
Result<DiagnoseRequest> decode(ByteSpan payload);
template <>
Result<DiagnoseReply> decode(ByteSpan payload);
template <>
Result<Measure> decode(ByteSpan payload);
template <>
Result<Measured> decode(ByteSpan payload);

/// Returns this machine's wall clock, since 1970.
int64_t wall_clock_ns();

/// How far the agent's wall clock is ahead of the launcher's, from four readings as in NTP.
struct ClockSkew {
  Duration ahead{};
  Duration error{};  ///< half of the time that the two messages were in transit
  bool operator==(const ClockSkew&) const = default;
};
/// `asked_ns` and `answered_ns` are the launcher's readings when it sent the request and received
/// the reply.
ClockSkew clock_skew(int64_t asked_ns, const DiagnoseReply& answer, int64_t answered_ns);

}  // namespace dt
