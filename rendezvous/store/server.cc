#include "rendezvous/store/server.h"

#include "base/format.h"
#include "base/io/stream.h"
#include "rendezvous/horovod/horovod_server.h"
#include "rendezvous/secure/acceptor.h"
#include "rendezvous/secure/channel.h"

#include <sys/socket.h>

#include <cassert>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// Departures are collected this long. At the end of a job all n tasks leave. One message for each
/// of them to all others would be n² messages. No task needs this notice fast.
constexpr Duration departures_delay = milliseconds(20);

/// True for two notices to the same clients, which fit into one message.
bool can_share_message(const Delivery& a, const Delivery& b) {
  return std::holds_alternative<Notice>(a.message) && std::holds_alternative<Notice>(b.message) &&
         a.clients == b.clients;
}

Bytes encode(const SharedReply& reply) {
  return *reply.encoded;
}

class Server final : public RendezvousServer {
 public:
  Server(Loop& loop, Options options, Log& log)
      : loop_(loop), options_(std::move(options)), log_(log) {
    begin_generation();
  }
  Result<> start();

  const Address& address() const override { return acceptor_->address(); }
  void adopt(Fd connection, std::string from) override {
    acceptor_->add(std::move(connection), std::move(from));
  }
  void notify(const Notice& notice) override;
  void pause() override;
  void resume() override;
  void set_table(TaskTable table) override;
  void set_horovod_sources(AddressSet sources) override;
  void on_wait_report(WaitReportHandler handler) override { on_wait_report_ = std::move(handler); }
  void query_waits() override;
  int64_t pid_of(const TaskId& task) const override { return store_->membership().pid_of(task); }
  const Bytes* find(const std::string& key) const override { return store_->find(key); }
  Counters counters() const override;

 private:
  struct Client {
    Channel channel;
    std::unique_ptr<Stream> stream;
    Bytes out;  // not yet written to the stream
  };

  void begin_generation();
  Acceptor::UnauthenticatedHandler horovod_handler();
  Claim claim() const;
  void send_departures();
  size_t pending_max() const { return options_.pending_max + options_.table.tasks.size(); }
  void proved(Fd connection, Handshake handshake);
  void refuse(Fd connection, Handshake handshake, const Error& why);
  Result<std::unique_ptr<Stream>> open_stream(ClientId id, Fd connection);
  size_t receive(ClientId id, ByteSpan bytes);
  Result<bool> take_next(ClientId id, ByteSpan bytes, size_t* used);
  void ended(ClientId id, const std::string& why);
  void drop(ClientId id);
  void deliver();
  void send(ClientId id, ChannelMessageType type, uint32_t request, ByteSpan payload);
  void flush();
  std::string name_of(ClientId id) const;

  Loop& loop_;
  Options options_;
  Log& log_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<HorovodServer> horovod_;  // null without Options::horovod_sources
  std::unique_ptr<Acceptor> acceptor_;
  std::map<ClientId, Client> clients_;
  std::vector<ClientId> unflushed_;
  ClientId next_client_ = 1;
  WaitReportHandler on_wait_report_;
  std::vector<Notice> departures_;  ///< not sent yet
  Timer departing_;
  Timer expiry_;
  Time expiry_at_ = Time::max();
  std::optional<Time> paused_at_;
  uint64_t refused_ = 0;
  uint64_t requests_ = 0;
};

void Server::begin_generation() {
  store_ = std::make_unique<Store>(options_.table, options_.limits);
  if (!options_.horovod_sources) return;
  horovod_ = std::make_unique<HorovodServer>(
      loop_,
      HorovodServer::Options{.sources = *options_.horovod_sources,
                             .timeout = options_.handshake_timeout,
                             .connections_max = pending_max(),
                             .limits = HorovodLimits::for_ranks(options_.table.tasks.size())},
      log_);
}

Acceptor::UnauthenticatedHandler Server::horovod_handler() {
  if (!horovod_) return {};
  const auto take = [this](Fd connection, ByteSpan begun, const std::string& from) {
    const auto origin =
        from.empty() ? HorovodServer::Origin::dialed : HorovodServer::Origin::adopted;
    return horovod_->take(std::move(connection), begun, origin);
  };
  return {.begin_with = HorovodServer::begins_with, .take = take};
}

