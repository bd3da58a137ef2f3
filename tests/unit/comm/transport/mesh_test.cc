#include "comm/transport/mesh.h"

#include "base/io/socket.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_listener.h"
#include "tests/unit/connected_to.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// One task with its mesh.
struct Member {
  std::unique_ptr<RendezvousClient> client;
  std::unique_ptr<Mesh> mesh;
  std::vector<Mesh::Peer> peers;

  Link& link_to(int rank) {
    return *std::ranges::find(peers, rank, [](const Mesh::Peer& p) { return p.task.rank; })->link;
  }
};

Member join(const RendezvousFixture& server, int rank, Transport transport, uint16_t port = 0) {
  Member member;
  member.client = server.join_worker(rank);
  auto mesh = Mesh::join(
      *member.client,
      {.claim = server.claim({"worker", rank}), .transport = transport, .port = port}, soon());
  if (!mesh) FAIL(mesh.error().message);
  member.mesh = *std::move(mesh);
  member.peers = member.mesh->take_peers();
  return member;
}

std::vector<Member> join_unconnected(const RendezvousFixture& server, Transport transport,
                                     uint16_t port_of_first = 0) {
  std::vector<Member> members(server.table().tasks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < members.size(); ++rank) {
    threads.emplace_back([&, rank] {
      members[rank] =
          join(server, static_cast<int>(rank), transport, rank == 0 ? port_of_first : 0);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return members;
}

bool all_connected(const std::vector<Member>& members) {
  return std::ranges::all_of(members, [](const Member& member) {
    return std::ranges::all_of(
        member.peers, [](const Mesh::Peer& peer) { return peer.link->connected().value(); });
  });
}

/// Lets all members make their connections, until that is so.
template <class Condition>
void advance_until(std::vector<Member>& members, const Condition& condition) {
  for (const Time end = soon(); !condition() && Clock::now() < end;) {
    for (Member& member : members)
      REQUIRE(member.mesh->wait(Clock::now()).has_value());
  }
  REQUIRE(condition());
}

/// The members with all their links connected. Both ends of each link are used at once.
std::vector<Member> join_all(const RendezvousFixture& server, Transport transport) {
  std::vector<Member> members = join_unconnected(server, transport);
  for (const Member& member : members)
    for (const Mesh::Peer& peer : member.peers)
      peer.link->connect();
  advance_until(members, [&] { return all_connected(members); });
  return members;
}

/// Reads until `size` bytes have come, waiting in the mesh as an engine would.
std::string read_from(Member& member, int rank, size_t size) {
  std::string got;
  for (const Time end = soon(); got.size() < size && Clock::now() < end;) {
    std::array<std::byte, 64> into;
    const size_t n = member.link_to(rank).receive(into).value();
    got += as_text(ByteSpan(into).first(n));
    if (n == 0) REQUIRE(member.mesh->wait(end).has_value());
  }
  return got;
}

constexpr Transport all_transports[] = {Transport::automatic, Transport::shm, Transport::tcp};

TEST_CASE("a mesh has the processes of its peers in shared memory, and none over TCP") {
  const RendezvousFixture server(table_of_workers(3, 3));
  CHECK(join_all(server, Transport::shm)[1].mesh->local_processes() ==
        std::vector<pid_t>{getpid(), getpid()});
  const RendezvousFixture other(table_of_workers(2, 2));
  CHECK(join_all(other, Transport::tcp)[0].mesh->local_processes().empty());
}

TEST_CASE("a mesh has one link to each other task, sealed where foreigners could write") {
  const RendezvousFixture server(table_of_workers(5, 2));
  std::vector<Member> members = join_all(server, Transport::automatic);
  for (size_t rank = 0; rank < members.size(); ++rank) {
    CHECK(members[rank].peers.size() == 4);
    for (const Mesh::Peer& peer : members[rank].peers) {
      const bool same_host = static_cast<int>(rank) / 2 == peer.task.rank / 2;
      CHECK(peer.link->exposed() != same_host);
      CHECK((peer.link->session() != nullptr) != same_host);
    }
  }
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      if (from == to) continue;
      const std::string text = std::to_string(from) + " to " + std::to_string(to);
      REQUIRE(members[static_cast<size_t>(from)].link_to(to).send(as_bytes(text)).value() ==
              text.size());
      CHECK(read_from(members[static_cast<size_t>(to)], from, text.size()) == text);
    }
  }
}

TEST_CASE("a mesh connects the TCP links that are used, and no others") {
  const RendezvousFixture server(table_of_workers(4, 2));
  std::vector<Member> members = join_unconnected(server, Transport::automatic);
  for (size_t rank = 0; rank < members.size(); ++rank)
    for (const Mesh::Peer& peer : members[rank].peers)
      CHECK(peer.link->connected().value() == (static_cast<int>(rank) / 2 == peer.task.rank / 2));
  members[0].link_to(3).connect();
  advance_until(members, [&] {
    return members[0].link_to(3).connected().value() && members[3].link_to(0).connected().value();
  });
  REQUIRE(members[0].link_to(3).send(as_bytes("hi")).value() == 2);
  CHECK(read_from(members[3], 0, 2) == "hi");
  for (const auto& [from, to] : {std::pair{0, 2}, {2, 0}, {1, 2}, {2, 1}, {1, 3}, {3, 1}})
    CHECK(!members[static_cast<size_t>(from)].link_to(to).connected().value());
}

TEST_CASE("strangers cost a rank no time once its last link is connected") {
  const RendezvousFixture server(table_of_workers(3, 1));
  const Fd held = hold_port(0).value();
  const uint16_t port = local_address(held.get()).value().port;
  std::vector<Member> members = join_unconnected(server, Transport::automatic, port);
  const auto stranger = [&] {
    Fd made = connected_to(Address{"127.0.0.1", port});
    REQUIRE(::send(made.get(), "GET / HTTP/1.1", 14, MSG_NOSIGNAL) == 14);
    return made;
  };
  const auto closed = [](const Fd& of) {
    pollfd polled = {.fd = of.get(), .events = POLLIN, .revents = 0};
    return poll(&polled, 1, 0) == 1;
  };
  const auto connect_first_to = [&](int rank) {
    Link& link = members[static_cast<size_t>(rank)].link_to(0);
    link.connect();
    advance_until(members, [&] {
      return members[0].link_to(rank).connected().value() && link.connected().value();
    });
  };
  connect_first_to(1);
  const Fd early = stranger();
  advance_until(members, [&] { return closed(early); });
  connect_first_to(2);
  // Nobody reads from it, and nobody refuses it: a rank that joins again waits in the same way.
  const Fd late = stranger();
  for (int round = 0; round < 20; ++round)
    REQUIRE(members[0].mesh->wait(Clock::now()).has_value());
  CHECK_FALSE(closed(late));
}

TEST_CASE("a link that is used first ends the wait of its rank and of its peer") {
  const RendezvousFixture server(table_of_workers(2, 1));
  std::vector<Member> members = join_unconnected(server, Transport::automatic);
  std::thread peer([&] { CHECK(read_from(members[1], 0, 2) == "hi"); });
  // This rank waits already, or not yet, when another of its threads uses the link.
  std::thread user([&] { members[0].link_to(1).connect(); });
  for (const Time end = soon(); !members[0].link_to(1).connected().value() && Clock::now() < end;)
    REQUIRE(members[0].mesh->wait(end).has_value());
  CHECK(members[0].link_to(1).send(as_bytes("hi")).value() == 2);
  user.join();
  peer.join();
}

TEST_CASE("what a peer sends ends a wait") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    // Many rounds, so that the peer sends before, while and after this side falls asleep.
    constexpr int rounds = 2000;
    std::thread echo([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::string got = read_from(members[1], 0, 1);
        CHECK(members[1].link_to(0).send(as_bytes(got)).value() == 1);
      }
    });
    bool same = true;
    for (int i = 0; i < rounds; ++i) {
      const std::string sent(1, static_cast<char>('a' + i % 26));
      REQUIRE(members[0].link_to(1).send(as_bytes(sent)).value() == 1);
      same = same && read_from(members[0], 1, 1) == sent;
    }
    echo.join();
    CHECK(same);
  }
}

