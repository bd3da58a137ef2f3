#include "comm/ps/client.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/ps/server.h"
#include "comm/transport/tcp_link.h"
#include "rendezvous/secure/dial.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dt {

namespace {

/// One address of several may drop packets.
constexpr Duration dial_attempt_max = seconds(2);
/// How long a broken connection waits for the notice that explains it.
constexpr Duration notice_max = milliseconds(700);
constexpr Duration notice_step = milliseconds(20);
/// How long a wait at the rendezvous takes at most, and its reply after that.
constexpr Duration wait_max = milliseconds(500);
constexpr Duration reply_max = seconds(10);

std::string describe(const TaskEntry& task) {
  return format("{} on {}", task.id.text(), printable(task.host));
}

}  // namespace

PsClient::PsClient(std::unique_ptr<PsDirectory> directory, Options options)
    : directory_(std::move(directory)), options_(std::move(options)), placement_({}) {
  int first_rank = -1;
  for (const TaskEntry& task : tasks().tasks) {
    if (task.id.role == options_.role) servers_.push_back({.task = task});
    if (task.rank >= 0 && (first_rank < 0 || task.rank < first_rank)) first_rank = task.rank;
  }
  std::ranges::sort(servers_, {}, [](const Server& server) { return server.task.id.index; });
  initializes_ = self().rank >= 0 && self().rank == first_rank;
  options_.placement.servers = servers();
  placement_ = Placement(options_.placement);
}

Result<std::unique_ptr<PsClient>> PsClient::connect(std::unique_ptr<PsDirectory> directory,
                                                    Options options, Time deadline) {
  std::unique_ptr<PsClient> made(new PsClient(std::move(directory), std::move(options)));
  if (made->servers_.empty()) {
    return fail(Errc::input, format("the job has no task of role {}; start parameter servers by "
                                    "--role {}=1",
                                    made->options_.role, made->options_.role));
  }
  for (Server& server : made->servers_)
    TRY(made->dial_server(server, deadline));
  // The mode and the step may not be the first ones.
  TRY(made->ask_coordinator(StatusRequest{}));
  return made;
}

/// Waits until the server has published its endpoint.
Result<PeerEndpoint> PsClient::await_endpoint(const Server& server, Time deadline) {
  const std::string key = ps_endpoint_key(server.task.id);
  Deadline until(deadline);
  while (true) {
    TRY(read_rendezvous());
    // In short waits: between them, this learns of deaths.
    const Duration wait = std::clamp<Duration>(deadline - Clock::now(), Duration::zero(), wait_max);
    const Reply reply =
        TRY(directory_->ask(CollectRequest{key, 1, wait}, Clock::now() + wait + reply_max));
    const std::vector<StoreEntry> entries = TRY(decode_entries(reply.value.value_or(Bytes())));
    if (!entries.empty()) return PeerEndpoint::decode(entries.front().value);
    if (!until.passed()) continue;
    return fail(Errc::timeout, format("{} serves no parameters: it has not called dtrain_ps_serve "
                                      "in time",
                                      describe(server.task)));
  }
}

Result<> PsClient::dial_server(Server& server, Time deadline) {
  Deadline until(deadline);
  while (true) {
    const PeerEndpoint endpoint = TRY(await_endpoint(server, deadline));
    std::string why = "it has no address";
    for (const Address& address : endpoint.tcp) {
      const Time last = std::min(deadline, Clock::now() + dial_attempt_max);
      auto dialed = dial(address, options_.claim, server.task.id, options_.dead_after, last);
      if (!dialed && dialed.error().code == Errc::refused)
        return tl::unexpected(
            std::move(dialed).error().during("cannot connect to " + describe(server.task)));
      if (!dialed) why = dialed.error().message;
      if (!dialed) continue;
      tune_link(dialed->connection.get(), server.task.agent == self().agent, options_.dead_after);
      server.connection = std::make_unique<MessageConnection>(
          std::move(dialed->connection), std::move(dialed->session),
          MessageConnection::Options{.generation = options_.claim.generation,
                                     .message_bytes_max = ps_message_bytes_max});
      return {};
    }
    if (until.passed())
      return fail(Errc::timeout, format("cannot connect to {}: {}", describe(server.task), why));
  }
}

