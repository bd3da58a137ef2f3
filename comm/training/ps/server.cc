#include "comm/training/ps/server.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/running_time_clock.h"
#include "base/text.h"
#include "comm/memory/available_memory.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/training/ps/checkpoint_file.h"
#include "comm/training/ps/common_checkpoint.h"
#include "comm/training/ps/last_checkpoint.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// The listener, the rendezvous, files, and connections that are not complete yet.
constexpr size_t files_besides_clients = 32;

}  // namespace

Result<std::unique_ptr<PsServer>> PsServer::start(RendezvousClient& client, Options options,
                                                  Time deadline) {
  const TaskEntry& self = client.self();
  if (self.rank >= 0) {
    return fail(Errc::input, format("{} has rank {}; a parameter server is a task without rank, "
                                    "such as those of --role ps=2",
                                    self.id.text(), self.rank));
  }
  const uint32_t attempt = options.claim.attempt;
  std::unique_ptr<PsServer> server(new PsServer(client, std::move(options)));
  if (server->ring_.copies > server->ring_.count) {
    return fail(Errc::input, format("{} copies of each variable need as many parameter servers; "
                                    "the job has {}",
                                    server->ring_.copies, server->ring_.count));
  }
  if (attempt > first_attempt && server->ring_.count > 1) {
    return fail(Errc::input, format("{} was restarted (attempt {}), but the other {} parameter "
                                    "servers have values of another step; only a single server can "
                                    "be restarted",
                                    self.id.text(), attempt, server->ring_.count - 1));
  }
  TRY(server->restore(deadline));
  if (server->own().keeps_files()) TRY(announce_last_checkpoint(client, deadline));
  TRY(server->listen(deadline));
  if (server->ring_.copies > 1) TRY(server->connect_replica(deadline));
  TRY(client.set(ps_endpoint_key(self.id), server->listener_->endpoint().encode(), deadline,
                 Lifetime::connection));
  return server;
}

PsServer::PsServer(RendezvousClient& client, Options options)
    : client_(client),
      options_(std::move(options)),
      connections_(options_.copies),
      poll_(client.table(), client.self().agent) {
  const TaskEntry& self = client.self();
  std::vector<PsWorker> workers;
  for (uint32_t number = 0; number < client.table().tasks.size(); ++number) {
    const TaskEntry& entry = task(number);
    workers.push_back({.id = entry.id, .host = entry.host, .takes_part = entry.rank >= 0});
    if (entry.id.role == self.id.role) servers_.push_back(number);
  }
  // Indices may have holes, so the servers are numbered in their order.
  std::ranges::sort(servers_, {}, [this](uint32_t number) { return task(number).id.index; });
  while (task(servers_[index_]).id != self.id)
    ++index_;
  ring_ = {.count = static_cast<uint32_t>(servers_.size()), .copies = options_.copies};
  if (const auto available = available_memory())
    options_.limits.bytes = std::min(options_.limits.bytes, *available / ring_.copies);
  ServedPart::Files files{.checkpoint = options_.checkpoint,
                          .checkpoint_every = options_.checkpoint_every,
                          .servers = ring_.count,
                          .report = options_.report};
  files.newest_common = [this](CheckpointPart part, const std::vector<uint64_t>& steps) {
    return newest_common_step(client_, part, steps);
  };
  const auto add_part = [&](uint32_t part, PartCopy::Role role) {
    const PsServerState::Options state{
        .workers = workers, .server = part, .servers = ring_.count, .limits = options_.limits};
    parts_.emplace(part, ServedPart(PartCopy(state, role), files));
  };
  add_part(index_, PartCopy::Role::head);
  if (ring_.copies > 1) add_part(ring_.previous(index_), PartCopy::Role::replica);
}

void PsServer::report(const std::string& text) const {
  if (options_.report) options_.report(text);
}

Result<> PsServer::restore(Time deadline) {
  if (options_.checkpoint.empty()) return {};
  TRY(try_checkpoint(options_.checkpoint, own().file_part()));
  const std::vector<uint64_t> steps = checkpoint_steps(options_.checkpoint, own().file_part());
  const std::optional<uint64_t> step =
      TRY(common_checkpoint(client_, own().file_part(), steps, deadline));
  if (!step) return refuse_other_servers(options_.checkpoint, client_.self().id.role, ring_.count);
  const std::string file = TRY(own().restore(*step));
  report(format("restored step {} from {}", *step, printable(file)));
  return {};
}

