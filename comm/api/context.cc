#include "comm/api/context.h"

#include "base/format.h"
#include "base/io/cores.h"
#include "base/text.h"
#include "comm/api/group_agreement.h"
#include "comm/api/init_options.h"
#include "comm/api/program_store.h"
#include "comm/device/device_calls.h"
#include "comm/driver/driver.h"
#include "comm/memory/program_memory.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <string>
#include <utility>

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

/// The death of a rank ends the job's collectives. So a restarted rank has no peers.
Result<> check_attempt(const Claim& claim, const RankLayout& layout) {
  if (claim.attempt <= first_attempt || layout.size == 1) return {};
  return fail(Errc::peer_lost,
              format("{} was restarted (attempt {}), and the end of its attempt before has ended "
                     "the collectives of the job; a restarted rank can use parameter servers alone "
                     "(dtrain_ps_connect without a context)",
                     claim.self.text(), claim.attempt),
              layout.rank);
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
    peers[rank] = {.task = std::move(peer.task), .link = std::move(peer.link)};
  }
  return peers;
}

/// Returns an area of this process alone: with it, calls of a lone rank allocate nothing.
std::shared_ptr<SharedArea> memory_of_one() {
  constexpr std::align_val_t alignment{shared_line_bytes};
  const size_t bytes = SharedArea::bytes_for(1);
  const std::shared_ptr<void> memory(::operator new(bytes, alignment), [](void* begin) {
    ::operator delete(begin, std::align_val_t{shared_line_bytes});
  });
  auto* const part = static_cast<std::byte*>(memory.get());
  SharedArea::clear(part);
  return std::make_shared<SharedArea>(SharedArea::Options{.owner = memory, .parts = {part}});
}

Result<ChosenAlgorithms> job_algorithms(const EngineSettings& settings) {
  Result<ChosenAlgorithms> chosen = parse_algorithms(settings.algorithms);
  if (chosen) return chosen;
  return fail(chosen.error().code, format("the job's --algorithms \"{}\": {}; does this libdtrain "
                                          "have the version of dtrain run?",
                                          printable(settings.algorithms), chosen.error().message));
}

/// Returns the wish of DTRAIN_DEVICE_COLLECTIVES, which must fit to the algorithms of the job.
/// Checks DTRAIN_PEER_MAX, which is used later.
Result<DeviceCollectives> job_collectives(const EngineSettings& settings) {
  TRY(peer_bytes_max(process_environment()));
  const DeviceCollectives wanted = TRY(device_collectives(process_environment()));
  if (settings.algorithms.empty()) return wanted;
  if (wanted != DeviceCollectives::nccl) return DeviceCollectives::staged;
  return fail(Errc::input,
              "DTRAIN_DEVICE_COLLECTIVES is nccl, but the job has --algorithms or --deterministic, "
              "by which NCCL cannot execute; leave out one of them");
}

/// The transport of the job, which a program may choose itself if the user has not. Ranks compare
/// it when they join.
Result<Transport> job_transport(const EngineSettings& settings, Transport chosen) {
  const std::optional<Transport> of_job = transport_named(settings.transport);
  if (!of_job) {
    return fail(Errc::input, format("the job's --transport \"{}\" is unknown; does this libdtrain "
                                    "have the version of dtrain run?",
                                    printable(settings.transport)));
  }
  if (*of_job == Transport::automatic || chosen == Transport::automatic || chosen == *of_job)
    return *of_job == Transport::automatic ? chosen : *of_job;
  return fail(Errc::input,
              format("dtrain_init_options.transport is {}, but the job has --transport {}; leave "
                     "out one of them",
                     transport_name(chosen), transport_name(*of_job)));
}

}  // namespace

