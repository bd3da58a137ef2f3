#include "comm/ps/server_dial.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/transport/tcp_link.h"
#include "rendezvous/secure/dial.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {
/// One address of several may drop packets.
constexpr Duration dial_attempt_max = seconds(2);
}  // namespace

std::string ps_endpoint_key(const TaskId& task) {
  return format("ps/{}/{}/endpoint", task.role, task.index);
}

std::string ps_replica_key(const TaskId& task) {
  return format("ps/{}/{}/replica", task.role, task.index);
}

std::string describe_task(const TaskEntry& task) {
  return format("{} on {}", task.id.text(), printable(task.host));
}

Result<std::unique_ptr<MessageConnection>> dial_server(const PsDialler& dialler,
                                                       const TaskEntry& server,
                                                       const PeerEndpoint& endpoint,
                                                       Time deadline) {
  std::string why = "it has no address";
  for (const Address& address : endpoint.tcp) {
    const Time last = std::min(deadline, Clock::now() + dial_attempt_max);
    auto dialed = dial(address, dialler.claim, server.id, dialler.dead_after, last);
    if (!dialed && dialed.error().code == Errc::refused)
      return tl::unexpected(
          std::move(dialed).error().during("cannot connect to " + describe_task(server)));
    if (!dialed) {
      why = dialed.error().message;
      continue;
    }
    tune_link(dialed->connection.get(), server.agent == dialler.agent, dialler.dead_after);
    return std::make_unique<MessageConnection>(
        std::move(dialed->connection), std::move(dialed->session),
        MessageConnection::Options{.generation = dialler.claim.generation,
                                   .message_bytes_max = dialler.message_bytes_max});
  }
  return fail(Errc::timeout, format("cannot connect to {}: {}", describe_task(server), why));
}

}  // namespace dt
