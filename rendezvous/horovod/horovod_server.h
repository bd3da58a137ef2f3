#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "rendezvous/horovod/horovod_store.h"
#include "rendezvous/secure/address_set.h"
#include "rendezvous/secure/deadlines.h"

#include <cstddef>
#include <cstdint>
#include <map>

namespace dt {

/// A HorovodStore for connections that were accepted elsewhere. Horovod's workers cannot prove
/// anything, so that an address is all that tells them from strangers; what they can take from us
/// is bounded: connections, their time, and the bytes that all of them and the store hold.
class HorovodServer {
 public:
  struct Options {
    AddressSet sources;  ///< who is answered
    /// How long a connection may take for a whole request, for the next one, and to read an answer.
    Duration patience = seconds(5);
    size_t connections_max = 128;  ///< beyond, the oldest is closed: honest ones live for a moment
    /// Bytes of answers to one connection before it is the others' turn.
    size_t turn_bytes = size_t{1} << 20;
    HorovodLimits limits;
  };
  HorovodServer(Loop& loop, Options options, Log& log);
  HorovodServer(const HorovodServer&) = delete;
  HorovodServer& operator=(const HorovodServer&) = delete;

  /// Whether a connection that begins so may be Horovod's.
  static bool begins_with(std::byte first);
  /// How a connection came here: to our port, or by an agent of the job, who vouches for its host.
  enum class AgentConnection { dialled, adopted };
  /// Takes over a non-blocking connection and what was read from it. An error when it was dialled
  /// from an address that we do not answer.
  Result<> take(Fd connection, ByteSpan begun, AgentConnection way);

  /// No connection's time runs out until restart_deadlines(), which gives each the whole again.
  void suspend_deadlines() { deadlines_.suspend(); }
  void restart_deadlines() { deadlines_.restart(); }

  uint64_t requests() const { return store_.requests(); }
  size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    Fd fd;
    Watch watch;
    Bytes in = {};
    Bytes out = {};
    bool closing = false;  // when the answers have left

    size_t held() const { return in.size() + out.size(); }
  };
  enum class Reading { more, blocked, over };
  enum class Permit { over, waits, unfinished };

  void drop(uint64_t id);
  void ready(uint64_t id);
  Permit work(Connection& connection);
  static Reading read_some(Connection& connection);
  static bool send_answers(Connection& connection);
  void tell_if_full();

  Loop& loop_;
  Options options_;
  Log& log_;
  HorovodStore store_;
  std::map<uint64_t, Connection> connections_;  // the oldest first
  Deadlines deadlines_;
  uint64_t next_id_ = 1;
  size_t held_bytes_ = 0;  // by the buffers of all connections
  bool told_full_ = false;
};

}  // namespace dt
