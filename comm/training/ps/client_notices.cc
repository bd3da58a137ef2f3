#include "base/format.h"
#include "base/text.h"
#include "comm/training/ps/client.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// How long a broken connection waits for the notice that explains it.
constexpr Duration notice_max = milliseconds(700);

}  // namespace

Result<> PsClient::read_rendezvous() {
  if (broken_) return tl::unexpected(*broken_);
  if (const Result<> refreshed = directory_->refresh(); !refreshed) {
    broken_ = Error{Errc::peer_lost, format("the launcher is lost: {}", refreshed.error().message)};
  }
  while (const auto notice = directory_->next_notice()) {
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
void PsClient::server_ended(uint32_t number, const Notice& notice) {
  const bool left = notice.kind == Notice::Kind::left;
  const PsServers before = ring_;
  if (!ring_.dead.insert(number).second) return;
  for (uint32_t part = 0; part < servers(); ++part) {
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
Result<> PsClient::await_notice(const Server& server, Time deadline) {
  Deadline until(deadline);
  while (!until.passed() && server.connection != nullptr) {
    TRY(read_rendezvous());
    if (server.connection == nullptr) break;
    TRY(await_news(*directory_, deadline));
  }
  return {};
}

/// Returns the error of a broken connection: the launcher's notice, which comes soon, explains it.
/// Succeeds when another server has the part now.
Result<> PsClient::lost(Server& server, const Error& why) {
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
