#include "comm/training/ps/server_links.h"

#include "base/crypto.h"
#include "base/finally.h"
#include "base/format.h"
#include "base/text.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/transport/doorbell.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// How long the connection to a server that takes over may take.
constexpr Duration take_over_max = seconds(60);

/// How long a broken connection waits for the notice that explains it.
constexpr Duration notice_max = milliseconds(700);

}  // namespace

ServerLinks::ServerLinks(std::unique_ptr<RendezvousView> rendezvous, Options options,
                         PsKnowledge& knowledge)
    : rendezvous_(std::move(rendezvous)),
      options_(std::move(options)),
      knowledge_(knowledge),
      poll_(tasks(), self().agent) {
  for (const TaskEntry& task : tasks().tasks)
    if (task.id.role == options_.role) servers_.push_back({.task = task});
  std::ranges::sort(servers_, {}, [](const Server& server) { return server.task.id.index; });
  for (const Server& server : servers_)
    tasks_.push_back(server.task);
  ring_ = {.count = count(), .copies = options_.copies};
}

Result<> ServerLinks::connect(Time deadline) {
  if (servers_.empty()) {
    return fail(Errc::input, format("the job has no task of role {}; start parameter servers by "
                                    "--role {}=1",
                                    options_.role, options_.role));
  }
  TRY(random_bytes(std::as_writable_bytes(std::span(&session_, 1))));
  if (shares_memory()) doorbell_ = TRY(make_doorbell());
  for (Server& server : servers_)
    TRY(connect_to(server, deadline));
  // The mode and the step may not be the first ones.
  return await_replies(deadline);
}

bool ServerLinks::shares_memory() const {
  if (!options_.shares_memory.value_or(poll_.stays_awake())) return false;
  return std::ranges::find(tasks_, self().agent, &TaskEntry::agent) != tasks_.end();
}

