#include "launcher/nodes/node_dial.h"

#include "base/io/socket.h"
#include "rendezvous/secure/acceptor.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

struct DialFixture {
  std::unique_ptr<Runtime> runtime = Runtime::open({}, {}).value();
  NodeOptions nodes = {.least = 2,
                       .count = 2,
                       .rank = 1,
                       .rank_origin = "--node-rank",
                       .master = "node0.example",
                       .token = Token::random().value()};
  std::unique_ptr<Acceptor> acceptor = {};
  std::vector<std::string> asked = {};
  std::vector<std::string> ips = {"127.0.0.1"};  ///< of node 0
  Timer end = {};                                ///< of node 0
  bool ends_after_refusal = false;
  int failures = 0;  ///< of the look-up, before it succeeds

  /// Node 0 accepts each node, or refuses it with this text, up to so many times.
  void listen(const Token& token, const std::string& refusal = {}, int refusals_max = 1000) {
    acceptor =
        Acceptor::listen(runtime->loop(),
                         {.address = {"127.0.0.1", 0},
                          .claim = {.token = token,
                                    .job = name_of_nodes(nodes),
                                    .self = {std::string(launcher_role), 0},
                                    .encrypt_data = true}},
                         runtime->log(),
                         [this, refusal, refusals_max](Fd connection, Handshake handshake) mutable {
                           if (refusal.empty() || refusals_max-- == 0)
                             handshake.accept_peer();
                           else
                             handshake.refuse_peer(refusal);
                           const Bytes verdict = handshake.take_output();
                           CHECK(write_all(connection.get(), verdict).has_value());
                           if (ends_after_refusal)
                             end = runtime->loop().after({}, [this] { acceptor.reset(); });
                         })
            .value();
    nodes.port = acceptor->address().port;
  }
  Result<Dialed> dial(Duration patience) {
    return dial_node_0(
        *runtime, nodes,
        {.patience = patience,
         .look_up = [this](const std::string& name) -> Result<std::vector<std::string>> {
           asked.push_back(name);
           if (failures-- > 0) return fail(Errc::not_found, "no such name");
           return ips;
         }});
  }
};

TEST_CASE_FIXTURE(DialFixture, "a node finds node 0 as soon as its name is published") {
  listen(*nodes.token);
  failures = 2;
  CHECK(dial(seconds(60)).has_value());
  CHECK(asked == std::vector<std::string>(3, "node0.example"));
}

TEST_CASE_FIXTURE(DialFixture, "a node that node 0 refuses does not try again") {
  listen(*nodes.token, "node 1 has no place");
  const auto refused = dial(seconds(60));
  CHECK(refused.error().code == Errc::input);
  CHECK(refused.error().message == "node 0 at " + host_port(nodes.master, nodes.port) +
                                       " refuses this node: node 1 has no place");
  CHECK(asked.size() == 1);
}

TEST_CASE_FIXTURE(DialFixture, "a node with another secret does not try again") {
  listen(Token::random().value());
  const auto refused = dial(seconds(60));
  CHECK(refused.error().code == Errc::input);
  CHECK(refused.error().message.find("give all nodes one DTRAIN_NODES_TOKEN") != std::string::npos);
}

TEST_CASE_FIXTURE(DialFixture, "a node without which the job runs waits without a limit") {
  // Without the renewal, the patience would end after the first try.
  listen(*nodes.token, "node 1 (pod) takes its place at the next restart", 6);
  CHECK(dial(milliseconds(60)).has_value());
  CHECK(asked.size() == 7);
}

TEST_CASE_FIXTURE(DialFixture, "a node waits so too where another address of node 0 is silent") {
  listen(*nodes.token, "node 1 (pod) takes its place at the next restart", 6);
  // Nothing listens there: the acceptor has one address.
  ips = {"127.0.0.1", "127.0.0.2"};
  CHECK(dial(milliseconds(60)).has_value());
  CHECK(asked.size() == 7);
}

TEST_CASE_FIXTURE(DialFixture, "a node whose place is taken tries again") {
  const std::string taken = "node 1 (pod) is there already; each node needs a rank of its own";
  listen(*nodes.token, taken, 2);
  CHECK(dial(seconds(60)).has_value());
  CHECK(asked.size() == 3);
  listen(*nodes.token, taken);
  auto late = dial(milliseconds(300));
  CHECK(late.error().code == Errc::unreachable);
  CHECK(late.error().message ==
        "node 0 at " + host_port(nodes.master, nodes.port) +
            " had no place for this node for 300ms (--start-timeout): " + taken);
}

TEST_CASE_FIXTURE(DialFixture, "a node that finds no node 0 any more has the last answer of it") {
  const std::string later = "node 1 (pod) takes its place at the next restart";
  listen(*nodes.token, later);
  ends_after_refusal = true;
  const auto late = dial(milliseconds(60));
  CHECK(late.error().code == Errc::unreachable);
  CHECK(late.error().message.find("had no place for this node for 60ms (--start-timeout): " +
                                  later + "; since then: ") != std::string::npos);
}

TEST_CASE_FIXTURE(DialFixture, "a node without an answer names the missing node 0") {
  nodes.port = 1;
  auto late = dial(milliseconds(300));
  CHECK(late.error().code == Errc::unreachable);
  CHECK(late.error().message.ends_with(
      "Connection refused; does dtrain run start there, with --node-rank 0?"));
  nodes.rank.reset();
  late = dial(milliseconds(300));
  CHECK(late.error().message.ends_with(
      "Connection refused; if no node has the address node0.example, give each its rank: "
      "--node-rank"));
}

}  // namespace
}  // namespace dt