TEST_CASE("a sender that filled its link is woken when its peer reads") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    constexpr size_t total = size_t{16} << 20;
    std::thread reader([&] {
      Bytes into(size_t{100} << 10);
      size_t got = 0;
      for (const Time end = soon(); got < total && Clock::now() < end;) {
        const size_t n = members[1].link_to(0).receive(into).value();
        got += n;
        if (n == 0) CHECK(members[1].mesh->wait(end).has_value());
      }
      CHECK(got == total);
    });
    const Bytes block(size_t{1} << 20, std::byte{1});
    size_t sent = 0;
    for (const Time end = soon(); sent < total && Clock::now() < end;) {
      const size_t n = members[0]
                           .link_to(1)
                           .send(ByteSpan(block).first(std::min(block.size(), total - sent)))
                           .value();
      sent += n;
      if (n == 0) CHECK(members[0].mesh->wait(end).has_value());
    }
    CHECK(sent == total);
    reader.join();
  }
}

TEST_CASE("a link that its owner leaves alone does not end one wait after the other") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    REQUIRE(members[1].link_to(0).send(as_bytes("unread")).value() == 6);
    // The arrival, the room that the handshake made, and the like may each end one wait.
    int ended_early = 0;
    for (int i = 0; i < 10; ++i) {
      const Time deadline = Clock::now() + milliseconds(5);
      REQUIRE(members[0].mesh->wait(deadline).has_value());
      if (Clock::now() < deadline) ++ended_early;
    }
    CHECK(ended_early < 5);
  }
}