Result<> PsClient::read_rendezvous() {
  if (broken_) return tl::unexpected(*broken_);
  if (const Result<> refreshed = directory_->refresh(); !refreshed) {
    broken_ = Error{Errc::peer_lost, format("the launcher is lost: {}", refreshed.error().message)};
  }
  while (const auto notice = directory_->next_notice()) {
    const auto at = std::ranges::find(servers_, notice->task,
                                      [](const Server& server) { return server.task.id; });
    if (at == servers_.end() || broken_) continue;
    const bool left = notice->kind == Notice::Kind::left;
    broken_ = Error{Errc::peer_lost,
                    format("the parameter server {} {}", describe(at->task),
                           left ? "has left the job" : "died: " + printable(notice->cause))};
  }
  if (broken_) return tl::unexpected(*broken_);
  return {};
}

/// Waits for news of the rendezvous. Fails with those that end all calls.
Result<> PsClient::await_notice(Time deadline) {
  Deadline until(deadline);
  while (!until.passed()) {
    TRY(read_rendezvous());
    if (directory_->fd() >= 0) {
      TRY(await_readiness(directory_->fd(), POLLIN, until));
      continue;
    }
    // The context reads notices while it waits for a reply.
    const CollectRequest nothing{"ps/", std::numeric_limits<uint32_t>::max(), notice_step};
    TRY(directory_->ask(nothing, Clock::now() + reply_max));
  }
  return {};
}

/// Returns the error of a broken connection: the launcher's notice, which comes soon, explains it.
Result<> PsClient::lost(const Server& server, const Error& why) {
  if (why.code != Errc::protocol) {
    const Result<> noticed = await_notice(Clock::now() + std::min(options_.dead_after, notice_max));
    if (broken_) return noticed;
  }
  broken_ = Error{Errc::peer_lost, format("the connection to the parameter server {} is broken: {}",
                                          describe(server.task), why.message)};
  return tl::unexpected(*broken_);
}

/// True when the server's reply has come.
Result<bool> PsClient::advance(Server& server) {
  const Result<> advanced = server.connection->advance();
  while (auto message = server.connection->take()) {
    if (message->id == server.request) server.reply = std::move(message->body);
  }
  if (server.reply) server.request.reset();
  if (!advanced && !server.reply) TRY(lost(server, advanced.error()));
  return server.reply.has_value();
}

void PsClient::wait(Time deadline) {
  std::vector<pollfd> fds = {{.fd = directory_->fd(), .events = POLLIN, .revents = 0}};
  for (const Server& server : servers_) {
    if (!server.request) continue;
    const bool unsent = server.connection->unsent();
    fds.push_back({.fd = server.connection->fd(),
                   .events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN),
                   .revents = 0});
  }
  // Whatever it returns, the caller tries all of them.
  poll(fds.data(), fds.size(), poll_ms(Clock::now(), deadline));
}

Result<> PsClient::await_replies(Time deadline) {
  RunningTimeClock clock;
  while (true) {
    bool waiting = false;
    const Server* late = nullptr;
    for (Server& server : servers_) {
      if (!server.request) continue;
      const bool replied = TRY(advance(server));
      if (replied) continue;
      waiting = true;
      if (late == nullptr) late = &server;
    }
    if (!waiting) return {};
    TRY(read_rendezvous());
    if (clock.now() >= deadline) {
      broken_ = Error{Errc::timeout,
                      format("the parameter server {} has not answered in time; the calls that "
                             "follow fail, too",
                             describe(late->task))};
      return tl::unexpected(*broken_);
    }
    wait(clock.wake_up_at(deadline));
  }
}

Result<PsClient::Replies> PsClient::exchange(const Requests& requests) {
  if (broken_) return tl::unexpected(*broken_);
  ++last_request_;
  for (const auto& [number, request] : requests) {
    Server& server = servers_[number];
    server.reply.reset();
    server.request = last_request_;
    if (const Result<> sent = server.connection->send(last_request_, encode(request)); !sent)
      TRY(lost(server, sent.error()));
  }
  const bool limited = options_.call_timeout > Duration::zero();
  TRY(await_replies(limited ? Clock::now() + options_.call_timeout : Time::max()));
  Replies replies;
  for (const auto& [number, request] : requests) {
    Server& server = servers_[number];
    const Bytes& body = replies.bodies.emplace(number, *std::move(server.reply)).first->second;
    server.reply.reset();
    Result<PsReply> decoded = decode_ps_reply(body);
    if (!decoded) TRY(lost(server, decoded.error()));
    replies.decoded.emplace(number, *std::move(decoded));
  }
  return replies;
}

