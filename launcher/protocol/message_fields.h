#pragma once

#include "base/bytes.h"
#include "base/environment.h"
#include "base/io/network.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/words/macros.h"
#include "launcher/protocol/probe_target.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <optional>
#include <vector>

namespace dt {

// Codecs of fields that several messages share (launcher/protocol/message.h,
// launcher/protocol/diagnose_messages.h). Each `get_…` reads the bytes that `put` writes.

void put(Writer& writer, const Environment& environment);
Environment get_environment(Reader& reader);

void put(Writer& writer, const ClusterSpec& cluster);
ClusterSpec get_cluster(Reader& reader);

void put(Writer& writer, const std::optional<JobMacros>& macros);
std::optional<JobMacros> get_macros(Reader& reader);

void put(Writer& writer, const Address& address);
Address get_address(Reader& reader);

void put(Writer& writer, const std::vector<Address>& addresses);
std::vector<Address> get_addresses(Reader& reader);

void put(Writer& writer, const std::vector<ProbeTarget>& targets);
std::vector<ProbeTarget> get_targets(Reader& reader);

/// No range is written as 0 to 0.
void put(Writer& writer, const std::optional<PortRange>& range);
std::optional<PortRange> get_port_range(Reader& reader);

}  // namespace dt
