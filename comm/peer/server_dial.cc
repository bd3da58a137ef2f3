#include "comm/peer/server_dial.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/peer/pair_connection.h"
#include "comm/transport/local_socket.h"
#include "comm/transport/pair_memory.h"
#include "comm/transport/peer_handshake.h"
#include "comm/transport/tcp_link.h"
#include "rendezvous/secure/dial.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// One address of several may drop packets.
constexpr Duration dial_attempt_max = seconds(2);

// Each side passes its doorbell. The dialer passes the memory as well, which it has made.
constexpr size_t passed_by_dialer = 2;
constexpr size_t passed_by_acceptor = 1;

MessageConnection::Options options_of(const PsDialer& dialer) {
  return {.generation = dialer.claim.generation, .message_bytes_max = dialer.message_bytes_max};
}

/// Connects through shared memory. Only a server that refuses this task fails with Errc::refused.
Result<std::unique_ptr<MessageConnection>> dial_on_host(const PsDialer& dialer,
                                                        const TaskId& server,
                                                        const std::string& name, Time deadline) {
  Fd socket = TRY(connect_local(name));
  if (const Result<> same = require_same_user(socket.get()); !same)
    return fail(Errc::unreachable, same.error().message);
  auto memory = TRY(PairMemory::create());
  const auto handshake = TRY(PeerHandshake::dial(std::move(socket), server,
                                                 {.claim = dialer.claim,
                                                  .deadline = deadline,
                                                  .local = true,
                                                  .passed_fds = {dialer.doorbell, memory->fd()},
                                                  .passed_fds_expected = passed_by_acceptor}));
  Deadline until(deadline);
  TRY(handshake->advance());
  while (!handshake->done()) {
    if (!TRY(await_readiness(handshake->fd(), handshake->events(), until)))
      return fail(Errc::timeout, "no answer");
    TRY(handshake->advance());
  }
  memory->close_fd();
  AuthenticatedConnection connection = handshake->take();
  return std::make_unique<MessageConnection>(std::make_unique<PairConnection>(PairConnection::Ends{
                                                 .socket = std::move(connection.socket),
                                                 .doorbell = std::move(connection.passed_fds.at(0)),
                                                 .memory = std::move(memory)}),
                                             options_of(dialer));
}

}  // namespace

std::string describe_task(const TaskEntry& task) {
  return format("{} on {}", task.id.text(), printable(task.host));
}

namespace {

tl::unexpected<Error> refused_by(const TaskEntry& server, Error why) {
  return tl::unexpected(std::move(why).during("cannot connect to " + describe_task(server)));
}

tl::unexpected<Error> not_connected(const TaskEntry& server, const std::string& why) {
  return fail(Errc::timeout, format("cannot connect to {}: {}", describe_task(server), why));
}

}  // namespace

Result<std::unique_ptr<MessageConnection>> dial_server(const PsDialer& dialer,
                                                       const TaskEntry& server,
                                                       const PeerEndpoint& endpoint,
                                                       Time deadline) {
  std::string why = "it has no address";
  if (dialer.doorbell >= 0 && server.agent == dialer.agent && !endpoint.local.empty()) {
    const Time last = std::min(deadline, Clock::now() + dial_attempt_max);
    auto dialed = dial_on_host(dialer, server.id, endpoint.local, last);
    if (dialed) return dialed;
    if (dialed.error().code == Errc::refused) return refused_by(server, dialed.error());
    // It is busy, or nobody serves there any more. The caller knows when to try again.
    if (dialed.error().code == Errc::timeout) return not_connected(server, dialed.error().message);
    why = dialed.error().message;
  }
  for (const Address& address : endpoint.tcp) {
    const Time last = std::min(deadline, Clock::now() + dial_attempt_max);
    auto dialed = dial(address, dialer.claim, server.id, dialer.dead_after, last);
    if (!dialed && dialed.error().code == Errc::refused) return refused_by(server, dialed.error());
    if (!dialed) {
      why = dialed.error().message;
      continue;
    }
    tune_link(dialed->connection.get(), server.agent == dialer.agent, dialer.dead_after);
    return std::make_unique<MessageConnection>(std::move(dialed->connection),
                                               std::move(dialed->session), options_of(dialer));
  }
  return not_connected(server, why);
}

Result<> accept_on_host(PeerHandshake& handshake, const Fd& doorbell) {
  return handshake.accept_peer({doorbell.get()}, passed_by_dialer);
}

Result<std::unique_ptr<MessageConnection>> accepted_connection(AuthenticatedConnection connection,
                                                               MessageConnection::Options options) {
  std::vector<Fd>& passed = connection.passed_fds;
  if (passed.empty()) {
    return std::make_unique<MessageConnection>(std::move(connection.socket),
                                               connection.handshake.session(), options);
  }
  auto memory = TRY(PairMemory::open(passed.at(1)));
  return std::make_unique<MessageConnection>(
      std::make_unique<PairConnection>(PairConnection::Ends{.socket = std::move(connection.socket),
                                                            .doorbell = std::move(passed.at(0)),
                                                            .memory = std::move(memory),
                                                            .side = PairMemory::Side::acceptor}),
      options);
}

}  // namespace dt
