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

/// The rendezvous listens before any task starts. If it is unreachable for so long, it does not
/// exist.
constexpr Duration connect_timeout = seconds(10);
constexpr Duration spin_alone = microseconds(50);
constexpr Duration spin_sharing = microseconds(20);

Result<> check_agrees(const char* variable, std::optional<int> value, int actual) {
  if (!value || *value == actual) return {};
  return fail(Errc::input, format("{} is {}, but in the job it is {}; was the environment changed?",
                                  variable, *value, actual));
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

Result<std::unique_ptr<RendezvousClient>> connect(const InitOptions& options, Time deadline) {
  auto client =
      RendezvousClient::connect({.server = options.rendezvous, .claim = options.claim}, deadline);
  if (client) return client;
  return fail(client.error().code,
              format("{}; was this process started by dtrain run, and does that job still run?",
                     client.error().message));
}

}  // namespace

std::shared_ptr<Context> Context::alone() {
  RankLayout layout{.host = this_host()};
  std::vector<Engine::Peer> peers(1);
  peers[0].task.rank = 0;
  peers[0].task.host = layout.host;
  auto engine = std::make_unique<Engine>(Engine::Options(), std::move(peers));
  return std::make_shared<Context>(std::move(layout), Driver::Parts{.engine = std::move(engine)});
}

Result<std::shared_ptr<Context>> Context::join(const InitOptions& options, int* blamed_rank) {
  const Time start = Clock::now();
  const Duration connect_limit = std::min(options.timeout, connect_timeout);
  std::unique_ptr<RendezvousClient> client = TRY(connect(options, start + connect_limit));
  // If the connection took longer than its limit, this process was stopped; that does not count.
  const Duration connecting = std::min(Clock::now() - start, connect_limit);
  const Time deadline = Clock::now() + (options.timeout - connecting);
  const TaskEntry& self = client->self();
  RankLayout layout = TRY(rank_layout(client->table(), self));
  TRY(check_agrees("DTRAIN_RANK", options.rank, layout.rank));
  TRY(check_agrees("DTRAIN_SIZE", options.size, layout.size));
  const Duration dead_after = options.dead_after.value_or(client->dead_after());
  std::unique_ptr<Mesh> mesh = TRY(Mesh::join(*client,
                                              {.claim = options.claim,
                                               .transport = options.transport,
                                               .port = options.port,
                                               .dead_after = dead_after},
                                              deadline, blamed_rank));
  auto engine = std::make_unique<Engine>(Engine::Options{.rank = self.rank,
                                                         .dead_after = dead_after,
                                                         .generation = options.claim.generation,
                                                         .shared = mesh->shared_area()},
                                         engine_peers(*mesh, self, layout.size));
  const bool sharing =
      static_cast<unsigned>(layout.local_size) > std::thread::hardware_concurrency();
  return std::make_shared<Context>(std::move(layout),
                                   Driver::Parts{.engine = std::move(engine),
                                                 .client = std::move(client),
                                                 .mesh = std::move(mesh),
                                                 .spin = sharing ? spin_sharing : spin_alone,
                                                 .yield = sharing});
}

Context::Context(RankLayout layout, Driver::Parts parts)
    : layout_(std::move(layout)), driver_(std::move(parts)) {
}

}  // namespace dt
