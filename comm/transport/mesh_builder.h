#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/transport/endpoint_exchange.h"
#include "comm/transport/local_group.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_handshake.h"
#include "comm/transport/peer_listener.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Lets this task and all other ranked tasks find each other. All tasks do the same. They listen,
/// and publish their endpoint at the rendezvous. They dial some tasks, and the others dial them
/// (see dials() in rendezvous/cluster/task.h). One thread, one poll(2).
///
/// Tasks that can both reach the other one over TCP connect later, see LazyConnector. Some do so
/// while this task still waits for others.
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
    int slot = -1;                ///< in the shared memory; -1: reached by TCP
    bool published = false;       ///< its endpoint, by the last list
    bool connects_later = false;  ///< its endpoint is enough for now
    std::unique_ptr<const PeerEndpoint> endpoint = {};  ///< once it is known and to be dialed
    std::unique_ptr<PeerHandshake> dialing = {};
    bool ready = true;         ///< dialing->advance() may have an effect
    Time dial_at = {};         ///< after a failure: not before this time
    std::string failure = {};  ///< of the last attempt
    size_t failures = 0;
    std::unique_ptr<AuthenticatedConnection> connection = {};
    bool local() const { return slot >= 0; }
    bool joined() const { return connection || (connects_later && endpoint); }
  };

  MeshBuilder(RendezvousClient& client, Options options);

  /// Returns when every peer has a connection, or connects later. Fails with Errc::timeout, which
  /// names the missing tasks, or with Errc::peer_lost, which names the dead one. The error blames
  /// the first of them.
  Result<> run(Time deadline);

  /// All other ranked tasks; after run() with their connections or endpoints.
  std::vector<Peer>& peers() { return peers_; }
  /// The listener, for peers that connect later. Called once after run().
  PeerListener take_listener() { return *std::move(listener_); }
  LocalGroup& locals() { return locals_; }
  /// The notices that arrived during run(); the engine needs them.
  const std::vector<Notice>& notices() const { return notices_; }

 private:
  Result<> find_peers();
  Result<> reserve_descriptors() const;
  Result<PeerListener> open_listener() const;
  Result<> round(Time deadline);
  void wait(Time deadline);
  bool complete() const;
  Result<> read_rendezvous(Time deadline);
  Result<> take_endpoints(const EndpointExchange::Endpoints& endpoints);
  Result<> take_notice(const Notice& notice);
  Result<> take_endpoint(Peer& peer, ByteSpan value);

  bool dials(const Peer& peer) const { return dt::dials(client_.self(), peer.task); }
  Result<> advance_dialed(Time now);
  Result<> start_dialing(Peer& peer, Time now);
  Result<std::unique_ptr<PeerHandshake>> dial(const Peer& peer, Time now);
  void tune(int fd, const Peer& peer) const;
  Result<> dial_failed(Peer& peer, Error error, Time now);
  Duration dial_timeout(const Peer& peer) const;
  Result<> admit(PeerHandshake& handshake);
  tl::unexpected<Error> missing();
  Peer* find(const TaskId& id);

  RendezvousClient& client_;
  Options options_;
  EndpointExchange exchange_;
  bool ask_again_ = false;  ///< for the endpoints
  LocalGroup locals_;
  std::optional<PeerListener> listener_;
  std::vector<Peer> peers_;
  std::vector<Notice> notices_;
  RunningTimeClock clock_;  ///< for all deadlines but those of client_
};

}  // namespace dt