struct Context::Shared {
  Shared(Driver::Parts parts, int rank, uint32_t generation)
      : memory(parts.mesh ? parts.mesh->shared_heap() : nullptr),
        driver(std::move(parts)),
        agreement(driver, rank, generation) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { finish(); }
  /// Ends all operations, then the members that operations use.
  void finish();
  /// NCCL may connect the devices of a group, whose ranks meet under the prefix.
  void allow_nccl(uint32_t group, const std::string& prefix, std::string host,
                  DeviceCollectives wanted);
  ProgramMemory memory;
  DeviceCalls devices;
  Driver driver;
  std::optional<Claim> claim;  ///< none: a job of one rank
  Duration dead_after = {};
  std::mutex making_group;
  GroupAgreement agreement;
  ForkDetector fork_detector;
};

Result<std::unique_ptr<RendezvousClient>> Context::connect(const InitOptions& options,
                                                           Time deadline) {
  auto client =
      RendezvousClient::connect({.server = options.rendezvous, .claim = options.claim}, deadline);
  // A refusal proves that the job runs, and an error of this machine shows nothing of it.
  if (client || client.error().code == Errc::refused || client.error().code == Errc::os)
    return client;
  return fail(client.error().code,
              format("{}; was this process started by dtrain run, and does that job still run?",
                     client.error().message));
}

Result<Context::Connected> Context::connect(const InitOptions& options) {
  const Time start = Clock::now();
  const Duration connect_limit = std::min(options.timeout, connect_timeout);
  std::unique_ptr<RendezvousClient> client = TRY(connect(options, start + connect_limit));
  // If the connection took longer than its limit, this process was stopped; that does not count.
  const Duration connecting = std::min(Clock::now() - start, connect_limit);
  return Connected{std::move(client), Clock::now() + (options.timeout - connecting)};
}

Context::Context(Members members, RankLayout layout, std::shared_ptr<Shared> shared)
    : members_(std::move(members)),
      layout_(std::move(layout)),
      shared_(std::move(shared)),
      driver_(shared_->driver),
      fork_detector_(shared_->fork_detector) {
}

const std::optional<Claim>& Context::claim() const {
  return shared_->claim;
}

Duration Context::dead_after() const {
  return shared_->dead_after;
}

ProgramMemory& Context::memory() {
  return shared_->memory;
}

void Context::require_nccl(const std::string& key) {
  shared_->allow_nccl(members_.group, format("nccl/{}/", key), layout_.host,
                      DeviceCollectives::nccl);
}

bool Context::uses_nccl() const {
  return shared_->devices.uses_nccl(members_.group);
}

std::shared_ptr<Context> Context::alone() {
  RankLayout layout{.host = this_host()};
  std::vector<Engine::Peer> peers(1);
  peers[0].task.rank = 0;
  peers[0].task.host = layout.host;
  Members members;
  members.tasks.tasks = {peers[0].task};
  members.job_ranks = {0};
  auto engine =
      std::make_unique<Engine>(Engine::Options{.shared = memory_of_one()}, std::move(peers));
  return std::shared_ptr<Context>(
      new Context(std::move(members), std::move(layout),
                  std::make_shared<Shared>(Driver::Parts{.engine = std::move(engine)}, 0, 0)));
}

Result<std::shared_ptr<Context>> Context::join(const InitOptions& options) {
  Connected connected = TRY(connect(options));
  return join(options, std::move(connected.client), connected.deadline);
}