Result<PsReply> PsClient::ask_coordinator(const PsRequest& request) {
  Replies replies = TRY(exchange({{0, request}}));
  PsReply reply = std::move(replies.decoded.at(0));
  knowledge_.learn(reply);
  if (reply.error) return tl::unexpected(*reply.error);
  // They refer to bytes that end with this call.
  reply.values.clear();
  return reply;
}

/// Fails with the first server's error.
Result<PsClient::Replies> PsClient::ask_all(const PsRequest& request) {
  Requests requests;
  for (uint32_t server = 0; server < servers(); ++server)
    requests.emplace(server, request);
  Replies replies = TRY(exchange(requests));
  knowledge_.learn(replies.decoded.at(0));
  for (auto& [server, reply] : replies.decoded) {
    if (!reply.error) continue;
    return tl::unexpected(std::move(*reply.error).during(describe(servers_[server].task)));
  }
  return replies;
}

Result<> PsClient::declare(std::span<const Declaration> variables) {
  std::vector<VariableSpec> specs;
  for (const Declaration& declared : variables) {
    TRY(check_ps_variable(declared.variable));
    const size_t bytes = declared.initial.size();
    if (bytes != 0 && bytes != declared.variable.bytes()) {
      return fail(Errc::input,
                  format("variable {}: {} bytes of initial values, expected {}",
                         printable(declared.variable.name), bytes, declared.variable.bytes()));
    }
    specs.push_back(declared.variable);
  }
  Placement placement = placement_;
  const uint32_t first = placement.variables();
  const std::vector<PlacedShard> placed = placement.add(specs);
  DeclareRequest common{.first_variable = first, .variables = specs, .initializes = initializes_};
  std::vector<DeclareRequest> declarations(servers(), common);
  for (const PlacedShard& shard : placed) {
    const Declaration& declared = variables[shard.shard.variable - first];
    const size_t row_bytes = declared.variable.row_bytes();
    const ByteSpan initial = !initializes_ || declared.initial.empty()
                                 ? ByteSpan()
                                 : declared.initial.subspan(shard.shard.first_row * row_bytes,
                                                            shard.shard.rows * row_bytes);
    declarations[shard.server].shards.push_back({shard.shard, initial});
  }
  Requests requests;
  for (uint32_t server = 0; server < servers(); ++server)
    requests.emplace(server, std::move(declarations[server]));
  Replies replies = TRY(exchange(requests));
  knowledge_.learn(replies.decoded.at(0));
  for (auto& [server, reply] : replies.decoded)
    if (reply.error) return tl::unexpected(*reply.error);
  placement_ = std::move(placement);
  for (size_t i = 0; i < specs.size(); ++i) {
    Variable variable{.spec = specs[i], .shards = {}};
    std::ranges::copy_if(placed, std::back_inserter(variable.shards),
                         [&](const PlacedShard& p) { return p.shard.variable == first + i; });
    variables_.emplace(specs[i].name, std::move(variable));
  }
  return {};
}

Result<const PsClient::Variable*> PsClient::find(std::string_view name) const {
  const auto at = variables_.find(name);
  if (at != variables_.end()) return &at->second;
  return fail(Errc::input, format("variable {} is not declared", printable(std::string(name))));
}

Result<size_t> PsClient::element_size(std::string_view variable) const {
  const Variable* const found = TRY(find(variable));
  return element_bytes(found->spec.type);
}

Result<std::vector<PsTensor>> PsClient::tensors_of(std::span<const Array> arrays) const {
  std::vector<PsTensor> tensors;
  for (const Array& array : arrays) {
    const Variable* const variable = TRY(find(array.name));
    tensors.push_back({.variable = &variable->spec,
                       .shards = variable->shards,
                       .sparse = array.sparse,
                       .rows = array.rows,
                       .gradient = array.gradient,
                       .values = array.values});
  }
  return tensors;
}

PsClient::Requests PsClient::requests_of(const PushTurn& turn, const TensorSplit& split,
                                         const PushRequest& terms) const {
  Requests requests;
  for (const uint32_t server : turn.awaited()) {
    if (turn.phase() == PushTurn::Phase::commit) {
      requests.emplace(server, turn.commit());
    } else if (turn.phase() == PushTurn::Phase::pull) {
      PullRequest pull = turn.pull();
      pull.pulls = split.pulls(server);
      requests.emplace(server, std::move(pull));
    } else {
      PushRequest push = turn.push();
      push.learning_rate = terms.learning_rate;
      push.scale = terms.scale;
      push.gradients = split.gradients(server);
      if (turn.has_values()) push.pulls = split.pulls(server);
      requests.emplace(server, std::move(push));
    }
  }
  return requests;
}

