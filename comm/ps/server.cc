#include "comm/ps/server.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/text.h"
#include "comm/memory/available_memory.h"
#include "comm/ps/checkpoint_file.h"
#include "comm/ps/rendezvous_wait.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// The listener, the rendezvous, files, and connections that are not complete yet.
constexpr size_t files_besides_clients = 32;
constexpr size_t checkpoints_kept = 3;

std::string checkpoints_prefix(const std::string& role) {
  return format("ps-checkpoints/{}/", role);
}

/// Returns the newest step that all servers have a file of. Each server publishes its own, so that
/// all choose the same.
Result<std::optional<uint64_t>> common_step(RendezvousClient& client, const Bytes& own,
                                            uint32_t servers, Time deadline) {
  const std::string prefix = checkpoints_prefix(client.self().id.role);
  const std::string key = format("{}{}", prefix, client.self().id.index);
  TRY(client.set(key, own, deadline, Lifetime::connection));
  const Reply reply = TRY(
      ask_rendezvous(client, CollectRequest{prefix, servers, deadline - Clock::now()}, deadline));
  const std::vector<StoreEntry> entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  if (entries.size() < servers) {
    return fail(Errc::timeout, format("only {} of {} parameter servers have started in time",
                                      entries.size(), servers));
  }
  std::map<uint64_t, uint32_t> counts;
  for (const StoreEntry& entry : entries) {
    Reader reader(entry.value);
    for (uint32_t left = reader.count(sizeof(uint64_t)); left > 0; --left)
      ++counts[reader.number<uint64_t>()];
    TRY(reader.finish("a list of checkpoints"));
  }
  for (auto step = counts.rbegin(); step != counts.rend(); ++step)
    if (step->second == servers) return std::optional(step->first);
  if (counts.empty()) return std::optional<uint64_t>();
  return fail(Errc::input,
              "the parameter servers have checkpoints, but of no common step; restore "
              "the missing files, or remove all of them to start anew");
}

}  // namespace

std::string ps_endpoint_key(const TaskId& task) {
  return format("ps/{}/{}/endpoint", task.role, task.index);
}

Result<std::unique_ptr<PsServer>> PsServer::start(RendezvousClient& client, Options options,
                                                  Time deadline) {
  const TaskEntry& self = client.self();
  if (self.rank >= 0) {
    return fail(Errc::input, format("{} has rank {}; a parameter server is a task without rank, "
                                    "such as those of --role ps=2",
                                    self.id.text(), self.rank));
  }
  std::unique_ptr<PsServer> server(new PsServer(client, std::move(options)));
  TRY(server->restore(deadline));
  TRY(server->listen(deadline));
  return server;
}

PsServer::PsServer(RendezvousClient& client, Options options)
    : client_(client), options_(std::move(options)) {
  const TaskEntry& self = client.self();
  std::vector<PsWorker> workers;
  for (const TaskEntry& task : client.table().tasks) {
    workers.push_back({.id = task.id, .host = task.host, .takes_part = task.rank >= 0});
    if (task.id.role != self.id.role) continue;
    ++servers_;
    // Indices may have holes, so the servers are numbered in their order.
    if (task.id.index < self.id.index) ++index_;
  }
  if (const auto available = available_memory())
    options_.limits.bytes = std::min(options_.limits.bytes, *available);
  state_ = std::make_unique<PsServerState>(PsServerState::Options{.workers = std::move(workers),
                                                                  .server = index_,
                                                                  .servers = servers_,
                                                                  .limits = options_.limits});
}

void PsServer::report(const std::string& text) const {
  if (options_.report) options_.report(text);
}

Result<> PsServer::restore(Time deadline) {
  if (options_.checkpoint.empty()) return {};
  const CheckpointPart part{index_, servers_};
  const std::vector<uint64_t> steps = checkpoint_steps(options_.checkpoint, part);
  Writer own;
  own.number(static_cast<uint32_t>(steps.size()));
  for (const uint64_t step : steps)
    own.number(step);
  const std::optional<uint64_t> step = TRY(common_step(client_, own.take(), servers_, deadline));
  if (!step) return {};
  const std::string file = checkpoint_name(options_.checkpoint, *step, part);
  const Bytes content = TRY(read_checkpoint(file));
  if (Result<> loaded = state_->load(content); !loaded)
    return tl::unexpected(
        std::move(loaded).error().during(format("cannot restore {}", printable(file))));
  saved_step_ = *step;
  report(format("restored step {} from {}", *step, printable(file)));
  return {};
}

Result<> PsServer::listen(Time deadline) {
  const TaskEntry& self = client_.self();
  const size_t tasks = client_.table().tasks.size();
  PeerListener::Options options{.claim = options_.claim, .tcp_ips = self.addresses};
  if (options.tcp_ips.empty()) options.tcp_ips = {client_.local().ip};
  options.held_port = options_.held_port;
  options.pending_max += tasks;
  options.unaccepted_max = tasks;
  const size_t sockets = options.tcp_ips.size() * PeerListener::sockets_for(tasks);
  TRY(ensure_open_files(tasks + sockets + files_besides_clients,
                        format("the connections of {} tasks", tasks)));
  listener_ = TRY(PeerListener::open(std::move(options)));
  return client_.set(ps_endpoint_key(self.id), listener_->endpoint().encode(), deadline,
                     Lifetime::connection);
}

Result<> PsServer::run() {
  while (TRY(round()))
    wait();
  if (options_.checkpoint.empty() || state_->step() == saved_step_) return {};
  return save_step();
}

/// Returns false at the end.
Result<bool> PsServer::round() {
  accept();
  for (auto& [worker, client] : clients_)
    if (std::exchange(client.ready, false)) advance(worker, client);
  // Only after the last requests of workers that have ended.
  if (std::exchange(rendezvous_ready_, false)) TRY(read_rendezvous());
  serve_files();
  deliver();
  std::erase_if(clients_, [](const auto& entry) { return entry.second.connection == nullptr; });
  return !stopped_ && !state_->all_gone();
}

void PsServer::wait() {
  polled_.clear();
  listener_->collect_fds(polled_);
  const size_t listening = polled_.size();
  polled_.push_back({.fd = client_.fd(), .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = options_.stop_fd, .events = POLLIN, .revents = 0});
  const size_t first_client = polled_.size();
  for (const auto& [worker, client] : clients_) {
    const bool unsent = client.connection->unsent();
    polled_.push_back({.fd = client.connection->fd(),
                       .events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN),
                       .revents = 0});
  }
  // A connection that has sent a reply may have received a request meanwhile.
  const bool ready =
      std::ranges::any_of(clients_, [](const auto& entry) { return entry.second.ready; });
  const Time until = ready ? Time::min() : listener_->next_deadline();
  // After a failure of poll, the next round tries every connection.
  if (poll(polled_.data(), polled_.size(), poll_ms(Clock::now(), until)) < 0) {
    for (pollfd& fd : polled_)
      fd.revents = fd.fd == options_.stop_fd ? short{0} : short{POLLERR};
  }
  listener_->take_events(std::span(polled_).first(listening));
  rendezvous_ready_ = polled_[listening].revents != 0;
  stopped_ = polled_[listening + 1].revents != 0;
  size_t at = first_client;
  for (auto& [worker, client] : clients_)
    client.ready = polled_[at++].revents != 0 || client.ready;
}

std::optional<uint32_t> PsServer::number_of(const TaskId& task) const {
  const auto& tasks = client_.table().tasks;
  const auto at = std::ranges::find(tasks, task, &TaskEntry::id);
  if (at == tasks.end()) return std::nullopt;
  return static_cast<uint32_t>(at - tasks.begin());
}

Result<> PsServer::admit(PeerHandshake& handshake) const {
  const std::optional<uint32_t> worker = number_of(handshake.peer());
  if (!worker || handshake.peer() == client_.self().id) {
    handshake.refuse_peer(format("{} expects no connection from {}", client_.self().id.text(),
                                 printable(handshake.peer().text())));
    return fail(Errc::refused, "unexpected peer");
  }
  const bool same_host = client_.table().tasks[*worker].agent == client_.self().agent;
  tune_link(handshake.fd(), same_host, options_.dead_after);
  return handshake.accept_peer({}, 0);
}

