#include "comm/peer/server_dial.h"

#include "comm/transport/doorbell.h"
#include "tests/unit/comm/peer/connected.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

namespace dt {
namespace {

TEST_CASE("the keys of a server are prefixes of no other ones") {
  CHECK(ps_endpoint_key({"ps", 1}) == "ps/ps/1/endpoint");
  CHECK(ps_replica_key({"ps", 1}) == "ps/ps/1/replica");
}

TEST_CASE("a server is dialed at its endpoint, and one that does not answer is named") {
  PsJob job({.workers = 2});
  const PsJob::Worker worker = job.join(0);
  const auto client = job.rendezvous().join({"worker", 1});
  const Bytes value = must(client->get(ps_endpoint_key({"ps", 0}), soon())).value();
  PeerEndpoint endpoint = must(PeerEndpoint::decode(value));
  const TaskEntry& server = *client->table().find({"ps", 0});
  const PsDialer dialer{.claim = job.claim({"worker", 1})};
  CHECK(dial_server(dialer, server, endpoint, soon()));
  const PsDialer itself{.claim = job.claim({"ps", 0})};
  const auto refused = dial_server(itself, server, endpoint, soon());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::refused);
  endpoint.tcp.clear();
  const auto none = dial_server(dialer, server, endpoint, soon());
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "cannot connect to ps:0 on store0: it has no address");
}

int domain_of(int socket) {
  int domain = 0;
  socklen_t length = sizeof domain;
  REQUIRE(getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0);
  return domain;
}

struct Dialed {
  explicit Dialed(PsJob& job) : claim(job.claim({"worker", 1})) {
    const auto client = job.rendezvous().join({"worker", 1});
    server = *client->table().find({"ps", 0});
    const Bytes value = must(client->get(ps_endpoint_key(server.id), soon())).value();
    endpoint = must(PeerEndpoint::decode(value));
  }
  Result<std::unique_ptr<MessageConnection>> dial(int doorbell) const {
    return dial_server({.claim = claim, .doorbell = doorbell}, server, endpoint, soon());
  }
  Claim claim;
  TaskEntry server;
  PeerEndpoint endpoint;
};

TEST_CASE("a task that has a doorbell uses shared memory to a server of its host") {
  PsJob job({.workers = 2, .network = PsJob::Network::one_host});
  const PsJob::Worker worker = job.join(0);
  const Fd doorbell = must(make_doorbell());
  Dialed dialed(job);
  CHECK(domain_of(must(dialed.dial(doorbell.get()))->fd()) == AF_UNIX);
  CHECK(domain_of(must(dialed.dial(-1))->fd()) == AF_INET);
  // Such as where a task has a network namespace of its own.
  const std::string name = std::exchange(dialed.endpoint.local, "dtrain-nobody");
  CHECK(domain_of(must(dialed.dial(doorbell.get()))->fd()) == AF_INET);

  dialed.endpoint.local = name;
  dialed.claim = job.claim({"ps", 0});
  const auto refused = dialed.dial(doorbell.get());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::refused);
  CHECK(refused.error().message.starts_with("cannot connect to ps:0 on store0: "));
}

TEST_CASE("a task of another host uses TCP") {
  PsJob job({.workers = 2});
  const PsJob::Worker worker = job.join(0);
  const Fd doorbell = must(make_doorbell());
  Dialed dialed(job);
  CHECK(domain_of(must(dialed.dial(doorbell.get()))->fd()) == AF_INET);
  // The server does not believe it either.
  dialed.server.agent = 0;
  CHECK(domain_of(must(dialed.dial(doorbell.get()))->fd()) == AF_INET);
}

TEST_CASE("memory of another size is refused") {
  const ConnectedTasks tasks = connect_tasks();
  AuthenticatedConnection connection{.socket = must(duplicate(tasks.server.socket.get())),
                                     .handshake = tasks.server.handshake,
                                     .passed_fds = {}};
  connection.passed_fds.push_back(must(make_doorbell()));
  connection.passed_fds.emplace_back(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto refused = accepted_connection(std::move(connection), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt
