#include "launcher/kept/job_server.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/local_socket.h"
#include "base/io/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dt {
namespace {

constexpr const char* socket_name = "socket";
/// A launcher that was stopped does not answer.
constexpr Duration answer_patience = seconds(10);
/// The report of the largest job is smaller.
constexpr size_t answer_bytes_max = size_t{256} << 20;

Result<Fd> open_folder(const JobFolder& folder) {
  Fd opened(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return fail_errno(format("cannot open {}", folder.path));
  return opened;
}

/// Reads until a line is whole.
Result<std::string> read_line(int connection, Time deadline) {
  std::string line;
  std::array<char, 65536> buffer = {};
  while (line.empty() || line.back() != '\n') {
    pollfd ready = {.fd = connection, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, poll_ms(Clock::now(), deadline)) == 0)
      return fail(Errc::timeout, "its launcher does not answer");
    const ssize_t n = ::read(connection, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || line.size() > answer_bytes_max)
      return fail(Errc::closed, "its launcher has closed the connection");
    line.append(buffer.data(), static_cast<size_t>(n));
  }
  return line;
}

}  // namespace

Result<std::unique_ptr<JobServer>> JobServer::open(Loop& loop, const JobFolder& folder,
                                                   Handlers handlers) {
  std::unique_ptr<JobServer> server(new JobServer(loop, std::move(handlers)));
  const Fd opened = TRY(open_folder(folder));
  server->listener_ = TRY(listen_in(opened.get(), socket_name));
  server->watch_ = TRY(loop.watch(server->listener_.get(), EPOLLIN,
                                  [self = server.get()](uint32_t) { self->accept(); }));
  return server;
}

void JobServer::accept() {
  for (int round = 0; round < accepts_per_round; ++round) {
    auto connection = accept_one(listener_.get());
    if (!connection || !*connection) return;
    const std::optional<uid_t> user = peer_user(connection->get());
    const bool may_ask = user && (*user == ::geteuid() || *user == 0);
    if (may_ask && clients_.size() < clients_max) add_client(*std::move(connection));
  }
}

void JobServer::add_client(Fd connection) {
  const uint64_t number = next_client_++;
  auto stream = Stream::open(
      loop_, std::move(connection), Fd(),
      {.on_bytes = [this, number](ByteSpan received) -> size_t {
         const auto taken = answer(*clients_.at(number), received);
         if (!taken) clients_.erase(number);
         return taken.value_or(0);
       },
       .on_end = [this, number](const std::optional<Error>&) { clients_.erase(number); },
       .on_drained = {}});
  if (stream) clients_.emplace(number, *std::move(stream));
}

std::optional<size_t> JobServer::answer(Stream& client, ByteSpan received) {
  const std::string_view text = as_text(received);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos)
    return text.size() < request_bytes_max ? std::optional<size_t>(0) : std::nullopt;
  // A client that does not read its answers gets no further ones.
  if (client.unsent() > 0) return std::nullopt;
  const auto document = reply(text.substr(0, end));
  if (!document) return std::nullopt;
  client.write(as_bytes(document->text() + "\n"));
  return end + 1;
}

Result<Json> JobServer::reply(std::string_view request) {
  const Json document = TRY(Json::parse(request));
  const Json* const ask = document.find("ask");
  const auto* const what = ask == nullptr ? nullptr : ask->as<std::string>();
  if (what != nullptr && *what == "status") return handlers_.status();
  if (what == nullptr || *what != "stop") return fail(Errc::protocol, "an unknown request");
  const Json* const grace = document.find("grace_s");
  const auto* const grace_s = grace == nullptr ? nullptr : grace->as<double>();
  std::optional<Duration> wanted;
  if (grace_s != nullptr) {
    constexpr double longest_s = 1e6;
    wanted = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(std::clamp(*grace_s, 0.0, longest_s)));
  }
  handlers_.stop(wanted);
  return Json(Json::Object{{"stopping", true}});
}

Result<JobAnswer> ask_job(const JobFolder& folder, const Json& request) {
  const Fd opened = TRY(open_folder(folder));
  Fd connection = TRY(connect_in(opened.get(), socket_name));
  TRY(write_all(connection.get(), as_bytes(request.text() + "\n")));
  const std::string line = TRY(read_line(connection.get(), Clock::now() + answer_patience));
  Json document = TRY(Json::parse(line));
  return JobAnswer{.document = std::move(document), .connection = std::move(connection)};
}

void await_end(const Fd& connection) {
  for (char byte = 0;;) {
    const ssize_t n = ::read(connection.get(), &byte, 1);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
}

}  // namespace dt