Result<std::shared_ptr<Context>> Context::join(const InitOptions& options,
                                               std::unique_ptr<RendezvousClient> client,
                                               Time deadline) {
  const TaskEntry& self = client->self();
  RankLayout layout = TRY(rank_layout(client->table(), self));
  TRY(check_agrees("DTRAIN_RANK", options.rank, layout.rank));
  TRY(check_agrees("DTRAIN_SIZE", options.size, layout.size));
  TRY(check_attempt(options.claim, layout));
  const DeviceCollectives wanted = TRY(job_collectives(client->engine_settings()));
  ChosenAlgorithms algorithms = TRY(job_algorithms(client->engine_settings()));
  const Transport transport = TRY(job_transport(client->engine_settings(), options.transport));
  const Duration dead_after = options.dead_after.value_or(client->dead_after());
  const Duration stall_after = client->engine_settings().stall_after;
  Claim claim = options.claim;
  claim.encrypt_data = client->engine_settings().encrypt_data;
  std::unique_ptr<Mesh> mesh = TRY(Mesh::join(
      *client,
      {.claim = claim, .transport = transport, .port = options.port, .dead_after = dead_after},
      deadline));
  auto engine = std::make_unique<Engine>(Engine::Options{.rank = self.rank,
                                                         .dead_after = dead_after,
                                                         .generation = options.claim.generation,
                                                         .shared = mesh->shared_area(),
                                                         .named_shared = mesh->named_area(),
                                                         .pool = mesh->area_pool(),
                                                         .host_memory = transport != Transport::tcp,
                                                         .algorithms = std::move(algorithms)},
                                         engine_peers(*mesh, self, layout.size));
  const Cores cores{.cpus = allowed_cpus(mesh->local_processes()), .quota = cpu_quota()};
  const bool sharing = ranks_share(cores, layout.local_size);
  Members members;
  members.tasks = client->table();
  for (int rank = 0; rank < layout.size; ++rank)
    members.job_ranks.push_back(rank);
  auto shared = std::make_shared<Shared>(Driver::Parts{.engine = std::move(engine),
                                                       .client = std::move(client),
                                                       .mesh = std::move(mesh),
                                                       .spin = sharing ? spin_sharing : spin_alone,
                                                       .yield = sharing,
                                                       .stall_after = stall_after},
                                         layout.rank, claim.generation);
  if (wanted != DeviceCollectives::staged) {
    shared->allow_nccl(0, format("nccl/{}/", claim.generation), layout.host, wanted);
  }
  shared->claim = std::move(claim);
  shared->dead_after = dead_after;
  return std::shared_ptr<Context>(
      new Context(std::move(members), std::move(layout), std::move(shared)));
}

Result<std::shared_ptr<Context>> Context::split(const Context& parent, Part part,
                                                const CallOptions& options) {
  const std::scoped_lock one_at_a_time(parent.shared_->making_group);
  Driver& driver = parent.driver_;
  GroupAgreement& agreement = parent.shared_->agreement;
  // After an error, ranks may have called it at different times. The highest count is then right.
  uint32_t& count = agreement.splits(parent.members_.group);
  struct Given {
    int32_t color;
    int32_t key;
    uint32_t count;
  };
  const Time begin = driver.running_time();
  std::vector<Given> given(static_cast<size_t>(parent.layout_.size));
  const auto rank = static_cast<size_t>(parent.layout_.rank);
  given[rank] = {part.color, part.key, ++count};

  const Result<> exchanged =
      driver.run({.kind = OperationKind::all_gather,
                  .type = ElementType::int32,
                  .group = parent.members_.group,
                  .count = sizeof(Given) / sizeof(int32_t),
                  .input = &given[rank],
                  .output = given.data(),
                  .name = options.name.empty() ? "dtrain_split" : options.name,
                  .in_sequence = true,
                  .timeout = options.timeout});
  if (exchanged) count = std::ranges::max(given, {}, &Given::count).count;
  GroupCall made{.name = options.name};
  made.split = agreement.split_key(parent.members_.group, parent.members_.job_ranks, part.color);
  if (!exchanged) {
    // The others may have the values of all, and wait for this rank.
    if (part.color >= 0) agreement.refuse(made.split, exchanged.error());
    return tl::unexpected(exchanged.error());
  }
  if (part.color < 0) return nullptr;

  std::vector<int> ranks;
  for (int other = 0; other < parent.layout_.size; ++other)
    if (given[static_cast<size_t>(other)].color == part.color) ranks.push_back(other);
  const auto key = [&](int other) { return given[static_cast<size_t>(other)].key; };
  std::ranges::stable_sort(ranks, {}, key);
  if (options.timeout > Duration::zero())
    made.timeout = std::max(begin + options.timeout - driver.running_time(), Duration(1));
  return agree(parent, ranks, std::move(made));
}

