#pragma once

#include "launcher/protocol/host_diagnostics.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// How fast one host reaches another: the shortest of some round trips, and what arrived in a short
/// transfer.
struct Speed {
  Duration round_trip{};
  uint64_t bytes = 0;
  Duration elapsed{};  ///< from the first bytes to the last, as the receiver saw them
  bool operator==(const Speed&) const = default;
};

/// Launcher, instead of prepare: look at your host, and listen for probes and measurements.
struct DiagnoseRequest {
  std::string token;
  uint32_t number = 0;                ///< the agent's own
  std::string path;                   ///< the PATH in which Python is looked for
  std::vector<std::string> networks;  ///< to listen on: launcher/config/hosts/networks.h
  std::optional<PortRange> port_range = {};
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  bool operator==(const DiagnoseRequest&) const = default;
};

/// Agent: what it has found.
struct DiagnoseReply {
  HostDiagnostics facts;
  int64_t received_ns = 0;  ///< its wall clock when `examine` came, since 1970
  int64_t sent_ns = 0;      ///< and when this left
  std::string deaf;         ///< why it listens nowhere; empty: it listens
  std::vector<Address> probe_points;
  std::vector<Address> bulk_points;
  bool operator==(const DiagnoseReply&) const = default;
};

/// Launcher: dial this BandwidthServer.
struct Measure {
  uint32_t number = 0;  ///< of the agent that listens there
  Address address;
  Duration patience = seconds(3);
  bool operator==(const Measure&) const = default;
};

struct Measured {
  Speed speed;
  std::string failure;  ///< empty: there is none
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

/// This machine's wall clock, since 1970.
int64_t wall_clock_ns();

/// How far the agent's wall clock is ahead of ours, by four readings as NTP takes them.
struct ClockSkew {
  Duration ahead{};
  Duration error{};  ///< half of the time that the messages were under way
  bool operator==(const ClockSkew&) const = default;
};
ClockSkew clock_skew(int64_t asked_ns, const DiagnoseReply& answer, int64_t answered_ns);

}  // namespace dt
