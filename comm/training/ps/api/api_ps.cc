#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/api/context.h"
#include "comm/api/fork_detector.h"
#include "comm/api/init_options.h"
#include "comm/include/dtrain/dtrain_ps.h"
#include "comm/training/ps/api/connect_servers.h"
#include "comm/training/ps/api/context_rendezvous_view.h"
#include "comm/training/ps/api/copies_option.h"
#include "comm/training/ps/client.h"
#include "comm/training/ps/server.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): the name of C's opaque type
struct dtrain_ps {
  std::mutex mutex;  ///< calls run one after the other
  std::unique_ptr<dt::PsClient> client;
  uint32_t worker = 0;     ///< the number of this task in the job's table
  uint16_t held_port = 0;  ///< for this task to listen at; 0: none
  dt::ForkDetector fork_detector;
};
// NOLINTEND(readability-identifier-naming)

namespace dt {

namespace {

constexpr Duration connect_timeout = seconds(10);
constexpr Duration leave_timeout = seconds(2);

constexpr const char* ps_roles = "--role ps=1 --role worker=2 --strategy parameter_server ./train";

template <class T>
Result<T> number_in_range(const char* field, int64_t value, int64_t max) {
  if (value >= 0 && value <= max) return static_cast<T>(value);
  return fail(Errc::input, format("{} is {}; expected 0 to {}", field, value, max));
}

Result<Placement::Options> placement_of(const dtrain_ps_options& options) {
  constexpr PlacementRule rules[] = {PlacementRule::lpt, PlacementRule::round_robin,
                                     PlacementRule::greedy, PlacementRule::hash};
  const auto rule =
      TRY(number_in_range<size_t>("dtrain_ps_options.placement", options.placement, 3));
  ShardingRule sharding{.bytes_max = options.shard_bytes_max, .bytes_min = options.shard_bytes_min};
  constexpr int shards_max = 1 << 20;
  sharding.fixed =
      TRY(number_in_range<uint32_t>("dtrain_ps_options.shards", options.shards, shards_max));
  const bool given = sharding.fixed > 0 || sharding.bytes_max > 0 || sharding.bytes_min > 0;
  if (!given) sharding.bytes_min = shard_bytes_min_default;
  return Placement::Options{.rule = rules[rule], .sharding = sharding};
}

Result<> serve(const dtrain_ps_serve_options* given) {
  const dtrain_ps_serve_options options = TRY(read_struct(given, "dtrain_ps_serve_options"));
  PsServer::Options server;
  server.checkpoint_every =
      TRY(number_in_range<uint64_t>("dtrain_ps_serve_options.checkpoint_every",
                                    options.checkpoint_every, std::numeric_limits<int64_t>::max()));
  if (options.checkpoint != nullptr) server.checkpoint = options.checkpoint;
  if (server.checkpoint.empty() && server.checkpoint_every > 0) {
    return fail(Errc::input,
                "dtrain_ps_serve_options.checkpoint_every is set, but checkpoint, the "
                "name of the files, is not");
  }
  server.copies = TRY(ps_copies("dtrain_ps_serve_options.replicas", options.replicas,
                                environment_variable("DTRAIN_PS_REPLICAS")));
  if (options.stop_fd > 0) server.stop_fd = options.stop_fd;
  if (options.report != nullptr) {
    server.report = [options](const std::string& text) {
      options.report(text.c_str(), options.report_data);
    };
  }
  JoinedTask joined = TRY(join_task(options.identity, "dtrain_ps_serve", ps_roles));
  server.claim = std::move(joined.claim);
  server.held_port = joined.held_port;
  server.dead_after = joined.dead_after;
  const auto serving = TRY(
      PsServer::start(*joined.rendezvous, std::move(server), Clock::now() + join_timeout_default));
  return serving->run();
}

/// Returns the options of a client, without its claim.
Result<PsClient::Options> client_options(const dtrain_ps_options& options) {
  const auto call_timeout_ms =
      TRY(number_in_range<int>("dtrain_ps_options.call_timeout_ms", options.call_timeout_ms,
                               std::numeric_limits<int>::max()));
  const Placement::Options placement = TRY(placement_of(options));
  PsClient::Options client{.links = {.call_timeout = milliseconds(call_timeout_ms)},
                           .placement = placement};
  if (options.role != nullptr) client.links.role = options.role;
  client.links.copies = TRY(ps_copies("dtrain_ps_options.replicas", options.replicas,
                                      environment_variable("DTRAIN_PS_REPLICAS")));
  return client;
}

Result<Time> connect_deadline(const dtrain_ps_options& options) {
  const auto timeout_ms = TRY(number_in_range<int>(
      "dtrain_ps_options.timeout_ms", options.timeout_ms, std::numeric_limits<int>::max()));
  return Clock::now() + (timeout_ms == 0 ? join_timeout_default : milliseconds(timeout_ms));
}

Result<std::unique_ptr<PsClient>> connect_as(JoinedTask joined, PsClient::Options client,
                                             Time deadline) {
  client.links.claim = std::move(joined.claim);
  client.links.dead_after = joined.dead_after;
  auto rendezvous = std::make_unique<ClientRendezvousView>(std::move(joined.rendezvous));
  return PsClient::connect(std::move(rendezvous), std::move(client), deadline);
}

Result<std::unique_ptr<PsClient>> connect_through(std::shared_ptr<Context> job,
                                                  PsClient::Options client, Time deadline) {
  client.links.claim = *job->claim();
  client.links.dead_after = job->dead_after();
  auto rendezvous = std::make_unique<ContextRendezvousView>(std::move(job));
  return PsClient::connect(std::move(rendezvous), std::move(client), deadline);
}

Result<std::unique_ptr<dtrain_ps>> connect(const dtrain_ps_options* given) {
  const dtrain_ps_options options = TRY(read_struct(given, "dtrain_ps_options"));
  const Time deadline = TRY(connect_deadline(options));
  PsClient::Options client = TRY(client_options(options));
  auto ps = std::make_unique<dtrain_ps>();
  if (options.context == nullptr) {
    JoinedTask joined = TRY(join_task(options.identity, "dtrain_ps_connect", ps_roles));
    ps->held_port = joined.held_port;
    ps->client = TRY(connect_as(std::move(joined), std::move(client), deadline));
  } else {
    auto context = TRY(usable(options.context));
    if (!context->claim() || context->group() != 0 || options.identity != nullptr) {
      return fail(Errc::input,
                  "dtrain_ps_options.context must be that of dtrain_init, in a job; "
                  "it has the identity");
    }
    ps->client = TRY(connect_through(std::move(context), std::move(client), deadline));
  }
  const auto& tasks = ps->client->links().tasks().tasks;
  const auto self = std::ranges::find(tasks, ps->client->links().self().id, &TaskEntry::id);
  ps->worker = static_cast<uint32_t>(self - tasks.begin());
  return ps;
}

Result<> check_handle(const dtrain_ps* ps) {
  if (ps == nullptr) return fail(Errc::input, "the dtrain_ps is NULL");
  if (!ps->fork_detector.forked()) return {};
  return fail(Errc::input, "the dtrain_ps belongs to the parent of this process");
}

/// Calls `body` with the client, alone, and reports its result.
template <class Body>
int with_client(dtrain_ps* ps, dtrain_error* error, const Body& body) {
  return report_call(error, [&]() -> Result<> {
    TRY(check_handle(ps));
    const std::scoped_lock alone(ps->mutex);
    return body(*ps->client);
  });
}

double given_or(double value, double otherwise) {
  return value == 0 ? otherwise : value;
}

Result<OptimizerSettings> optimizer_of(const dtrain_ps_variable& variable) {
  const auto kind = TRY(number_in_range<uint8_t>("dtrain_ps_variable.optimizer", variable.optimizer,
                                                 optimizer_count - 1));
  const OptimizerSettings defaults;
  OptimizerSettings settings{.kind = static_cast<OptimizerKind>(kind),
                             .nesterov = variable.nesterov != 0};
  // RMSPropOptimizer and AdamOptimizer of TensorFlow have different defaults.
  const double epsilon = settings.kind == OptimizerKind::rms_prop ? 1e-10 : defaults.epsilon;
  settings.learning_rate = given_or(variable.learning_rate, defaults.learning_rate);
  settings.momentum = variable.momentum;
  settings.decay = given_or(variable.decay, defaults.decay);
  settings.beta1 = given_or(variable.beta1, defaults.beta1);
  settings.beta2 = given_or(variable.beta2, defaults.beta2);
  settings.epsilon = given_or(variable.epsilon, epsilon);
  settings.initial_accumulator =
      given_or(variable.initial_accumulator, defaults.initial_accumulator);
  settings.l1 = variable.l1;
  settings.l2 = variable.l2;
  settings.learning_rate_power =
      given_or(variable.learning_rate_power, defaults.learning_rate_power);
  return settings;
}

/// `given` is one of several of the caller, each with its struct_size.
Result<PsClient::Declaration> declaration_of(const dtrain_ps_variable* given) {
  const dtrain_ps_variable variable = TRY(read_struct(given, "dtrain_ps_variable"));
  PsClient::Declaration declared;
  VariableSpec& spec = declared.variable;
  if (variable.name != nullptr) spec.name = variable.name;
  if (variable.dims < 0 || (variable.dims > 0 && variable.shape == nullptr)) {
    return fail(Errc::input, format("dtrain_ps_variable.dims is {}, and shape is {}", variable.dims,
                                    variable.shape == nullptr ? "NULL" : "given"));
  }
  spec.shape.assign(variable.shape, variable.shape + variable.dims);
  // Another type is refused by the variable's name.
  spec.type = variable.type == DTRAIN_FLOAT64                         ? ElementType::float64
              : variable.type == 0 || variable.type == DTRAIN_FLOAT32 ? ElementType::float32
                                                                      : ElementType::boolean;
  spec.optimizer = TRY(optimizer_of(variable));
  TRY(check_ps_variable(spec));
  if (variable.initial != nullptr)
    declared.initial = {static_cast<const std::byte*>(variable.initial), spec.bytes()};
  return declared;
}

Result<std::vector<PsClient::Declaration>> declarations_of(const dtrain_ps_variable* variables,
                                                           size_t count) {
  if (variables == nullptr && count > 0) return fail(Errc::input, "the variables are NULL");
  std::vector<PsClient::Declaration> declared;
  // The caller's structs may be those of another version of the header.
  const size_t stride = count == 0 ? 0 : variables->struct_size;
  for (size_t i = 0; i < count; ++i) {
    const auto* const at = reinterpret_cast<const std::byte*>(variables) + i * stride;
    PsClient::Declaration one =
        TRY(declaration_of(reinterpret_cast<const dtrain_ps_variable*>(at)));
    declared.push_back(std::move(one));
  }
  return declared;
}

/// The directions in which a call uses its arrays.
struct Use {
  bool pushes = false;
  bool pulls = false;
};

Result<std::vector<PsClient::Array>> arrays_of(const PsClient& client, dtrain_ps_arrays given,
                                               Use use) {
  if (given.items == nullptr && given.count > 0) return fail(Errc::input, "the arrays are NULL");
  std::vector<PsClient::Array> arrays;
  for (const dtrain_ps_array& item : std::span(given.items, given.count)) {
    if (item.name == nullptr) return fail(Errc::input, "the name of a variable is NULL");
    const size_t element = TRY(client.element_size(item.name));
    const size_t bytes = item.count * element;
    const bool missing =
        (use.pushes && item.gradient == nullptr) || (use.pulls && item.values == nullptr);
    if (missing && item.count > 0)
      return fail(Errc::input, format("variable {}: a pointer is NULL", item.name));
    PsClient::Array array{.name = item.name, .sparse = item.rows != nullptr};
    if (array.sparse) array.rows = {item.rows, item.row_count};
    if (use.pushes) array.gradient = {static_cast<const std::byte*>(item.gradient), bytes};
    if (use.pulls) array.values = {static_cast<std::byte*>(item.values), bytes};
    arrays.push_back(array);
  }
  return arrays;
}

struct PushCall {
  dtrain_ps_arrays arrays;
  bool pulls = false;
  const dtrain_ps_push_options* options = nullptr;
  dtrain_ps_pushed* pushed = nullptr;
};

Result<> push(PsClient& client, const PushCall& call) {
  const dtrain_ps_push_options options = TRY(read_struct(call.options, "dtrain_ps_push_options"));
  const bool usable = options.learning_rate >= 0 && options.clip_norm >= 0 &&
                      options.learning_rate < std::numeric_limits<double>::infinity() &&
                      options.clip_norm < std::numeric_limits<double>::infinity();
  if (!usable) {
    return fail(Errc::input, format("dtrain_ps_push_options: learning_rate {} and clip_norm {} "
                                    "must be numbers from 0",
                                    options.learning_rate, options.clip_norm));
  }
  if (call.pushed != nullptr) TRY(check_result_size("dtrain_ps_pushed", call.pushed->struct_size));
  const auto arrays = TRY(arrays_of(client, call.arrays, {.pushes = true, .pulls = call.pulls}));
  const PsClient::Pushed pushed =
      TRY(client.push(arrays, call.pulls,
                      {.learning_rate = options.learning_rate, .clip_norm = options.clip_norm}));
  if (call.pushed == nullptr) return {};
  fill_result(call.pushed, dtrain_ps_pushed{.struct_size = 0,
                                            .counted = pushed.counted ? 1 : 0,
                                            .step = static_cast<int64_t>(pushed.step),
                                            .norm = pushed.norm});
  return {};
}

Result<> count(PsClient& client, uint32_t worker, dtrain_ps_statistics* into) {
  if (into == nullptr) return fail(Errc::input, "the statistics are NULL");
  TRY(check_result_size("dtrain_ps_statistics", into->struct_size));
  const std::vector<PsStatus> servers = TRY(client.status());
  dtrain_ps_statistics found = {};
  for (const PsStatus& server : servers)
    found.bytes += static_cast<int64_t>(server.bytes);
  const PsStatus& first = servers.front();
  for (const uint64_t pushes : first.pushes)
    found.pushes += static_cast<int64_t>(pushes);
  for (const uint64_t stale : first.stale)
    found.stale += static_cast<int64_t>(stale);
  static_assert(PsStatus::buckets == DTRAIN_PS_BUCKETS);
  std::ranges::copy(first.staleness, std::begin(found.staleness));
  if (worker < first.pushes.size() && worker < first.stale.size()) {
    found.own_pushes = static_cast<int64_t>(first.pushes[worker]);
    found.own_stale = static_cast<int64_t>(first.stale[worker]);
  }
  fill_result(into, found);
  return {};
}

}  // namespace

Result<JoinedTask> join_task(const dtrain_init_options* identity, const char* function,
                             const char* roles) {
  const std::optional<InitOptions> options = TRY(read_init_options(identity));
  if (!options) {
    return fail(Errc::input, format("{}: this process belongs to no job; start it by dtrain run {}",
                                    function, roles));
  }
  auto rendezvous =
      TRY(Context::connect(*options, Clock::now() + std::min(options->timeout, connect_timeout)));
  return joined_task(*options, std::move(rendezvous));
}

Result<SharedTask> share_task(dtrain_ps* ps) {
  TRY(check_handle(ps));
  const std::scoped_lock alone(ps->mutex);
  SharedTask shared = {.rendezvous = {},
                       .claim = ps->client->links().options().claim,
                       .held_port = ps->held_port,
                       .dead_after = ps->client->links().options().dead_after};
  shared.rendezvous = TRY(ps->client->links().another_view());
  return shared;
}

JoinedTask joined_task(const InitOptions& options, std::unique_ptr<RendezvousClient> rendezvous) {
  JoinedTask joined = {
      .rendezvous = std::move(rendezvous), .claim = options.claim, .held_port = options.port};
  joined.claim.encrypt_data = joined.rendezvous->engine_settings().encrypt_data;
  joined.dead_after = options.dead_after.value_or(joined.rendezvous->dead_after());
  return joined;
}

Result<std::unique_ptr<PsClient>> connect_servers(const dtrain_ps_options& options,
                                                  JoinedTask joined) {
  const Time deadline = TRY(connect_deadline(options));
  PsClient::Options client = TRY(client_options(options));
  return connect_as(std::move(joined), std::move(client), deadline);
}

Result<std::unique_ptr<PsClient>> connect_servers(const dtrain_ps_options& options,
                                                  std::shared_ptr<Context> job) {
  const Time deadline = TRY(connect_deadline(options));
  PsClient::Options client = TRY(client_options(options));
  return connect_through(std::move(job), std::move(client), deadline);
}

void leave_servers(PsClient& client) {
  const Result<> left = guarded([&]() -> Result<> {
    client.leave(leave_timeout);
    return {};
  });
  // The connections end anyway.
  static_cast<void>(left);
}

}  // namespace dt

