#include "rendezvous/store/client.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/running_time_clock.h"
#include "base/text.h"
#include "rendezvous/secure/channel.h"
#include "rendezvous/secure/dial.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <utility>

namespace dt {

namespace {

// The limit of requests that a stuck server does not read.
constexpr size_t unsent_bytes_max = size_t{8} << 20;
constexpr size_t receive_bytes = size_t{64} << 10;

class Client final : public RendezvousClient {
 public:
  Client(Fd fd, Address local, Channel channel)
      : fd_(std::move(fd)), local_(std::move(local)), channel_(std::move(channel)) {}
  Result<> await_welcome(Deadline& deadline);

  const TaskTable& table() const override { return table_; }
  const TaskEntry& self() const override { return self_; }
  Duration dead_after() const override { return dead_after_; }
  const EngineSettings& engine_settings() const override { return engine_; }
  const Address& local() const override { return local_; }
  Result<> set(std::string_view key, ByteSpan value, Time deadline, Lifetime lifetime) override;
  Result<std::optional<Bytes>> get(std::string_view key, Time deadline) override;
  Result<uint32_t> post(const Request& request, Time now) override;
  std::optional<Reply> take_reply(uint32_t id) override;
  void forget(uint32_t id) override { asked_.erase(id); }
  int fd() const override { return fd_.get(); }
  Result<> pump() override;
  std::optional<Notice> next_notice() override;
  const std::deque<Notice>& unread_notices() const override { return notices_; }
  bool take_wait_query() override { return std::exchange(wait_query_, false); }

 private:
  Result<Reply> call(const Request& request, std::string_view what, Time deadline);
  Result<> await_reply(uint32_t id, std::string_view what, Time deadline);
  Result<> send_some();
  Result<bool> read_some();
  Result<> take_messages();
  Result<> take(const MessageView& message);
  Result<> lost(Error why);