Result<> PsServer::listen(Time deadline) {
  const TaskEntry& self = client_.self();
  const size_t connections = client_.table().tasks.size() * ring_.copies;
  PeerListener::Options options{.claim = options_.claim, .tcp_ips = self.addresses};
  if (options.tcp_ips.empty()) options.tcp_ips = {client_.local().ip};
  options.held_port = options_.held_port;
  if (transport_named(client_.engine_settings().transport) != Transport::tcp) {
    options.local = true;
    doorbell_ = TRY(make_doorbell());
  }
  options.pending_max += connections;
  options.unaccepted_max = connections;
  const size_t sockets = options.tcp_ips.size() * PeerListener::sockets_for(connections);
  // Each connection through shared memory needs a doorbell, and the memory until it is mapped.
  const auto on_host =
      static_cast<size_t>(std::ranges::count(client_.table().tasks, self.agent, &TaskEntry::agent));
  TRY(ensure_open_files(connections + 2 * on_host + sockets + files_besides_clients,
                        format("the connections of {} tasks", client_.table().tasks.size())));
  listener_ = TRY(PeerListener::open(std::move(options)));
  if (ring_.copies < 2) return {};
  Writer published;
  published.number(options_.limits.bytes).raw(listener_->endpoint().encode());
  return client_.set(ps_replica_key(self.id), published.view(), deadline, Lifetime::connection);
}

bool PsServer::is_stopped() {
  pollfd stop = {.fd = options_.stop_fd, .events = POLLIN, .revents = 0};
  stopped_ = stopped_ || poll(&stop, 1, 0) > 0;
  return stopped_;
}

/// Server 0 dials first, and each other one when the one before has dialed it. So no two servers
/// wait for each other.
Result<> PsServer::connect_replica(Time deadline) {
  const TaskEntry& previous = task(servers_[ring_.previous(index_)]);
  const TaskEntry& next = task(servers_[ring_.next(index_)]);
  if (index_ > 0)
    TRY(await_server(previous, [this] { return connections_.has_follower(); }, deadline));
  if (stopped_) return {};
  TRY(dial_replica(next, deadline));
  if (stopped_) return {};
  TRY(await_server(next, [this] { return !own().copy().awaits_replica(); }, deadline));
  connected_ = true;
  return {};
}

/// Serves until another server has made its connection, or until this one is stopped.
Result<> PsServer::await_server(const TaskEntry& other, const std::function<bool()>& done,
                                Time deadline) {
  Deadline until(deadline);
  while (true) {
    const bool goes_on = TRY(round());
    if (!goes_on || done()) return {};
    if (until.passed()) {
      return fail(Errc::timeout, format("{} has not connected to this server in time; each has "
                                        "variables of the other",
                                        describe_task(other)));
    }
    wait(until.wake_up_at());
  }
}

Result<> PsServer::dial_replica(const TaskEntry& next, Time deadline) {
  const PsDialer dialer{.claim = options_.claim,
                        .agent = client_.self().agent,
                        .dead_after = options_.dead_after,
                        .message_bytes_max = ps_message_bytes_max};
  const auto ask = [this](const Request& request, Time reply_deadline) {
    return ask_rendezvous(client_, request, reply_deadline);
  };
  Deadline until(deadline);
  while (true) {
    TRY(read_rendezvous());
    if (is_stopped()) return {};
    const std::optional<Bytes> value = TRY(ask_for_key(ask, ps_replica_key(next.id), deadline));
    std::string why = "it does not serve";
    if (value) {
      Reader reader(*value);
      const uint64_t bytes_max = std::min(reader.number<uint64_t>(), options_.limits.bytes);
      const PeerEndpoint endpoint = TRY(PeerEndpoint::decode(reader.rest()));
      auto dialed = dial_server(dialer, next, endpoint, deadline);
      if (dialed) {
        own().copy().start_replica(bytes_max);
        // The checkpoint has no ends and attempts of tasks.
        for (const Notice& notice : notices_)
          own().copy().take(notice);
        // The launcher may report the end of a host a little later than its silence breaks this.
        replica_ = std::make_unique<ReplicaConnection>(*std::move(dialed), own().copy(),
                                                       2 * options_.dead_after);
        return {};
      }
      if (dialed.error().code == Errc::refused) return tl::unexpected(dialed.error());
      why = dialed.error().message;
    }
    if (until.passed())
      return fail(Errc::timeout, format("{} keeps no copies: {}", describe_task(next), why));
  }
}