Result<std::shared_ptr<Context>> Context::group(const Context& parent, std::span<const int> ranks,
                                                const CallOptions& options) {
  const std::scoped_lock one_at_a_time(parent.shared_->making_group);
  return agree(parent, ranks, {.name = options.name, .timeout = options.timeout});
}

/// `ranks` are those of the parent's members that form the group.
Result<std::shared_ptr<Context>> Context::agree(const Context& parent, std::span<const int> ranks,
                                                GroupCall call) {
  for (const int rank : ranks)
    call.ranks.push_back(parent.members_.job_ranks[static_cast<size_t>(rank)]);
  const uint32_t number = TRY(parent.shared_->agreement.make(call));
  auto made = context_of_group(parent, number, ranks);
  if (!made) parent.driver_.leave_group(number);
  return made;
}

/// Returns the context of a group, whether or not the engine has created that yet.
Result<std::shared_ptr<Context>> Context::context_of_group(const Context& parent, uint32_t number,
                                                           std::span<const int> ranks) {
  Members members;
  members.group = number;
  members.tasks.job = parent.members_.tasks.job;
  for (const int rank : ranks) {
    TaskEntry task = *parent.members_.tasks.by_rank(rank);
    task.rank = static_cast<int>(members.job_ranks.size());
    members.tasks.tasks.push_back(std::move(task));
    members.job_ranks.push_back(parent.members_.job_ranks[static_cast<size_t>(rank)]);
  }
  const auto place = std::ranges::find(ranks, parent.layout_.rank) - ranks.begin();
  RankLayout layout =
      TRY(rank_layout(members.tasks, members.tasks.tasks[static_cast<size_t>(place)]));
  return std::shared_ptr<Context>(
      new Context(std::move(members), std::move(layout), parent.shared_));
}

/// Returns null for an operation on memory of the host.
Result<std::shared_ptr<Operation>> Context::stage(const OperationRequest& request) {
  return shared_->devices.stage(request, {.rank = layout_.rank, .size = layout_.size});
}

Result<> Context::run_on_device(OperationRequest request, std::string_view name) {
  if (!name.empty()) request.name = name;
  request.blocks = true;  // no stream waits for it
  const Driver::Work staged = TRY(stage(request));
  if (!staged) return driver_.run(std::move(request));
  return driver_.run_staged(staged);
}

Result<> Context::run(OperationRequest&& request, std::string_view name) {
  if (!shared_->devices.may_concern(request)) return driver_.run(std::move(request), name);
  return run_on_device(std::move(request), name);
}

Result<std::shared_ptr<Operation>> Context::start(const OperationRequest& request) {
  if (!shared_->devices.may_concern(request)) return driver_.start(request);
  Driver::Work staged = TRY(stage(request));
  if (!staged) return driver_.start(request);
  driver_.start_staged(staged);
  return staged;
}

void Context::Shared::finish() {
  {
    // Another thread may be in a call, which ends now.
    const std::unique_lock free(making_group, std::try_to_lock);
    if (free) agreement.erase_failed();
  }
  driver.finish();
  devices.disconnect();
}

void Context::Shared::allow_nccl(uint32_t group, const std::string& prefix, std::string host,
                                 DeviceCollectives wanted) {
  // The keys end with this context: a later one connects the devices anew.
  const auto set = [this, prefix](const std::string& key, const Bytes& value) {
    return ProgramStore(driver, Duration::zero(), prefix).set(key, value, Lifetime::connection);
  };
  const auto wait = [this, prefix](const std::string& key, Duration limit) {
    return ProgramStore(driver, limit, prefix).wait(key);
  };
  const auto note = [this, prefix](const std::string& key, const Bytes& value) {
    return ProgramStore(driver, Duration::zero(), prefix).set(key, value);
  };
  devices.allow_nccl(group,
                     {.store = {set, wait, note}, .host = std::move(host), .wanted = wanted});
}

void Context::finalize() {
  if (members_.group == 0) {
    shared_->devices.farewell();
    shared_->finish();
    // No operation of this rank uses a buffer any more.
    shared_->memory.free_all();
  } else {
    driver_.leave_group(members_.group);
  }
}

}  // namespace dt