void PsServer::accept() {
  auto connected = listener_->advance(
      Clock::now(), [this](PeerHandshake& handshake) { return admit(handshake); });
  if (!connected) return report(connected.error().message);
  for (const auto& handshake : *connected) {
    const uint32_t worker = number_of(handshake->peer()).value();
    // The newest connection of a task counts.
    if (clients_.erase(worker) > 0) state_->disconnected(worker);
    AuthenticatedConnection complete = handshake->take();
    clients_[worker].connection = std::make_unique<MessageConnection>(
        std::move(complete.socket), complete.handshake.session(),
        MessageConnection::Options{.generation = options_.claim.generation,
                                   .message_bytes_max = options_.message_bytes_max,
                                   .incoming_max = options_.limits.requests_per_worker});
    state_->connected(worker);
  }
}

Result<> PsServer::read_rendezvous() {
  if (const Result<> pumped = client_.pump(); !pumped)
    return fail(Errc::closed, format("the launcher is lost: {}", pumped.error().message));
  while (const auto notice = client_.next_notice())
    state_->gone(*notice);
  return {};
}

void PsServer::advance(uint32_t worker, Client& client) {
  const Result<> advanced = client.connection->advance();
  while (auto message = client.connection->take()) {
    if (message->too_long) {
      state_->refuse(worker, message->id,
                     format("a request is longer than {} bytes", options_.message_bytes_max));
      continue;
    }
    state_->handle(worker, message->id, std::make_shared<const Bytes>(std::move(message->body)));
    keep_checkpoint();
  }
  if (advanced) return;
  // The end of a task is the launcher's to report.
  if (advanced.error().code == Errc::protocol) {
    report(format("{} is disconnected: {}", client_.table().tasks[worker].id.text(),
                  advanced.error().message));
  }
  state_->disconnected(worker);
  client.connection.reset();
}

void PsServer::serve_files() {
  for (const PsFileRequest& request : state_->take_file_requests()) {
    const Result<> served = serve_file(request);
    if (!served) state_->answer(request, served);
  }
}

Result<> PsServer::serve_file(const PsFileRequest& request) {
  const std::string file = checkpoint_name(request.path, {index_, servers_});
  if (request.save) {
    TRY(write_checkpoint(file, state_->save()));
    state_->answer(request, {});
    return {};
  }
  const Bytes content = TRY(read_checkpoint(file));
  const auto during = [&](Error error) {
    return tl::unexpected(std::move(error).during(format("checkpoint {}", printable(file))));
  };
  if (request.check_only) {
    const Result<uint64_t> step = state_->check(content);
    if (!step) return during(step.error());
    state_->answer(request, {}, *step);
    return {};
  }
  if (const Result<> loaded = state_->load(content); !loaded) return during(loaded.error());
  state_->answer(request, {});
  return {};
}

void PsServer::deliver() {
  for (PsDelivery& delivery : state_->take_deliveries()) {
    const auto at = clients_.find(delivery.worker);
    if (at == clients_.end() || at->second.connection == nullptr) continue;
    MessageConnection& connection = *at->second.connection;
    if (!connection.send(delivery.request, std::move(delivery.reply)) || !connection.advance()) {
      state_->disconnected(delivery.worker);
      at->second.connection.reset();
      continue;
    }
    at->second.ready = true;
  }
}

void PsServer::keep_checkpoint() {
  const uint64_t step = state_->step();
  if (options_.checkpoint_every == 0 || step == saved_step_) return;
  if (step % options_.checkpoint_every != 0) return;
  if (const Result<> saved = save_step(); !saved) report(saved.error().message);
}

Result<> PsServer::save_step() {
  const CheckpointPart part{index_, servers_};
  const uint64_t step = state_->step();
  TRY(write_checkpoint(checkpoint_name(options_.checkpoint, step, part), state_->save()));
  saved_step_ = step;
  remove_old_checkpoints(options_.checkpoint, part, checkpoints_kept);
  return {};
}

}  // namespace dt