Result<> PsServer::run() {
  while (TRY(round()))
    wait(Time::max());
  Result<> written;
  for (auto& [number, part] : parts_)
    if (Result<> one = write_last_checkpoint(client_, task(servers_[number]).id, part); !one)
      written = std::move(one);
  return written;
}

/// True when all tasks that take part have died or left the job.
bool PsServer::all_gone() const {
  return std::ranges::all_of(parts_, [](const auto& entry) {
    const ServedPart& part = entry.second;
    return !part.is_head() || part.copy().state().all_gone();
  });
}

/// Returns false at the end.
Result<bool> PsServer::round() {
  accept();
  advance_connections();
  // Only after the last requests of workers that have ended.
  if (std::exchange(rendezvous_ready_, false)) TRY(read_rendezvous());
  for (auto& [number, part] : parts_)
    part.serve_files();
  // After all inputs, and before the replies that acknowledgements let leave.
  TRY(advance_replica());
  for (auto& [number, part] : parts_)
    for (PsDelivery& delivery : part.copy().take_deliveries())
      connections_.deliver(number, std::move(delivery));
  connections_.remove_closed();
  return !stopped_ && !all_gone();
}

void PsServer::wait(Time until) {
  polled_.clear();
  listener_->collect_fds(polled_);
  const size_t listening = polled_.size();
  polled_.push_back({.fd = client_.fd(), .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = options_.stop_fd, .events = POLLIN, .revents = 0});
  const bool unsent = replica_ != nullptr && replica_->unsent();
  polled_.push_back({.fd = replica_ == nullptr ? -1 : replica_->fd(),
                     .events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN),
                     .revents = 0});
  const size_t doorbell = polled_.size();
  polled_.push_back({.fd = doorbell_.get(), .events = POLLIN, .revents = 0});
  const size_t first_connection = polled_.size();
  waiting_.clear();
  connections_.collect_fds(polled_, waiting_);
  until =
      std::min({until, connections_.free_unused_memory(Clock::now()), listener_->next_deadline()});
  if (replica_ != nullptr) until = std::min(until, replica_->deadline());
  // A connection that has sent a reply may have received a request meanwhile.
  if (connections_.any_ready()) until = Time::min();
  // A request of this server may have read notices. The descriptor does not show these any more.
  if (!client_.unread_notices().empty()) until = Time::min();
  // After a failure of poll, the next round tries every connection.
  if (poll_.wait(polled_, waiting_, until) < 0) {
    for (pollfd& fd : polled_)
      fd.revents = fd.fd == options_.stop_fd ? short{0} : short{POLLERR};
  }
  listener_->take_events(std::span(polled_).first(listening));
  rendezvous_ready_ = polled_[listening].revents != 0 || !client_.unread_notices().empty();
  stopped_ = polled_[listening + 1].revents != 0;
  if (polled_[doorbell].revents != 0) silence(doorbell_.get());
  connections_.take_events(std::span(polled_).subspan(first_connection));
}

std::optional<uint32_t> PsServer::number_of(const TaskId& id) const {
  const auto& tasks = client_.table().tasks;
  const auto at = std::ranges::find(tasks, id, &TaskEntry::id);
  if (at == tasks.end()) return std::nullopt;
  return static_cast<uint32_t>(at - tasks.begin());
}

/// True for the server whose part this one copies.
bool PsServer::is_previous(uint32_t number) const {
  return ring_.copies > 1 && servers_[ring_.previous(index_)] == number;
}

