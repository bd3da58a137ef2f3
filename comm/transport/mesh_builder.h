#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/transport/local_group.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_handshake.h"
#include "comm/transport/peer_listener.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

namespace dt {

/// What carries the bytes between two tasks.
enum class Transport : uint8_t {
  automatic,  ///< shared memory on one host, TCP between hosts
  shm,
  tcp,
};

/// From the rendezvous to a greeted connection with every other ranked task. All tasks do the same:
/// listen, publish where, dial the tasks below their own (see dials() in rendezvous/cluster/task.h)
/// and be dialled by those above. One thread, one poll(2).
class MeshBuilder {
 public:
  struct Options {
    Claim claim;
    Transport transport = Transport::automatic;
    uint16_t port = 0;  ///< as in PeerListener::Options
    Duration dead_after = seconds(5);
    Duration handshake_timeout = seconds(5);
  };
  /// One other ranked task.
  struct Peer {
    TaskEntry task;
    int slot = -1;  ///< its place in the shared memory; -1: reached by TCP
    std::unique_ptr<const PeerEndpoint> endpoint = {};  ///< once it is known
    std::unique_ptr<PeerHandshake> dialling = {};
    Time dial_at = {};         ///< not before; after a failure
    std::string failure = {};  ///< why the last try failed
    size_t failures = 0;
    std::unique_ptr<AuthenticatedConnection> connection = {};
    bool local() const { return slot >= 0; }
  };

  MeshBuilder(RendezvousClient& client, Options options);

  /// Errc::timeout names the tasks that are missing, Errc::peer_lost the one that died;
  /// blamed_rank() then is the rank of the only one, or of the first.
  Result<> run(Time deadline);
  int blamed_rank() const { return blamed_rank_; }

  /// All but ourselves; after run() with their connections.
  std::vector<Peer>& peers() { return peers_; }
  LocalGroup& locals() { return locals_; }
  /// What the rendezvous said meanwhile and others still need.
  const std::vector<Notice>& notices() const { return notices_; }

 private:
  Result<> find_peers();
  Result<PeerListener> open_listener() const;
  Result<> publish(const PeerEndpoint& endpoint, Time deadline);
  Result<> ask_endpoints(Time deadline);

  Result<> round(PeerListener& listener, Time deadline);
  void wait(const PeerListener& listener, Time deadline);
  bool complete() const;
  Result<> read_rendezvous();
  Result<> take_notice(const Notice& notice);
  Result<> take_change(const RendezvousClient::Change& change);
  Result<> take_endpoint(Peer& peer, ByteSpan value);

  bool dials(const Peer& peer) const { return dt::dials(client_.self(), peer.task); }
  Result<> advance_dialled(Time now);
  Result<> start_dialling(Peer& peer, Time now);
  Result<std::unique_ptr<PeerHandshake>> dial(const Peer& peer, Time now);
  Result<> failed(Peer& peer, Error error, Time now);
  Duration dial_patience(const Peer& peer) const;
  Result<> judge(PeerHandshake& peer_handshake);
  tl::unexpected<Error> missing();
  Peer* find(const TaskId& id);

  RendezvousClient& client_;
  Options options_;
  LocalGroup locals_;
  std::vector<Peer> peers_;
  std::vector<Notice> notices_;
  int blamed_rank_ = -1;
  RunningTimeClock clock_;  ///< of all deadlines here but those of client_
};

}  // namespace dt
