#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/link.h"
#include "comm/transport/mesh_builder.h"
#include "comm/transport/shm_link.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dt {

/// The links between this task and all other ranked ones, and the one place where a thread waits
/// for any of them: an epoll descriptor with the sockets, the doorbell that local peers ring, the
/// rendezvous and a wake-up.
///
/// wake() is for any thread, and forget_rendezvous() may come from another one during a wait; all
/// else is for one thread at a time.
class Mesh {
 public:
  using Options = MeshBuilder::Options;
  struct Peer {
    TaskEntry task;
    std::unique_ptr<Link> link;
    std::unique_ptr<Session> session;  ///< set when link->exposed()
  };

  /// Returns when all ranked tasks have joined. On failure *blamed_rank is the rank to blame, if
  /// there is one. `client` must outlive the mesh.
  static Result<std::unique_ptr<Mesh>> join(RendezvousClient& client, Options options,
                                            Time deadline, int* blamed_rank);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// The other tasks in no particular order; once. The links may die before or after the mesh.
  std::vector<Peer> take_peers() { return std::move(peers_); }
  /// What the rendezvous had said by the time that all had joined.
  const std::vector<Notice>& notices() const { return notices_; }

  /// Waits until something may have changed on a link, the rendezvous has something, wake() was
  /// called, or the deadline has come. True if the rendezvous has something, or takes more; then
  /// pump the client, since it is said once. Changes since the last wait count, so a caller that
  /// moves everything it can between two waits misses nothing; a link that it leaves alone does not
  /// wake it again and again.
  Result<bool> wait(Time deadline);
  void wake() const;
  /// The rendezvous has ended; its descriptor would be readable for ever.
  void forget_rendezvous();
  /// Ends our direction of every TCP link and waits until the peers' kernels have all that we sent;
  /// closing earlier could throw it away. Before the links die.
  void drain(Time deadline);

 private:
  struct LocalPeer {
    std::shared_ptr<ShmPeer> shared;
    const RingControl* in = nullptr;
    const RingControl* out = nullptr;
    uint64_t seen_written = 0;
    uint64_t seen_read = 0;
  };

  Mesh() = default;
  Result<> build(MeshBuilder& joining);
  Result<> add_local(MeshBuilder::Peer& peer, LocalGroup& locals);
  Result<> add_tcp(MeshBuilder::Peer& peer);
  Result<> watch(int fd, uint32_t events, uint64_t tag) const;
  bool fall_asleep();
  bool rings_changed();
  void local_socket_event(LocalPeer& peer) const;
  bool drained();

  Fd epoll_;
  Fd wake_;
  Fd doorbell_;
  int rendezvous_fd_ = -1;
  std::shared_ptr<ShmSegment> segment_;
  std::atomic<uint32_t>* asleep_ = nullptr;  ///< our flag in the segment; null without local peers
  std::vector<LocalPeer> locals_;
  std::vector<std::shared_ptr<const Fd>> sockets_;  ///< of the TCP links
  std::vector<Peer> peers_;
  std::vector<Notice> notices_;
};

}  // namespace dt
