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
#include <utility>

namespace dt {

/// A HorovodStore for connections that were accepted elsewhere. Horovod's workers cannot prove the
/// token: only their address distinguishes them from other processes. So all their resources are
/// limited: connections, time, and the bytes that all of them and the store hold.
class HorovodServer {
 public:
  struct Options {
    AddressSet sources;  ///< the addresses that get answers
    /// How long a connection may take for a whole request, for the next one, and to read an answer.
    Duration timeout = seconds(5);
    size_t connections_max = 128;  ///< beyond it, the oldest is closed: real ones are short
    /// Bytes of answers to one connection before the others have their turn.
    size_t turn_bytes = size_t{1} << 20;
    HorovodLimits limits;
  };
  HorovodServer(Loop& loop, Options options, Log& log);
  HorovodServer(const HorovodServer&) = delete;
  HorovodServer& operator=(const HorovodServer&) = delete;

  /// True when a connection with this first byte may be Horovod's.
  static bool begins_with(std::byte first);
  /// The origin of a connection: it was dialed to our port, or an agent of the job relays it. The
  /// agent guarantees its host.
  enum class Origin { dialed, adopted };
  /// Takes ownership of a non-blocking connection, and of the bytes read from it. Fails with
  /// Errc::refused when it was dialed from an address outside Options::sources.
  Result<> take(Fd connection, ByteSpan begun, Origin origin);

  /// Replaces Options::sources for later connections.
  void set_sources(AddressSet sources) { options_.sources = std::move(sources); }

  /// No connection times out until restart_deadlines(), which gives each the whole time again.
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
    bool closing = false;  // after the answers are sent

    size_t held() const { return in.size() + out.size(); }
  };
  enum class Reading { more, blocked, over };
  enum class TurnResult { over, waits, unfinished };

  void drop(uint64_t id);
  void ready(uint64_t id);
  TurnResult work(Connection& connection);
  static Reading read_some(Connection& connection);
  static bool send_answers(Connection& connection);
  void log_if_full();

  Loop& loop_;
  Options options_;
  Log& log_;
  HorovodStore store_;
  std::map<uint64_t, Connection> connections_;  // the oldest first
  Deadlines deadlines_;
  uint64_t next_id_ = 1;
  size_t held_bytes_ = 0;  // in the buffers of all connections
  bool full_logged_ = false;
};

}  // namespace dt