Claim Server::claim() const {
  return {.token = options_.token,
          .job = options_.table.job,
          .generation = options_.table.generation,
          .self = {std::string(launcher_role), 0}};
}

Result<> Server::start() {
  Acceptor::Options accept;
  accept.address = {options_.ip, options_.port};
  accept.claim = claim();
  accept.handshake_timeout = options_.handshake_timeout;
  accept.dead_after = options_.dead_after;
  accept.pending_max = pending_max();
  accept.unauthenticated = horovod_handler();
  acceptor_ = TRY(
      Acceptor::listen(loop_, std::move(accept), log_, [this](Fd connection, Handshake handshake) {
        proved(std::move(connection), std::move(handshake));
      }));
  return {};
}

void Server::notify(const Notice& notice) {
  if (notice.kind != Notice::Kind::left) {
    store_->note(notice);
    flush();
    return;
  }
  departures_.push_back(notice);
  if (!departing_) departing_ = loop_.after(departures_delay, [this] { send_departures(); });
}

void Server::send_departures() {
  departing_ = Timer();
  for (const Notice& notice : std::exchange(departures_, {}))
    store_->note(notice);
  flush();
}

void Server::pause() {
  if (paused_at_) return;
  paused_at_ = loop_.now();
  acceptor_->suspend_deadlines();
  if (horovod_) horovod_->suspend_deadlines();
  flush();
}

void Server::resume() {
  if (!paused_at_) return;
  store_->postpone(loop_.now() - *paused_at_);
  paused_at_.reset();
  acceptor_->restart_deadlines();
  if (horovod_) horovod_->restart_deadlines();
  flush();
}

void Server::set_table(TaskTable table) {
  clients_.clear();
  unflushed_.clear();
  departures_.clear();
  options_.table = std::move(table);
  begin_generation();
  acceptor_->set_claim(claim(), pending_max());
  flush();
}

void Server::set_horovod_sources(AddressSet sources) {
  assert(horovod_);
  horovod_->set_sources(sources);
  options_.horovod_sources = std::move(sources);
}

void Server::query_waits() {
  std::vector<ClientId> all;
  for (const auto& [id, client] : clients_)
    all.push_back(id);
  for (const ClientId id : all)
    send(id, ChannelMessageType::wait_query, 0, {});
  flush();
}

Server::Counters Server::counters() const {
  return {.accepted = acceptor_->accepted(),
          .rejected = acceptor_->rejected(),
          .refused = refused_,
          .requests = requests_,
          .horovod_requests = horovod_ ? horovod_->requests() : 0,
          .joined = clients_.size(),
          .pending = acceptor_->pending()};
}

void Server::proved(Fd connection, Handshake handshake) {
  const ClientId id = next_client_++;
  const Result<> joined =
      store_->join(id, handshake.peer(), handshake.peer_pid(), handshake.peer_attempt());
  if (!joined) return refuse(std::move(connection), std::move(handshake), joined.error());
  Result<std::unique_ptr<Stream>> stream = open_stream(id, std::move(connection));
  if (!stream) {
    log_.warn("rendezvous: {}", stream.error().message);
    store_->disconnect(id);
    return flush();
  }
  handshake.accept_peer();
  clients_.emplace(
      id, Client{Channel(handshake.session(), options_.table.generation, request_bytes_max),
                 *std::move(stream), handshake.take_output()});
  log_.info("{} joined (pid {})", name_of(id), handshake.peer_pid());
  send(id, ChannelMessageType::welcome, 0,
       store_->welcome(id, options_.dead_after, options_.engine));
  flush();
}

void Server::refuse(Fd connection, Handshake handshake, const Error& why) {
  ++refused_;
  log_.warn("rendezvous: {}", why.message);
  handshake.refuse_peer(why.message);
  const Bytes verdict = handshake.take_output();
  // The result is ignored: a peer that is gone does not need the verdict.
  ::send(connection.get(), verdict.data(), verdict.size(), MSG_NOSIGNAL);
}

Result<std::unique_ptr<Stream>> Server::open_stream(ClientId id, Fd connection) {
  Stream::Handlers handlers;
  handlers.on_bytes = [this, id](ByteSpan bytes) { return receive(id, bytes); };
  handlers.on_end = [this, id](const std::optional<Error>& why) {
    ended(id, why ? why->message : "disconnected");
  };
  return Stream::open(loop_, std::move(connection), Fd(), std::move(handlers));
}