TEST_CASE("a wait of less than a millisecond is not rounded up to one") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    // A rounded wait is never in time. On a busy machine, any other one is so after some attempts.
    bool in_time = false;
    for (const Time end = soon(); !in_time && Clock::now() < end;) {
      const Time deadline = Clock::now() + microseconds(200);
      REQUIRE(members[0].mesh->wait(deadline).has_value());
      const Time ended = Clock::now();
      in_time = ended >= deadline && ended < deadline + microseconds(500);
    }
    CHECK(in_time);
  }
}

TEST_CASE("wake ends a wait from another thread, also one that has not begun") {
  const RendezvousFixture server(table_of_workers(2, 2));
  std::vector<Member> members = join_all(server, Transport::automatic);
  const Time end = soon();
  for (int i = 0; i < 100; ++i) {
    std::thread waker([&] { members[0].mesh->wake(); });
    CHECK(members[0].mesh->wait(end).has_value());
    waker.join();
  }
  CHECK(Clock::now() < end);
}

TEST_CASE("a wait reports that the rendezvous has something, until it is forgotten") {
  RendezvousFixture server(table_of_workers(2, 2));
  std::vector<Member> members = join_all(server, Transport::automatic);
  server.notify({Notice::Kind::dead, {"worker", 1}, "exit status 1"});
  bool told = false;
  std::optional<Notice> notice;
  for (const Time end = soon(); !notice && Clock::now() < end;) {
    told = members[0].mesh->wait(end).value() || told;
    REQUIRE(members[0].client->pump().has_value());
    notice = members[0].client->next_notice();
  }
  CHECK(told);
  CHECK(notice->task == TaskId{"worker", 1});
  server.stop();
  members[0].mesh->forget_rendezvous();
  CHECK(!members[0].mesh->wait(Clock::now() + milliseconds(5)).value());
}

TEST_CASE("the end of a peer closes its link, after what it had sent") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    REQUIRE(members[1].link_to(0).send(as_bytes("last words")).value() == 10);
    members[1].mesh->drain(soon());
    members[1] = Member();
    CHECK(read_from(members[0], 1, 10) == "last words");
    std::array<std::byte, 8> into;
    Result<size_t> n = members[0].link_to(1).receive(into);
    for (const Time end = soon(); n && Clock::now() < end;) {
      REQUIRE(members[0].mesh->wait(end).has_value());
      n = members[0].link_to(1).receive(into);
    }
    REQUIRE(!n);
    CHECK(n.error().code == Errc::closed);
  }
}

TEST_CASE("no mesh waits for acknowledgements of a peer that has died") {
  const RendezvousFixture server(table_of_workers(2, 2));
  std::vector<Member> members = join_all(server, Transport::tcp);
  Link& link = members[0].link_to(1);
  const Bytes block(1 << 16);
  while (link.send(block).value() > 0) {
  }
  // The kernel resets a connection whose end had unread bytes.
  members[1] = Member();
  std::array<std::byte, 8> into;
  const Time end = soon();
  while (link.receive(into) && Clock::now() < end)
    REQUIRE(members[0].mesh->wait(end).has_value());
  members[0].mesh->drain(end);
  CHECK(Clock::now() < end);
}

TEST_CASE("the end of a peer is seen though a forked child of it holds its descriptors") {
  for (const Transport transport : all_transports) {
    const RendezvousFixture server(table_of_workers(2, 2));
    std::vector<Member> members = join_all(server, transport);
    std::array<int, 2> hold = {};
    REQUIRE(pipe2(hold.data(), O_CLOEXEC) == 0);
    const Fd child_reads(hold[0]);
    Fd child_lives(hold[1]);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      close(hold[1]);
      char end = 0;
      static_cast<void>(!read(hold[0], &end, 1));
      _exit(0);
    }
    members[1].mesh->drain(soon());
    members[1] = Member();
    std::array<std::byte, 8> into;
    Result<size_t> n = members[0].link_to(1).receive(into);
    for (const Time end = soon(); n && Clock::now() < end;) {
      REQUIRE(members[0].mesh->wait(end).has_value());
      n = members[0].link_to(1).receive(into);
    }
    CHECK(!n);
    child_lives.reset();
    CHECK(waitpid(child, nullptr, 0) == child);
  }
}