Result<> PsServer::admit(PeerHandshake& handshake) const {
  const std::optional<uint32_t> number = number_of(handshake.peer());
  if (!number || handshake.peer() == client_.self().id) {
    handshake.refuse_peer(format("{} expects no connection from {}", client_.self().id.text(),
                                 printable(handshake.peer().text())));
    return fail(Errc::refused, "unexpected peer");
  }
  Result<> current =
      own().copy().state().sessions().check_attempt(*number, handshake.peer_attempt());
  if (!current) {
    handshake.refuse_peer(current.error().message);
    return current;
  }
  const bool same_host = task(*number).agent == client_.self().agent;
  if (handshake.local() && !same_host) return fail(Errc::refused, "a task of another host");
  if (handshake.local()) return accept_on_host(handshake, doorbell_);
  tune_link(handshake.fd(), same_host, options_.dead_after);
  return handshake.accept_peer({}, 0);
}

void PsServer::accept() {
  auto connected = listener_->advance(
      Clock::now(), [this](PeerHandshake& handshake) { return admit(handshake); });
  if (!connected) return report(connected.error().message);
  for (const auto& handshake : *connected) {
    const uint32_t attempt = handshake->peer_attempt();
    add_connection(handshake->take(), number_of(handshake->peer()).value(), attempt);
  }
}

void PsServer::add_connection(AuthenticatedConnection connection, uint32_t number,
                              uint32_t attempt) {
  if (!connections_.make_room(number, attempt)) return;
  const bool follows = is_previous(number);
  MessageConnection::Options options{.generation = options_.claim.generation,
                                     .message_bytes_max = options_.message_bytes_max,
                                     .incoming_max = options_.limits.requests_per_worker};
  // A checkpoint of all variables is one message.
  constexpr size_t overhead = 1 << 20;
  if (follows)
    options.message_bytes_max =
        std::max(options.message_bytes_max, options_.limits.bytes) + overhead;
  auto made = accepted_connection(std::move(connection), options);
  if (!made) return report(std::move(made.error()).during(task(number).id.text()).message);
  connections_.add(
      {.task = number, .connection = *std::move(made), .follows = follows, .attempt = attempt});
}

Result<> PsServer::advance_replica() {
  if (replica_ == nullptr) return {};
  const Result<> advanced = replica_->advance(Clock::now());
  if (advanced) return {};
  return fail(Errc::peer_lost,
              format("the connection to {}, which has copies of this server's "
                     "variables, is broken: {}",
                     describe_task(task(servers_[ring_.next(index_)])), advanced.error().message));
}

void PsServer::advance_connections() {
  for (TaskConnection& client : connections_)
    if (client.connection != nullptr && std::exchange(client.ready, false)) advance(client);
}

void PsServer::advance(TaskConnection& client) {
  const Result<> advanced = client.connection->advance();
  Result<> received;
  // An early client gets no further requests carried out.
  while (received && client.connection != nullptr && !client.early) {
    auto message = client.connection->take();
    if (!message) break;
    received = receive(client, *std::move(message));
  }
  if (received && client.follows && client.connection != nullptr) received = acknowledge(client);
  if (!received) return close(client, received.error());
  if (!advanced) close(client, advanced.error());
}

Result<> PsServer::receive(TaskConnection& client, MessageConnection::Received message) {
  poll_.note_request();
  if (client.follows) {
    return parts_.at(ring_.previous(index_)).copy().follow(message.body);
  }
  if (!client.part) return attach(client, std::move(message));
  ServedPart& part = parts_.at(*client.part);
  if (message.too_long) {
    part.copy().refuse(client.task, message.id,
                       format("a request is longer than {} bytes", options_.message_bytes_max));
    return {};
  }
  part.copy().take(
      PsIncoming{client.task, message.id, message.body, *message.body, client.attempt});
  if (const Result<> kept = part.keep_checkpoint(); !kept) report(kept.error().message);
  return {};
}