int dtrain_ps_serve(const dtrain_ps_serve_options* options, dtrain_error* error) {
  return dt::report_call(error, [&] { return dt::serve(options); });
}

dtrain_ps* dtrain_ps_connect(const dtrain_ps_options* options, dtrain_error* error) {
  return dt::make_handle(error, [&] { return dt::connect(options); });
}

void dtrain_ps_close(dtrain_ps* ps) {
  // A fork does not have the connections' memory, and may have other memory in its place.
  if (ps == nullptr || ps->fork_detector.forked()) return;
  const std::unique_ptr<dtrain_ps> owned(ps);
  const std::scoped_lock alone(ps->mutex);
  dt::leave_servers(*ps->client);
}

int dtrain_ps_declare(dtrain_ps* ps, const dtrain_ps_variable* variables, size_t count,
                      dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    const auto declared = TRY(dt::declarations_of(variables, count));
    return client.declare(declared);
  });
}

size_t dtrain_ps_table(dtrain_ps* ps, char* text, size_t size) {
  std::string table;
  const int status = dt::with_client(ps, nullptr, [&](dt::PsClient& client) -> dt::Result<> {
    table = client.table();
    return {};
  });
  if (size > 0) text[status == DTRAIN_OK ? table.copy(text, size - 1) : 0] = '\0';
  return table.size();
}