size_t Server::receive(ClientId id, ByteSpan bytes) {
  size_t used = 0;
  // The client disappears within the loop when a message makes the server drop it.
  while (clients_.contains(id)) {
    size_t taken = 0;
    const Result<bool> more = take_next(id, bytes.subspan(used), &taken);
    used += taken;
    if (more && !*more) break;
    if (more) continue;
    log_.error("protocol error from {}: {}", name_of(id), more.error().message);
    drop(id);
  }
  flush();
  return used;
}

/// Handles the request at the front; false when it is incomplete.
Result<bool> Server::take_next(ClientId id, ByteSpan bytes, size_t* used) {
  const std::optional<MessageView> message = TRY(clients_.at(id).channel.receive(bytes, used));
  if (!message) return false;
  if (message->type != ChannelMessageType::request) {
    return fail(Errc::protocol,
                format("frame type {} from a client", static_cast<unsigned>(message->type)));
  }
  Request request = TRY(decode_request(message->payload));
  ++requests_;
  const auto* report = std::get_if<WaitReport>(&request);
  if (report != nullptr && on_wait_report_ && store_->membership().check_current(id))
    on_wait_report_(store_->membership().task_of(id), *report);
  store_->handle(id, message->id, std::move(request), loop_.now());
  deliver();
  return true;
}

void Server::ended(ClientId id, const std::string& why) {
  log_.info("{}: {}", name_of(id), why);
  drop(id);
  flush();
}

void Server::drop(ClientId id) {
  clients_.erase(id);
  store_->disconnect(id);
}

void Server::deliver() {
  // Sending may drop a client, which causes new deliveries to others.
  for (auto due = store_->take_deliveries(); !due.empty(); due = store_->take_deliveries()) {
    for (size_t next = 0; next < due.size();) {
      const Delivery& delivery = due[next++];
      constexpr ChannelMessageType types[] = {ChannelMessageType::reply, ChannelMessageType::notice,
                                              ChannelMessageType::reply};
      Bytes payload =
          std::visit([](const auto& message) { return encode(message); }, delivery.message);
      for (; next < due.size() && can_share_message(delivery, due[next]); ++next) {
        const Bytes more = encode(std::get<Notice>(due[next].message));
        payload.insert(payload.end(), more.begin(), more.end());
      }
      for (const ClientId client : delivery.clients)
        send(client, types[delivery.message.index()], delivery.request, payload);
    }
  }
}

void Server::send(ClientId id, ChannelMessageType type, uint32_t request, ByteSpan payload) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) return;
  Client& client = at->second;
  client.channel.send(client.out, type, request, payload);
  unflushed_.push_back(id);
  const size_t unsent = client.stream->unsent() + client.out.size();
  if (unsent <= options_.unsent_bytes_max) return;
  log_.error("{} is dropped: it leaves {} bytes unread", name_of(id), unsent);
  drop(id);
}

/// Called at the end of each callback of the loop. Sends all deliveries, and sets the timer for the
/// next deadline.
void Server::flush() {
  deliver();
  for (const ClientId id : std::exchange(unflushed_, {})) {
    const auto at = clients_.find(id);
    if (at == clients_.end() || at->second.out.empty()) continue;
    at->second.stream->write(at->second.out);
    at->second.out = {};
  }
  const Time next = paused_at_ ? Time::max() : store_->next_deadline();
  if (next == expiry_at_) return;
  expiry_at_ = next;
  expiry_ = Timer();
  if (next == Time::max()) return;
  expiry_ = loop_.at(next, [this] {
    expiry_at_ = Time::max();
    store_->expire(loop_.now());
    flush();
  });
}

std::string Server::name_of(ClientId id) const {
  return store_->membership().task_text(store_->membership().task_of(id));
}

}  // namespace

Result<std::unique_ptr<RendezvousServer>> RendezvousServer::listen(Loop& loop, Options options,
                                                                   Log& log) {
  auto server = std::make_unique<Server>(loop, std::move(options), log);
  TRY(server->start());
  return server;
}

}  // namespace dt
