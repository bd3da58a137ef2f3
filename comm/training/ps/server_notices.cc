#include "base/format.h"
#include "base/text.h"
#include "comm/training/ps/server.h"

#include <algorithm>
#include <utility>

namespace dt {

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
  for (auto& [id, client] : clients_)
    if (task(client.task).id == notice.task && client.attempt < notice.attempt) drop(id, client);
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
    replica_broken_.reset();
    replica_deadline_ = Time::max();
    own().copy().replica_lost();
  }
  if (server == ring_.previous(index_)) take_over(server, died);
  return {};
}

/// Serves the part of a server that died; drops that of a server which has left.
void PsServer::take_over(uint32_t server, bool died) {
  for (auto& [id, client] : clients_)
    if (client.follows) client.connection.reset();
  if (!died) {
    parts_.erase(server);
    return;
  }
  PartCopy& copy = parts_.at(server).copy();
  copy.take_over();
  for (const Notice& notice : notices_)
    copy.take(notice);
  report(format("has taken over the variables of {}", describe_task(task(servers_[server]))));
  for (auto& [id, client] : clients_) {
    if (!client.early || client.connection == nullptr) continue;
    const Result<> attached = attach(id, client, *std::exchange(client.early, std::nullopt));
    if (!attached) close(id, client, attached.error());
    client.ready = true;
  }
}

}  // namespace dt