/// Takes the first request of a connection.
Result<> PsServer::attach(TaskConnection& client, MessageConnection::Received message) {
  const PsRequest decoded = TRY(decode_ps_request(*message.body));
  const auto* const request = std::get_if<AttachRequest>(&decoded);
  if (request == nullptr) return fail(Errc::protocol, "its first request does not choose a part");
  const auto at = parts_.find(request->part);
  const auto refuse = [&](Errc code, std::string why) {
    const PsReply reply{.error = Error{code, std::move(why)}};
    return client.connection->send(message.id, encode(reply));
  };
  if (request->copies != ring_.copies) {
    return refuse(Errc::mismatch,
                  format("{} expects {} copies of each variable, but the servers keep {}; "
                         "--ps-replicas gives all tasks the same number",
                         describe_task(task(client.task)), request->copies, ring_.copies));
  }
  if (at == parts_.end())
    return refuse(Errc::input, format("this server has no copy of part {}", request->part));
  if (!at->second.is_head()) {
    client.early = std::move(message);
    return {};
  }
  PartCopy& copy = at->second.copy();
  if (const Result<> current = copy.state().sessions().check_attempt(client.task, client.attempt);
      !current)
    return refuse(Errc::refused, current.error().message);
  connections_.attach(client, request->part);
  copy.take(PsIncoming{client.task, message.id, message.body, *message.body, client.attempt});
  return {};
}

/// Reports to the server before this one which of its inputs have had their effect here.
Result<> PsServer::acknowledge(TaskConnection& client) {
  const uint64_t number = parts_.at(ring_.previous(index_)).copy().number();
  // Each one counts for those before it, so there is never more than one under way.
  if (number == client.acknowledged || client.connection->outgoing() > 0) return {};
  client.acknowledged = number;
  client.ready = true;
  TRY(client.connection->send(++client.last_message, encode_acknowledgement(number)));
  return client.connection->advance();
}

void PsServer::close(TaskConnection& client, const Error& why) {
  // The end of a task is the launcher's to report.
  if (why.code != Errc::closed)
    report(format("{} is disconnected: {}", task(client.task).id.text(), why.message));
  connections_.close(client);
}

Result<> PsServer::read_rendezvous() {
  if (const Result<> pumped = client_.pump(); !pumped)
    return fail(Errc::closed, format("the launcher is lost: {}", pumped.error().message));
  while (const auto notice = client_.next_notice()) {
    note(*notice);
    if (notice->kind == Notice::Kind::restarted) continue;
    for (uint32_t server = 0; server < ring_.count && ring_.copies > 1; ++server)
      if (task(servers_[server]).id == notice->task) TRY(server_ended(server, *notice));
  }
  return {};
}

void PsServer::note(const Notice& notice) {
  std::erase_if(notices_, [&](const Notice& before) { return before.task == notice.task; });
  notices_.push_back(notice);
  for (auto& [number, part] : parts_)
    if (part.is_head()) part.copy().take(notice);
  if (notice.kind != Notice::Kind::restarted) return;
  // The messages that wait in connections of the attempt before count no more.
  for (TaskConnection& client : connections_)
    if (task(client.task).id == notice.task && client.attempt < notice.attempt)
      connections_.close(client);
}

Result<> PsServer::server_ended(uint32_t server, const Notice& notice) {
  // A server that comes back has no copies: the first end counts.
  if (!ring_.dead.insert(server).second) return {};
  const bool neighbour = server == ring_.next(index_) || server == ring_.previous(index_);
  if (!neighbour) return {};
  const bool died = notice.kind == Notice::Kind::dead;
  if (!connected_) {
    return fail(Errc::peer_lost,
                format("{} {} before it kept copies of this server's variables",
                       describe_task(task(servers_[server])),
                       died ? "died: " + printable(notice.cause) : "has left the job"));
  }
  if (server == ring_.next(index_)) {
    replica_.reset();
    own().copy().replica_lost();
  }
  if (server == ring_.previous(index_)) take_over(server, died);
  return {};
}

/// Serves the part of a server that died; drops that of a server which has left.
void PsServer::take_over(uint32_t server, bool died) {
  for (TaskConnection& client : connections_)
    if (client.follows) client.connection.reset();
  if (!died) {
    parts_.erase(server);
    return;
  }
  PartCopy& copy = parts_.at(server).copy();
  copy.take_over();
  for (const Notice& notice : notices_)
    copy.take(notice);
  report(format("{} has taken over the variables of {}", client_.self().id.text(),
                describe_task(task(servers_[server]))));
  for (TaskConnection& client : connections_) {
    if (!client.early || client.connection == nullptr) continue;
    const Result<> attached = attach(client, *std::exchange(client.early, std::nullopt));
    if (!attached) close(client, attached.error());
    client.ready = true;
  }
}

}  // namespace dt