int dtrain_ps_push(dtrain_ps* ps, dtrain_ps_arrays arrays, const dtrain_ps_push_options* options,
                   dtrain_ps_pushed* pushed, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) {
    return dt::push(client, {arrays, false, options, pushed});
  });
}

int dtrain_ps_push_pull(dtrain_ps* ps, dtrain_ps_arrays arrays,
                        const dtrain_ps_push_options* options, dtrain_ps_pushed* pushed,
                        dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) {
    return dt::push(client, {arrays, true, options, pushed});
  });
}

int dtrain_ps_pull(dtrain_ps* ps, dtrain_ps_arrays arrays, int64_t* step, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    const auto pulled = TRY(dt::arrays_of(client, arrays, {.pulls = true}));
    const uint64_t now = TRY(client.pull(pulled));
    if (step != nullptr) *step = static_cast<int64_t>(now);
    return {};
  });
}

int dtrain_ps_set_mode(dtrain_ps* ps, int mode, int count, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    const auto kind = TRY(dt::number_in_range<uint8_t>("the mode", mode, DTRAIN_PS_BOUNDED));
    const auto bound =
        TRY(dt::number_in_range<uint32_t>("the count", count, std::numeric_limits<int>::max()));
    return client.set_mode(static_cast<dt::PsMode::Kind>(kind), bound);
  });
}

