#include "comm/peer/rendezvous_view.h"

#include "comm/transport/doorbell.h"
#include "rendezvous/secure/dial.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// A request may wait for room in the socket, which only another pump finds.
constexpr Duration read_again_after = milliseconds(50);
constexpr Duration notice_step = milliseconds(20);
/// How long a reply of the rendezvous takes at most.
constexpr Duration answer_max = seconds(10);

Result<> watch(const Fd& epoll, int fd) {
  epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

}  // namespace

Result<> await_news(RendezvousView& rendezvous, Time deadline) {
  if (rendezvous.fd() >= 0) {
    TRY(await_readiness(rendezvous.fd(), POLLIN, deadline));
    return {};
  }
  // The context reads notices while it waits for a reply.
  const CollectRequest nothing{"ps/", std::numeric_limits<uint32_t>::max(), notice_step};
  TRY(rendezvous.ask(nothing, Clock::now() + answer_max));
  return {};
}

/// Whichever thread reads from the connection keeps what is for others, and wakes them.
struct ClientRendezvousView::Connection {
  std::mutex mutex;
  std::unique_ptr<RendezvousClient> client;
  std::vector<Notice> notices = {};
  std::map<uint32_t, std::optional<Reply>> asked = {};  ///< requests for which threads wait
  std::vector<int> doorbells = {};                      ///< of the directories that share it
};

ClientRendezvousView::ClientRendezvousView(std::unique_ptr<RendezvousClient> client)
    : connection_(std::make_shared<Connection>()) {
  connection_->client = std::move(client);
}

ClientRendezvousView::ClientRendezvousView(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)) {
}

ClientRendezvousView::~ClientRendezvousView() {
  const std::scoped_lock alone(connection_->mutex);
  std::erase(connection_->doorbells, doorbell_.get());
}

const TaskTable& ClientRendezvousView::table() const {
  return connection_->client->table();
}

const TaskEntry& ClientRendezvousView::self() const {
  return connection_->client->self();
}

std::string ClientRendezvousView::local_ip() const {
  return connection_->client->local().ip;
}

int ClientRendezvousView::fd() const {
  return ready_ ? ready_.get() : connection_->client->fd();
}

Result<std::unique_ptr<RendezvousView>> ClientRendezvousView::another() {
  TRY(watch_others());
  std::unique_ptr<ClientRendezvousView> made(new ClientRendezvousView(connection_));
  TRY(made->watch_others());
  return made;
}

Result<> ClientRendezvousView::watch_others() {
  if (ready_) return {};
  doorbell_ = TRY(make_doorbell());
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  const std::scoped_lock alone(connection_->mutex);
  TRY(watch(epoll, doorbell_.get()));
  TRY(watch(epoll, connection_->client->fd()));
  connection_->doorbells.push_back(doorbell_.get());
  ready_ = std::move(epoll);
  return {};
}

/// Requires the lock.
Result<> ClientRendezvousView::pump() {
  Connection& connection = *connection_;
  if (doorbell_) silence(doorbell_.get());
  const Result<> pumped = connection.client->pump();
  bool news = !pumped;
  while (auto notice = connection.client->next_notice()) {
    connection.notices.push_back(*std::move(notice));
    news = true;
  }
  for (auto& [id, reply] : connection.asked) {
    if (!reply) reply = connection.client->take_reply(id);
    news = news || reply;
  }
  for (const int doorbell : connection.doorbells)
    if (news && doorbell != doorbell_.get()) ring(doorbell);
  return pumped;
}

Result<Reply> ClientRendezvousView::ask(const Request& request, Time deadline) {
  Connection& connection = *connection_;
  std::unique_lock lock(connection.mutex);
  const uint32_t id = TRY(connection.client->post(request, Clock::now()));
  connection.asked.emplace(id, std::nullopt);
  Deadline until(deadline);
  Result<> well;
  while (well) {
    well = pump();
    if (!well || connection.asked.at(id) || until.passed()) break;
    lock.unlock();
    const auto waited =
        await_readiness(fd(), POLLIN, std::min(deadline, Clock::now() + read_again_after));
    if (!waited) well = tl::unexpected(waited.error());
    lock.lock();
  }
  std::optional<Reply> reply = std::move(connection.asked.at(id));
  connection.asked.erase(id);
  if (reply && reply->error) return tl::unexpected(*std::move(reply->error));
  if (reply) return *std::move(reply);
  if (!well) return tl::unexpected(well.error());
  connection.client->forget(id);
  return fail(Errc::timeout, "the rendezvous does not answer");
}

Result<> ClientRendezvousView::refresh() {
  const std::scoped_lock alone(connection_->mutex);
  return pump();
}

std::optional<Notice> ClientRendezvousView::next_notice() {
  const std::scoped_lock alone(connection_->mutex);
  if (taken_ == connection_->notices.size()) return std::nullopt;
  return connection_->notices[taken_++];
}

}  // namespace dt