TEST_CASE("a TCP link that is polled needs no wait of the mesh") {
  const RendezvousFixture server(table_of_workers(3, 3));
  std::vector<Member> members = join_all(server, Transport::tcp);
  CHECK(members[0].mesh->sockets() == 2);
  Link& link = members[0].link_to(1);
  std::array<std::byte, 8> into;
  CHECK(link.receive(into).value() == 0);
  REQUIRE(members[1].link_to(0).send(as_bytes("hi")).value() == 2);
  size_t got = 0;
  for (const Time end = soon(); got == 0 && Clock::now() < end;) {
    REQUIRE(link.poll());
    got = link.receive(into).value();
  }
  CHECK(got == 2);
}

/// Counts the sockets of this process that probe an idle peer, and wait so long before.
size_t probing_after(int seconds_idle) {
  size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    int probes = 0;
    int idle = 0;
    socklen_t size = sizeof probes;
    if (getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &probes, &size) < 0 || probes == 0) continue;
    if (getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size) < 0) continue;
    if (idle == seconds_idle) ++count;
  }
  return count;
}

TEST_CASE("TCP links within a host send no probes, and those between hosts do") {
  constexpr int quarter_day = 6 * 3600;
  for (const int per_host : {1, 3}) {
    CAPTURE(per_host);
    const RendezvousFixture server(table_of_workers(3, per_host));
    const std::vector<Member> members = join_all(server, Transport::tcp);
    // Both ends of three links are in this process.
    CHECK(probing_after(quarter_day) == (per_host == 3 ? 6 : 0));
    CHECK(probing_after(1) >= (per_host == 3 ? 0 : 6));
  }
}

TEST_CASE("foreign connections do not disturb the joining") {
  const RendezvousFixture server(table_of_workers(2, 1));
  Member zero;
  std::thread first([&] { zero = join(server, 0, Transport::automatic); });
  auto client = server.join_worker(1);
  const std::string key = endpoint_key({"worker", 0});
  REQUIRE(ask(*client, WaitRequest{key, seconds(30)}) == Reply{});
  const PeerEndpoint endpoint = PeerEndpoint::decode(*client->get(key, soon()).value()).value();
  std::vector<Fd> foreigners;
  for (int i = 0; i < 20; ++i) {
    foreigners.push_back(connected_to(endpoint.tcp.at(0)));
    const std::string noise = i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : "dtrain\n";
    CHECK(send(foreigners.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0);
  }
  const auto mesh = Mesh::join(*client, {.claim = server.claim({"worker", 1})}, soon());
  CHECK(mesh.has_value());
  first.join();
  CHECK(zero.peers.size() == 1);
}

TEST_CASE("a peer that cannot dial is dialed before the join ends, at its reachable address") {
  TaskTable table = table_of_workers(2, 1);
  table.tasks[1].cut_off = {0};
  const RendezvousFixture server(std::move(table));
  // Rank 0 by hand: nobody listens at its first address, and nobody answers at its second.
  auto client = server.join_worker(0);
  PeerListener listener =
      PeerListener::open({.claim = server.claim({"worker", 0}), .tcp_ips = {"127.0.0.1"}}).value();
  const Fd silent = listen_on({"127.0.0.1", 0}).value();
  const Address nobody = [] {
    const Fd gone = listen_on({"127.0.0.1", 0}).value();
    return local_address(gone.get()).value();
  }();
  PeerEndpoint endpoint = listener.endpoint();
  endpoint.tcp.insert(endpoint.tcp.begin(), {nobody, local_address(silent.get()).value()});
  REQUIRE(client->set(endpoint_key({"worker", 0}), endpoint.encode(), soon()).has_value());
  Member one;
  std::thread second([&] { one = join(server, 1, Transport::automatic); });
  bool authenticated = false;
  for (const Time end = soon(); !authenticated && Clock::now() < end;) {
    std::vector<pollfd> fds;
    listener.collect_fds(fds);
    poll(fds.data(), fds.size(), 100);
    const auto done = listener.advance(Clock::now(), [](PeerHandshake& peer_handshake) {
      return peer_handshake.proved() ? peer_handshake.accept_peer({}, 0) : Result<>();
    });
    authenticated = !done.value().empty();
  }
  second.join();
  CHECK(authenticated);
  REQUIRE(one.peers.size() == 1);
  CHECK(one.link_to(0).connected().value());
}

}  // namespace
}  // namespace dt