  Fd fd_;
  Address local_;
  Channel channel_;
  TaskTable table_;
  TaskEntry self_;
  Duration dead_after_ = {};
  EngineSettings engine_;
  bool welcomed_ = false;
  std::optional<Error> lost_;
  Bytes in_;
  Bytes out_;
  uint32_t last_request_ = 0;
  std::map<uint32_t, std::optional<Reply>> asked_;  // by id; empty until the reply arrives
  std::deque<Notice> notices_;
  bool wait_query_ = false;
};

/// Marks the connection as lost. Returns the error, now and on every later call.
Result<> Client::lost(Error why) {
  if (!lost_) lost_ = std::move(why).during("rendezvous lost");
  return tl::unexpected(*lost_);
}

Result<> Client::send_some() {
  while (!out_.empty()) {
    const ssize_t n = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return lost({Errc::closed, errno_text(errno)});
    out_.erase(out_.begin(), out_.begin() + n);
  }
  return {};
}

/// True if it read anything.
Result<bool> Client::read_some() {
  const size_t had = in_.size();
  in_.resize(had + receive_bytes);
  ssize_t n = 0;
  // An interrupted call leaves bytes in the socket, for which an edge-triggered epoll reports
  // nothing more.
  do {
    n = ::recv(fd_.get(), in_.data() + had, receive_bytes, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  in_.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    TRY(lost({Errc::closed, n < 0 ? errno_text(errno) : "the launcher hung up"}));
  }
  TRY(take_messages());
  return true;
}

Result<> Client::take_messages() {
  size_t used = 0;
  while (true) {
    size_t taken = 0;
    const auto message = channel_.receive(ByteSpan(in_).subspan(used), &taken);
    used += taken;
    if (!message) return lost(message.error());
    const std::optional<MessageView>& whole = *message;
    if (!whole) break;
    if (const Result<> good = take(*whole); !good) return lost(good.error());
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(used));
  return {};
}

Result<> Client::take(const MessageView& message) {
  if (message.type == ChannelMessageType::welcome && !welcomed_) {
    Welcome welcome = TRY(decode_welcome(message.payload));
    const TaskEntry* self = welcome.table.find(welcome.self);
    if (self == nullptr) return fail(Errc::protocol, "a welcome for a task outside its table");
    self_ = *self;
    table_ = std::move(welcome.table);
    dead_after_ = welcome.dead_after;
    engine_ = welcome.engine;
    tune_tcp(fd_.get(), dead_after_);
    notices_.assign(welcome.gone.begin(), welcome.gone.end());
    welcomed_ = true;
    return {};
  }
  if (message.type == ChannelMessageType::reply) {
    // The reply to a forgotten request is dropped.
    const auto at = asked_.find(message.id);
    if (at != asked_.end()) at->second = TRY(decode_reply(message.payload));
    return {};
  }
  if (message.type == ChannelMessageType::notice) {
    for (Notice& notice : TRY(decode_notices(message.payload)))
      notices_.push_back(std::move(notice));
    return {};
  }
  if (message.type == ChannelMessageType::wait_query) {
    wait_query_ = true;
    return {};
  }
  return fail(Errc::protocol, "an unexpected message");
}

Result<> Client::await_welcome(Deadline& deadline) {
  while (!welcomed_) {
    if (TRY(read_some())) continue;
    if (!TRY(await_readiness(fd_.get(), POLLIN, deadline))) {
      return fail(Errc::timeout, "the rendezvous did not welcome us in time");
    }
  }
  return {};
}

Result<uint32_t> Client::post(const Request& request, Time /*now*/) {
  if (lost_) return tl::unexpected(*lost_);
  if (out_.size() > unsent_bytes_max) {
    return fail(Errc::timeout, "the rendezvous takes no more requests");
  }
  channel_.send(out_, ChannelMessageType::request, ++last_request_, encode(request));
  asked_.emplace(last_request_, std::nullopt);
  return last_request_;
}

std::optional<Reply> Client::take_reply(uint32_t id) {
  const auto at = asked_.find(id);
  if (at == asked_.end() || !at->second) return std::nullopt;
  std::optional<Reply> reply = std::move(at->second);
  asked_.erase(at);
  return reply;
}

Result<> Client::await_reply(uint32_t id, std::string_view what, Time deadline) {
  Deadline until(deadline);
  while (!asked_.at(id)) {
    TRY(send_some());
    const auto events = static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT);
    if (!TRY(await_readiness(fd_.get(), events, until))) {
      return fail(Errc::timeout, format("{}: the rendezvous does not answer", what));
    }
    TRY(read_some());
  }
  return {};
}

/// `what` names the request in the error of a silent server.
Result<Reply> Client::call(const Request& request, std::string_view what, Time deadline) {
  const uint32_t id = TRY(post(request, Clock::now()));
  const Result<> awaited = await_reply(id, what, deadline);
  std::optional<Reply> reply = take_reply(id);
  forget(id);
  if (!awaited) return tl::unexpected(awaited.error());
  if (reply->error) return tl::unexpected(*std::move(reply->error));
  return *std::move(reply);
}

Result<> Client::set(std::string_view key, ByteSpan value, Time deadline, Lifetime lifetime) {
  // Checked here, too. A value that the server would refuse need not be sent, and may be too long
  // for a message.
  TRY(check_key(key));
  TRY(check_value(key, value));
  const SetRequest request{std::string(key), Bytes(value.begin(), value.end()), lifetime};
  TRY(call(request, format("set '{}'", printable(key)), deadline));
  return {};
}

Result<std::optional<Bytes>> Client::get(std::string_view key, Time deadline) {
  TRY(check_key(key));
  const GetRequest request{std::string(key)};
  Reply reply = TRY(call(request, format("get '{}'", printable(key)), deadline));
  return std::move(reply.value);
}

Result<> Client::pump() {
  if (lost_) return tl::unexpected(*lost_);
  // Reads first: messages that the launcher sent before its end still count.
  while (TRY(read_some())) {
  }
  return send_some();
}

std::optional<Notice> Client::next_notice() {
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

}  // namespace

Result<std::unique_ptr<RendezvousClient>> RendezvousClient::connect(const Options& options,
                                                                    Time deadline) {
  Deadline until(deadline);
  const auto connect = [&]() -> Result<std::unique_ptr<RendezvousClient>> {
    Dialed dialed = TRY(dial(options.server, options.claim, {std::string(launcher_role), 0},
                             options.dead_after, until));
    Channel channel(std::move(dialed.session), options.claim.generation, answer_bytes_max);
    Address local = TRY(local_address(dialed.connection.get()));
    auto client = std::make_unique<Client>(std::move(dialed.connection), std::move(local),
                                           std::move(channel));
    TRY(client->await_welcome(until));
    return client;
  };
  auto client = connect();
  if (client) return client;
  return tl::unexpected(std::move(client).error().during(format(
      "cannot join the rendezvous at {} as {}", options.server.text(), options.claim.self.text())));
}

}  // namespace dt
