#include "comm/training/ps/client.h"

#include "base/crypto.h"
#include "base/finally.h"
#include "base/format.h"
#include "base/text.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/transport/doorbell.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dt {

namespace {

/// How long the connection to a server that takes over may take.
constexpr Duration take_over_max = seconds(60);

}  // namespace

PsClient::PsClient(std::unique_ptr<PsDirectory> directory, Options options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      placement_({}),
      poll_(tasks(), self().agent) {
  int first_rank = -1;
  for (const TaskEntry& task : tasks().tasks) {
    if (task.id.role == options_.role) servers_.push_back({.task = task});
    if (task.rank >= 0 && (first_rank < 0 || task.rank < first_rank)) first_rank = task.rank;
  }
  std::ranges::sort(servers_, {}, [](const Server& server) { return server.task.id.index; });
  initializes_ = self().rank >= 0 && self().rank == first_rank;
  for (const Server& server : servers_)
    tasks_.push_back(server.task);
  ring_ = {.count = servers(), .copies = options_.copies};
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
  TRY(random_bytes(std::as_writable_bytes(std::span(&made->session_, 1))));
  if (made->shares_memory()) made->doorbell_ = TRY(make_doorbell());
  for (Server& server : made->servers_)
    TRY(made->connect_to(server, deadline));
  // The mode and the step may not be the first ones.
  TRY(made->await_replies(deadline));
  return made;
}

bool PsClient::shares_memory() const {
  if (!options_.shares_memory.value_or(poll_.stays_awake())) return false;
  return std::ranges::find(tasks_, self().agent, &TaskEntry::agent) != tasks_.end();
}

/// Waits until the server has published its endpoint.
Result<PeerEndpoint> PsClient::await_endpoint(const Server& server, Time deadline) {
  const auto ask = [this](const Request& request, Time reply_deadline) {
    return directory_->ask(request, reply_deadline);
  };
  Deadline until(deadline);
  while (true) {
    TRY(read_rendezvous());
    const TaskId asked = server.task.id;
    const std::optional<Bytes> value = TRY(ask_for_key(ask, ps_endpoint_key(asked), deadline));
    if (value) {
      // The death of an attempt before is no news of the server that has published this.
      TRY(read_rendezvous());
      if (server.task.id != asked) continue;
      return PeerEndpoint::decode(*value);
    }
    if (!until.passed()) continue;
    return fail(Errc::timeout, format("{} serves no parameters: it has not called dtrain_ps_serve "
                                      "in time",
                                      describe_task(server.task)));
  }
}

uint32_t PsClient::part_of(const Server& server) const {
  return static_cast<uint32_t>(&server - servers_.data());
}

/// Connects to the server that has the part, and sends the first request.
Result<> PsClient::connect_to(Server& server, Time deadline) {
  const PsDialler dialler{.claim = options_.claim,
                          .agent = self().agent,
                          .doorbell = doorbell_.get(),
                          .dead_after = options_.dead_after,
                          .message_bytes_max = ps_message_bytes_max};
  Deadline until(deadline);
  while (true) {
    const PeerEndpoint endpoint = TRY(await_endpoint(server, deadline));
    auto dialled = dial_server(dialler, server.task, endpoint, deadline);
    if (dialled) {
      server.connection = *std::move(dialled);
      break;
    }
    if (dialled.error().code == Errc::refused || until.passed())
      return tl::unexpected(std::move(dialled).error());
  }
  server.connection->place_by(
      [this, part = part_of(server)](const auto& arriving) { return place(part, arriving); });
  // A server that takes over may reply as soon as it knows this client: it has the request already.
  if (server.request) expect_reply(server);
  server.attach = ++last_request_;
  const AttachRequest first{.part = part_of(server), .copies = ring_.copies, .session = session_};
  if (const Result<> sent = server.connection->send(*server.attach, encode(PsRequest(first)));
      !sent)
    return lost(server, sent.error());
  return {};
}

/// Called before the reply to the server's request can arrive, also once more.
void PsClient::expect_reply(Server& server) {
  server.reply.reset();
  if (values_ != nullptr) values_->restart(part_of(server));
}

/// Sends the request that is under way, if the connection has had the reply to its first one.
Result<> PsClient::send(Server& server) {
  if (!server.request || server.attach || server.connection == nullptr) return {};
  const Result<> sent = server.connection->send(*server.request, server.body);
  return sent ? sent : lost(server, sent.error());
}

Result<> PsClient::take_message(Server& server, MessageConnection::Received message) {
  if (message.id == server.request) {
    server.reply = std::move(message.body);
    return {};
  }
  if (message.id != server.attach) return {};
  const Result<PsReply> reply = decode_ps_reply(*message.body);
  if (!reply) return lost(server, reply.error());
  if (reply->error) {
    broken_ = reply->error;
    return tl::unexpected(*broken_);
  }
  if (part_of(server) == 0) knowledge_.learn(*reply);
  server.attach.reset();
  return send(server);
}

/// Ends the request that has its reply. It refers to memory of the caller, so it must be sent.
void PsClient::end_request(Server& server) {
  if (!server.reply || server.connection == nullptr || server.connection->outgoing() > 0) return;
  server.request.reset();
  server.body.reset();
}

/// True when the server has no request under way.
Result<bool> PsClient::advance(Server& server) {
  if (server.connection == nullptr) return false;
  const Result<> advanced = server.connection->advance();
  while (server.connection != nullptr) {
    auto message = server.connection->take();
    if (!message) break;
    TRY(take_message(server, *std::move(message)));
  }
  end_request(server);
  const bool waits = server.request || server.attach;
  if (!advanced && waits && server.connection != nullptr) TRY(lost(server, advanced.error()));
  return !waits;
}

void PsClient::wait(Time deadline) {
  std::vector<pollfd> fds = {{.fd = directory_->fd(), .events = POLLIN, .revents = 0},
                             {.fd = doorbell_.get(), .events = POLLIN, .revents = 0}};
  waiting_.clear();
  const Time now = Clock::now();
  for (const Server& server : servers_) {
    // Later calls come here again, so no time limit of this wait is needed.
    if (server.connection != nullptr) server.connection->free_unused_memory(now);
    if (server.connection == nullptr || (!server.request && !server.attach)) continue;
    fds.push_back(
        {.fd = server.connection->fd(), .events = server.connection->events(), .revents = 0});
    waiting_.push_back(server.connection.get());
  }
  // Whatever it returns, the caller tries all of them.
  poll_.wait(fds, waiting_, deadline);
  if (fds[1].revents != 0) silence(doorbell_.get());
}

/// Connects to the server that has taken over. Without it, all later calls fail.
Result<> PsClient::reconnect(Server& server, Time deadline) {
  Result<> connected = connect_to(server, std::min(deadline, Clock::now() + take_over_max));
  if (!connected && !broken_) broken_ = connected.error();
  return connected;
}

Result<> PsClient::await_replies(Time deadline) {
  RunningTimeClock clock;
  while (true) {
    const Server* late = nullptr;
    for (Server& server : servers_) {
      if (server.connection == nullptr) TRY(reconnect(server, deadline));
      if (!server.request && !server.attach) continue;
      const bool replied = TRY(advance(server));
      if (!replied && late == nullptr) late = &server;
    }
    if (late == nullptr) return {};
    TRY(read_rendezvous());
    if (clock.now() >= deadline) {
      broken_ = Error{Errc::timeout,
                      format("the parameter server {} has not answered in time; the calls that "
                             "follow fail, too",
                             describe_task(late->task))};
      return tl::unexpected(*broken_);
    }
    // A connection to the server that takes over is made at once.
    if (std::ranges::all_of(servers_, [](const Server& s) { return s.connection != nullptr; }))
      wait(clock.wake_up_at(deadline));
  }
}

/// Returns the place of a reply's bytes in the caller's memory.
std::optional<std::span<std::byte>> PsClient::place(uint32_t server,
                                                    const MessageConnection::Arriving& arriving) {
  const Server& from = servers_[server];
  if (values_ == nullptr || from.request != arriving.id || from.reply) return std::nullopt;
  const std::optional<PsReplyPlace> at = place_behind(arriving.before);
  if (!at) return std::nullopt;
  return values_->place(server, *at, arriving.length);
}

/// Sends the requests, and waits for the reply to each.
Result<> PsClient::send_all(const Requests& requests) {
  ++last_request_;
  for (const auto& [number, request] : requests) {
    Server& server = servers_[number];
    server.request = last_request_;
    server.body = std::make_shared<const MessageParts>(encode_parts(request));
    expect_reply(server);
    TRY(send(server));
  }
  poll_.note_request();
  const bool limited = options_.call_timeout > Duration::zero();
  return await_replies(limited ? Clock::now() + options_.call_timeout : Time::max());
}

/// Ends all requests: nothing refers to the caller's memory any more. All later calls fail.
void PsClient::drop_requests() {
  for (Server& server : servers_) {
    server.connection.reset();
    server.attach.reset();
    server.request.reset();
    server.body.reset();
  }
  // The text is short, so it allocates nothing.
  if (!broken_) broken_ = Error{Errc::os, "out of memory"};
}

/// With `values`, long values of the replies are received where they belong.
Result<PsClient::Replies> PsClient::exchange(const Requests& requests, TensorSplit* values) {
  if (broken_) return tl::unexpected(*broken_);
  values_ = values;
  bool replied = false;
  const Finally end([&] {  // also when memory has run out
    values_ = nullptr;
    if (!replied) drop_requests();
  });
  TRY(send_all(requests));
  replied = true;
  Replies replies;
  for (const auto& [number, request] : requests) {
    Server& server = servers_[number];
    const auto& body = replies.bodies.emplace(number, std::move(server.reply)).first->second;
    server.reply.reset();
    Result<PsReply> decoded = decode_ps_reply(*body);
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
    return tl::unexpected(std::move(*reply.error).during(describe_task(servers_[server].task)));
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
  const DeclareRequest common{
      .first_variable = first, .variables = specs, .initializes = initializes_};
  std::vector<DeclareRequest> declarations =
      split_declaration(common, variables, placed, servers());
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
    const bool values = turn.has_values();
    const Replies replies =
        TRY(exchange(requests_of(turn, split, terms), values ? &split : nullptr));
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
  const Replies replies = TRY(exchange(requests, &split));
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
                       printable(path), describe_task(servers_[0].task), step,
                       describe_task(servers_[server].task), reply.step));
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