int dtrain_ps_step(dtrain_ps* ps, int64_t* step, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    if (step == nullptr) return dt::fail(dt::Errc::input, "the pointer to the step is NULL");
    const uint64_t now = TRY(client.step());
    *step = static_cast<int64_t>(now);
    return {};
  });
}

int dtrain_ps_barrier(dtrain_ps* ps, dtrain_error* error) {
  return dt::with_client(ps, error, [](dt::PsClient& client) { return client.barrier(); });
}

int dtrain_ps_save(dtrain_ps* ps, const char* path, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    if (path == nullptr) return dt::fail(dt::Errc::input, "the path is NULL");
    return client.save(path);
  });
}

int dtrain_ps_load(dtrain_ps* ps, const char* path, int64_t* step, dtrain_error* error) {
  return dt::with_client(ps, error, [&](dt::PsClient& client) -> dt::Result<> {
    if (path == nullptr) return dt::fail(dt::Errc::input, "the path is NULL");
    const uint64_t loaded = TRY(client.load(path));
    if (step != nullptr) *step = static_cast<int64_t>(loaded);
    return {};
  });
}

int dtrain_ps_count(dtrain_ps* ps, dtrain_ps_statistics* statistics, dtrain_error* error) {
  return dt::with_client(
      ps, error, [&](dt::PsClient& client) { return dt::count(client, ps->worker, statistics); });
}
