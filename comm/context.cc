#include "comm/context.h"

#include "base/format.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

namespace dt {

namespace {

/// The rendezvous listens before any task starts, so one that cannot be reached for so long is not
/// there.
constexpr Duration connect_timeout = seconds(10);
constexpr Duration spin_alone = microseconds(50);
constexpr Duration spin_sharing = microseconds(20);

Result<> check_agrees(const char* variable, std::optional<int> said, int is) {
  if (!said || *said == is) return {};
  return fail(Errc::input, format("{} is {}, but the job says {}; was the environment changed?",
                                  variable, *said, is));
}

std::string this_host() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) < 0) return "localhost";
  return name.data();
}

std::vector<Engine::Peer> engine_peers(Mesh& mesh, const TaskEntry& self, int size) {
  std::vector<Engine::Peer> peers(static_cast<size_t>(size));
  peers[static_cast<size_t>(self.rank)].task = self;
  for (Mesh::Peer& peer : mesh.take_peers()) {
    const auto rank = static_cast<size_t>(peer.task.rank);
    peers[rank] = {std::move(peer.task), std::move(peer.link), std::move(peer.session)};
  }
  return peers;
}

Result<std::unique_ptr<RendezvousClient>> connect(const JoinRequest& request, Time deadline) {
  auto client =
      RendezvousClient::connect({.server = request.rendezvous, .claim = request.claim}, deadline);
  if (client) return client;
  return fail(client.error().code,
              format("{}; was this process started by dtrain run, and does that job still run?",
                     client.error().message));
}

}  // namespace

std::shared_ptr<Context> Context::alone() {
  Placement placement{.host = this_host()};
  std::vector<Engine::Peer> peers(1);
  peers[0].task.rank = 0;
  peers[0].task.host = placement.host;
  auto engine = std::make_unique<Engine>(Engine::Options(), std::move(peers));
  return std::make_shared<Context>(std::move(placement),
                                   Driver::Parts{.engine = std::move(engine)});
}

Result<std::shared_ptr<Context>> Context::join(const JoinRequest& request, int* blamed_rank) {
  const Time start = Clock::now();
  const Duration patience = std::min(request.timeout, connect_timeout);
  std::unique_ptr<RendezvousClient> client = TRY(connect(request, start + patience));
  // What took longer than it was allowed to was a stop, which does not count.
  const Duration connecting = std::min(Clock::now() - start, patience);
  const Time deadline = Clock::now() + (request.timeout - connecting);
  const TaskEntry& self = client->self();
  Placement placement = TRY(place(client->table(), self));
  TRY(check_agrees("DTRAIN_RANK", request.rank, placement.rank));
  TRY(check_agrees("DTRAIN_SIZE", request.size, placement.size));
  const Duration dead_after = request.dead_after.value_or(client->dead_after());
  std::unique_ptr<Mesh> mesh = TRY(Mesh::join(*client,
                                              {.claim = request.claim,
                                               .transport = request.transport,
                                               .port = request.port,
                                               .dead_after = dead_after},
                                              deadline, blamed_rank));
  auto engine = std::make_unique<Engine>(
      Engine::Options{
          .rank = self.rank, .dead_after = dead_after, .generation = request.claim.generation},
      engine_peers(*mesh, self, placement.size));
  const bool sharing =
      static_cast<unsigned>(placement.local_size) > std::thread::hardware_concurrency();
  return std::make_shared<Context>(std::move(placement),
                                   Driver::Parts{.engine = std::move(engine),
                                                 .client = std::move(client),
                                                 .mesh = std::move(mesh),
                                                 .spin = sharing ? spin_sharing : spin_alone,
                                                 .yield = sharing});
}

Context::Context(Placement placement, Driver::Parts parts)
    : placement_(std::move(placement)), driver_(std::move(parts)), process_(getpid()) {
}

bool Context::forked() const {
  return getpid() != process_;
}

}  // namespace dt
