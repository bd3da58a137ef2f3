#pragma once

#include "base/clock.h"
#include "base/crypto.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The input of agents that a scheduler starts, the same for all: how to reach their launcher. It
/// contains a secret, so it travels through standard input.
struct DialOrder {
  static constexpr size_t bytes_max = size_t{32} << 10;

  Token token;                     ///< of the agents' port alone
  std::string job;                 ///< names the job, for both ends of a handshake
  std::vector<std::string> hosts;  ///< in the order of their indices
  std::vector<Address> addresses;  ///< of the launcher; any may be unreachable
  Duration patience = {};          ///< how long an agent tries
  Duration dead_after = {};        ///< how long the other end may be silent

  /// Returns the claim of an agent, or that of the launcher.
  Claim claim_of(TaskId self) const;
  /// Returns one line of text.
  std::string text() const;
  /// Fails with Errc::input for a text that text() does not return.
  static Result<DialOrder> parse(std::string_view text);
  bool operator==(const DialOrder&) const = default;
};

}  // namespace dt