Result<PsClient::Pushed> PsClient::push(std::span<const Array> arrays, bool pulls,
                                        const PushOptions& options) {
  const std::vector<PsTensor> tensors = TRY(tensors_of(arrays));
  TensorSplit split(servers());
  for (const PsTensor& tensor : tensors) {
    TRY(split.add_gradient(tensor));
    if (pulls) TRY(split.add_pull(tensor));
  }
  Pushed pushed;
  PushRequest terms{.learning_rate = options.learning_rate};
  if (options.clip_norm > 0) {
    pushed.norm = global_norm(tensors);
    if (!std::isfinite(pushed.norm))
      return fail(Errc::input, "the norm of the gradients is no finite number");
    // clip_by_global_norm of TensorFlow, python/ops/clip_ops.py.
    if (pushed.norm > options.clip_norm) terms.scale = options.clip_norm / pushed.norm;
  }
  PushTurn turn(knowledge_, servers(), pulls);
  while (turn.phase() != PushTurn::Phase::done) {
    const Replies replies = TRY(exchange(requests_of(turn, split, terms)));
    const bool values = turn.has_values();
    for (const auto& [server, reply] : replies.decoded) {
      if (values && !reply.error) TRY(split.take_values(server, reply.values));
      TRY(turn.take(server, reply));
      if (server == 0) pushed.step = reply.step;
    }
  }
  pushed.counted = turn.counted();
  return pushed;
}

Result<uint64_t> PsClient::pull(std::span<const Array> arrays) {
  const std::vector<PsTensor> tensors = TRY(tensors_of(arrays));
  TensorSplit split(servers());
  for (const PsTensor& tensor : tensors)
    TRY(split.add_pull(tensor));
  Requests requests;
  const uint64_t round = knowledge_.decision.round;
  for (uint32_t server = 0; server < servers(); ++server)
    requests.emplace(server,
                     PullRequest{.decision = knowledge_.decision, .pulls = split.pulls(server)});
  const Replies replies = TRY(exchange(requests));
  knowledge_.learn(replies.decoded.at(0));
  for (const auto& [server, reply] : replies.decoded) {
    if (reply.error) return tl::unexpected(*reply.error);
    TRY(split.take_values(server, reply.values));
  }
  knowledge_.seen_round = round;
  knowledge_.seen_step = replies.decoded.at(0).step;
  return knowledge_.seen_step;
}

Result<> PsClient::set_mode(PsMode::Kind kind, uint32_t count) {
  TRY(ask_coordinator(ModeRequest{kind, count}));
  return {};
}

Result<> PsClient::save(const std::string& path) {
  TRY(ask_all(SaveRequest{knowledge_.decision, path}));
  return {};
}

Result<uint64_t> PsClient::load(const std::string& path) {
  const Replies checked = TRY(ask_all(LoadRequest{path, true}));
  const uint64_t step = checked.decoded.at(0).step;
  for (const auto& [server, reply] : checked.decoded) {
    if (reply.step == step) continue;
    return fail(Errc::mismatch,
                format("checkpoint {}: the file of {} is of step {}, that of {} of step {}",
                       printable(path), describe(servers_[0].task), step,
                       describe(servers_[server].task), reply.step));
  }
  TRY(ask_all(LoadRequest{path, false}));
  return step;
}

Result<uint64_t> PsClient::step() {
  const PsReply reply = TRY(ask_coordinator(StatusRequest{}));
  return reply.step;
}

Result<> PsClient::barrier() {
  TRY(ask_coordinator(BarrierRequest{}));
  return {};
}

Result<std::vector<PsStatus>> PsClient::status() {
  Replies replies = TRY(ask_all(StatusRequest{}));
  std::vector<PsStatus> all;
  for (auto& [server, reply] : replies.decoded)
    all.push_back(std::move(reply.status).value_or(PsStatus()));
  return all;
}

void PsClient::leave(Duration limit) {
  if (broken_) return;
  options_.call_timeout = limit;
  [[maybe_unused]] const auto left = ask_all(LeaveRequest{});
}

}  // namespace dt