/// Waits until the server has published its endpoint.
Result<PeerEndpoint> ServerLinks::await_endpoint(const Server& server, Time deadline) {
  const auto ask = [this](const Request& request, Time reply_deadline) {
    return rendezvous_->ask(request, reply_deadline);
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

uint32_t ServerLinks::part_of(const Server& server) const {
  return static_cast<uint32_t>(&server - servers_.data());
}

/// Connects to the server that has the part, and sends the first request.
Result<> ServerLinks::connect_to(Server& server, Time deadline) {
  const PsDialer dialer{.claim = options_.claim,
                        .agent = self().agent,
                        .doorbell = doorbell_.get(),
                        .dead_after = options_.dead_after,
                        .message_bytes_max = ps_message_bytes_max};
  Deadline until(deadline);
  while (true) {
    const PeerEndpoint endpoint = TRY(await_endpoint(server, deadline));
    auto dialed = dial_server(dialer, server.task, endpoint, deadline);
    if (dialed) {
      server.connection = *std::move(dialed);
      break;
    }
    if (dialed.error().code == Errc::refused || until.passed())
      return tl::unexpected(std::move(dialed).error());
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
void ServerLinks::expect_reply(Server& server) {
  server.reply.reset();
  if (values_ != nullptr) values_->restart(part_of(server));
}

/// Sends the request that is under way, if the connection has had the reply to its first one.
Result<> ServerLinks::send(Server& server) {
  if (!server.request || server.attach || server.connection == nullptr) return {};
  const Result<> sent = server.connection->send(*server.request, server.body);
  return sent ? sent : lost(server, sent.error());
}

Result<> ServerLinks::take_message(Server& server, MessageConnection::Received message) {
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
void ServerLinks::end_request(Server& server) {
  if (!server.reply || server.connection == nullptr || server.connection->outgoing() > 0) return;
  server.request.reset();
  server.body.reset();
}

/// True when the server has no request under way.
Result<bool> ServerLinks::advance(Server& server) {
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

void ServerLinks::wait(Time deadline) {
  std::vector<pollfd> fds = {{.fd = rendezvous_->fd(), .events = POLLIN, .revents = 0},
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
Result<> ServerLinks::reconnect(Server& server, Time deadline) {
  Result<> connected = connect_to(server, std::min(deadline, Clock::now() + take_over_max));
  if (!connected && !broken_) broken_ = connected.error();
  return connected;
}

Result<> ServerLinks::await_replies(Time deadline) {
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
std::optional<std::span<std::byte>> ServerLinks::place(
    uint32_t server, const MessageConnection::Arriving& arriving) {
  const Server& from = servers_[server];
  if (values_ == nullptr || from.request != arriving.id || from.reply) return std::nullopt;
  const std::optional<PsReplyPlace> at = place_behind(arriving.before);
  if (!at) return std::nullopt;
  return values_->place(server, *at, arriving.length);
}

/// Sends the requests, and waits for the reply to each.
Result<> ServerLinks::send_all(const Requests& requests) {
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
void ServerLinks::drop_requests() {
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
Result<ServerLinks::Replies> ServerLinks::exchange(const Requests& requests, TensorSplit* values) {
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

Result<> ServerLinks::read_rendezvous() {
  if (broken_) return tl::unexpected(*broken_);
  if (const Result<> refreshed = rendezvous_->refresh(); !refreshed) {
    broken_ = Error{Errc::peer_lost, format("the launcher is lost: {}", refreshed.error().message)};
  }
  while (const auto notice = rendezvous_->next_notice()) {
    const auto at = std::ranges::find(tasks_, notice->task, &TaskEntry::id);
    if (at == tasks_.end() || broken_ || notice->kind == Notice::Kind::restarted) continue;
    const auto number = static_cast<uint32_t>(at - tasks_.begin());
    // A single copy: this waits until the server serves again.
    const bool awaited = notice->returns && ring_.copies < 2;
    if (awaited && servers_[number].connection == nullptr) continue;
    server_ended(number, *notice);
  }
  if (broken_) return tl::unexpected(*broken_);
  return {};
}

/// Chooses the other copies of the parts that a server had.
void ServerLinks::server_ended(uint32_t number, const Notice& notice) {
  const bool left = notice.kind == Notice::Kind::left;
  const PsServers before = ring_;
  if (!ring_.dead.insert(number).second) return;
  for (uint32_t part = 0; part < count(); ++part) {
    const std::optional<uint32_t> head = ring_.head(part);
    if (head == before.head(part)) continue;
    if (head && !left) {
      servers_[part].task = tasks_[*head];
      servers_[part].connection.reset();
      servers_[part].attach.reset();
      continue;
    }
    const uint32_t other = number == part ? ring_.next(part) : part;
    broken_ = Error{Errc::peer_lost,
                    format("the parameter server {} {}{}", describe_task(tasks_[number]),
                           left ? "has left the job" : "died: " + printable(notice.cause),
                           ring_.copies > 1 && !left
                               ? format("; {}, which had the other copy of its variables, "
                                        "had died before",
                                        describe_task(tasks_[other]))
                               : "")};
    return;
  }
}

/// Waits for news of the rendezvous, until the part has another server. Fails with those that end
/// all calls.
Result<> ServerLinks::await_notice(const Server& server, Time deadline) {
  Deadline until(deadline);
  while (!until.passed() && server.connection != nullptr) {
    TRY(read_rendezvous());
    if (server.connection == nullptr) break;
    TRY(await_news(*rendezvous_, deadline));
  }
  return {};
}

/// Returns the error of a broken connection: the launcher's notice, which comes soon, explains it.
/// Succeeds when another server has the part now.
Result<> ServerLinks::lost(Server& server, const Error& why) {
  if (why.code != Errc::protocol) {
    // Another server takes over as soon as the launcher reports the end of this one.
    const Duration limit =
        ring_.copies > 1 ? 2 * options_.dead_after : std::min(options_.dead_after, notice_max);
    Result<> noticed = await_notice(server, Clock::now() + limit);
    if (broken_) return noticed;
    if (server.connection == nullptr) return {};
  }
  broken_ = Error{Errc::peer_lost, format("the connection to the parameter server {} is broken: {}",
                                          describe_task(server.task), why.message)};
  return tl::unexpected(*broken_);
}

}  // namespace dt
