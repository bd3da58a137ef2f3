#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/memory/area_pool.h"
#include "comm/memory/shared_area.h"
#include "comm/transport/lazy_connector.h"
#include "comm/transport/link.h"
#include "comm/transport/mesh_builder.h"
#include "comm/transport/shm_link.h"
#include "comm/transport/tcp_socket.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dt {

/// The links between this task and all other ranked tasks. One epoll descriptor waits for all of
/// them. It watches the TCP sockets, the doorbell that local peers ring, the rendezvous, and
/// wake().
///
/// Most TCP links connect when one of their ends is first used. Both tasks must be in wait() for
/// that, as for all data.
///
/// Any thread may call wake(). Another thread may call forget_rendezvous() during a wait. All other
/// functions are for one thread at a time.
class Mesh {
 public:
  using Options = MeshBuilder::Options;
  struct Peer {
    TaskEntry task;
    std::unique_ptr<Link> link;
  };

  /// Returns when all ranked tasks have joined. The error has the rank to blame. Requires that
  /// `client` outlives the mesh.
  static Result<std::unique_ptr<Mesh>> join(RendezvousClient& client, const Options& options,
                                            Time deadline);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// Returns the other tasks in no particular order. Called once. The links may be destroyed before
  /// or after the mesh.
  std::vector<Peer> take_peers() { return std::move(peers_); }
  /// The memory for collectives of the ranked tasks on this host, in order of their ranks. Null
  /// when this task is alone there, or shares no memory. wait() notices what others publish in it.
  const std::shared_ptr<SharedArea>& shared_area() const { return area_; }
  /// The same for collectives with a name.
  const std::shared_ptr<SharedArea>& named_area() const { return named_area_; }
  /// The memory for buffers that the other tasks of the host read. Null without shared_area(), and
  /// where a limit excludes it.
  const std::shared_ptr<SharedHeap>& shared_heap() const { return heap_; }
  /// The memory for collectives of groups. Null without shared_area(), and where a limit excludes
  /// it.
  const std::shared_ptr<AreaPool>& area_pool() const { return pool_; }
  /// The notices that the rendezvous sent before all tasks had joined.
  const std::vector<Notice>& notices() const { return notices_; }

  /// Returns the processes of the peers on this host to which shared memory leads. A process that
  /// this one cannot see, for example in another container, is 0.
  std::vector<pid_t> local_processes() const;

  /// Waits until a link may have changed, or the rendezvous has become readable or writable. A call
  /// of wake() and the deadline end the wait, too. Returns true for the rendezvous, once per event:
  /// the caller must then pump the client. Changes since the last wait end the next one at once. So
  /// a caller that moves all it can between two waits misses nothing. An unchanged link ends no
  /// wait. The deadline is exact to far less than a millisecond.
  Result<bool> wait(Time deadline);
  void wake() const;
  /// The number of TCP links. Only wait() can find what arrives on any of them.
  int sockets() const { return static_cast<int>(sockets_.size()); }
  /// Called when the rendezvous has ended: stops watching its descriptor, which stays readable.
  void forget_rendezvous();
  /// Ends the links to local tasks, and this task's direction of every TCP link. Waits until the
  /// peers' kernels have acknowledged all bytes sent: closing earlier could discard them. Called
  /// before the links are destroyed.
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
  Result<> build(MeshBuilder& builder, const TaskEntry& self, const Options& options);
  void add_areas(const TaskEntry& self, const LocalGroup& locals);
  void add_pool(const LocalGroup& locals);
  Result<> add_local(MeshBuilder::Peer& peer, LocalGroup& locals);
  Result<> add_connector(MeshBuilder& builder, LazyConnector::Options options);
  Result<> add_tcp(MeshBuilder::Peer& peer);
  Result<> watch(int fd, uint32_t events, uint64_t tag) const;
  Result<> watch_listener();
  Result<int> wait_for_events(std::span<epoll_event> events, Time deadline);
  void set_timer(Duration shorter_than_ms) const;
  Result<> advance_connections();
  bool fall_asleep();
  bool memory_changed();
  void local_socket_event(LocalPeer& peer) const;
  void socket_event(uint64_t tag, uint32_t events) const;
  bool drained();

  Fd epoll_;
  Fd wake_;
  Fd doorbell_;
  Fd timer_;  ///< for waits of less than a millisecond
  int rendezvous_fd_ = -1;
  std::shared_ptr<ShmSegment> segment_;
  std::atomic<uint32_t>* asleep_ = nullptr;  ///< this task's flag; null without local peers
  std::vector<LocalPeer> locals_;
  std::shared_ptr<SharedHeap> heap_;
  std::shared_ptr<SharedArea> area_;
  std::shared_ptr<SharedArea> named_area_;  ///< null exactly if area_ is
  std::shared_ptr<AreaPool> pool_;
  uint64_t seen_published_ = 0;                      ///< in all areas
  std::vector<std::shared_ptr<TcpSocket>> sockets_;  ///< of the TCP links
  std::unique_ptr<LazyConnector> connector_;         ///< null when all links are connected
  bool listening_ = false;                           ///< epoll_ watches the connector's listener
  std::vector<pollfd> polled_;                       ///< by wait() while connections are made
  RunningTimeClock clock_;                           ///< of connector_
  std::vector<Peer> peers_;
  std::vector<Notice> notices_;
};

}  // namespace dt
