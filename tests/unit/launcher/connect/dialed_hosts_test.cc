#include "launcher/connect/dialed_hosts.h"

#include "base/format.h"
#include "base/io/file.h"
#include "launcher/network/launcher_dial.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// The connections to three hosts, whose agents a shell script is to start. It writes its input to
/// a file instead, from which this test dials as an agent.
struct Fixture {
  TemporaryFolder folder = {};
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string logged = {};
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  pid_t program = 0;
  std::vector<std::string> asked = {};
  std::vector<std::string> copied_to = {};
  bool beside = false;
  std::string script_of_copies = {};
  std::unique_ptr<DialedHosts> hosts = {};
  std::vector<std::unique_ptr<AgentConnection>> connections = {};
  std::vector<std::string> received = std::vector<std::string>(3);
  std::vector<std::string> ends = std::vector<std::string>(3);

  void start(const std::string& script, Duration patience = seconds(60)) {
    hosts = DialedHosts::create(
                *loop, log,
                {.program = "srun",
                 .start =
                     [this, script](const std::vector<std::string>& names) {
                       asked = names;
                       auto process = start_client({"sh", "-c", script, "sh", order_file()});
                       if (process) program = process->process->pid();
                       return process;
                     },
                 .start_copies =
                     [this](const std::vector<std::string>& names, bool runs) {
                       copied_to = names;
                       beside = runs;
                       return start_client({"sh", "-c", script_of_copies, "sh", order_file()});
                     },
                 .where = [] { return DialedHosts::Where{.ips = {"127.0.0.1"}}; },
                 .patience = patience})
                .value();
    for (size_t host = 0; host < 3; ++host) {
      connections.push_back(hosts->expect(
          {.name = format("n{}", host + 1)},
          {.on_bytes =
               [this, host](ByteSpan bytes) {
                 received[host] += as_text(bytes);
                 connections[host]->arrived();
                 return bytes.size();
               },
           .on_end = [this,
                      host](const AgentConnection::CloseReason& why) { ends[host] = why.why; }}));
    }
    REQUIRE(hosts->start().has_value());
  }
  std::string order_file() const { return folder.path() + "/order"; }
  DialOrder order() {
    std::optional<DialOrder> order;
    const Time deadline = Clock::now() + seconds(60);
    while (!order) {
      REQUIRE(Clock::now() < deadline);
      REQUIRE(loop->run_once(Clock::now() + milliseconds(5)).has_value());
      const auto text = read_text_file(order_file(), DialOrder::bytes_max);
      if (text && text->ends_with('\n')) order = DialOrder::parse(*text).value();
    }
    return *order;
  }
  /// Dials as the agent of a host. Returns the connection, which has sent "hello" as a record.
  Result<Fd> dial(const DialOrder& order, const std::string& host) {
    Result<Dialed> dialed = fail(Errc::closed, "");
    std::atomic<bool> done = false;
    std::thread agent([&] {
      dialed = dial_launcher(order, host);
      done = true;
    });
    while (!done)
      CHECK(loop->run_once(Clock::now() + milliseconds(5)).has_value());
    agent.join();
    if (!dialed) return tl::unexpected(dialed.error());
    RecordLayer records(std::move(dialed->session));
    Bytes wire;
    records.seal(wire, as_bytes("hello"));
    CHECK(write_all(dialed->connection.get(), wire).has_value());
    return std::move(dialed->connection);
  }
  /// Another process dials in vain.
  void dial_in_child(const DialOrder& order, const std::string& host) {
    const pid_t child = ::fork();
    if (child == 0) _exit(dial_launcher(order, host) ? 0 : 3);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0)
      REQUIRE(loop->run_once(Clock::now() + milliseconds(5)).has_value());
    CHECK(WEXITSTATUS(status) == 3);
  }
};

const std::string keeps_running = "cat >\"$1\"; exec sleep 600";

TEST_CASE_FIXTURE(Fixture, "DialedHosts connects each agent to its host, then closes the port") {
  start(keeps_running);
  CHECK(asked == std::vector<std::string>{"n1", "n2", "n3"});
  CHECK(hosts->owns(program));
  const DialOrder all = order();
  std::vector<Fd> agents;
  for (const char* const host : {"n3", "n1", "n2"}) {
    CHECK(hosts->listening());
    agents.push_back(dial(all, host).value());
    run_until(*loop, [&] { return received[static_cast<size_t>(host[1] - '1')] == "hello"; });
  }
  CHECK_FALSE(hosts->listening());
  CHECK_FALSE(hosts->ended());
  hosts->kill();
  CHECK(hosts->ended());
}

TEST_CASE_FIXTURE(Fixture, "DialedHosts refuses a second agent of a host by name, and strangers") {
  start(keeps_running);
  const DialOrder all = order();
  const Fd first = dial(all, "n2").value();
  CHECK(dial(all, "n2").error().message.ends_with("(an agent of n2 has connected before)"));
  // The same process may come by two addresses.
  CHECK(logged.empty());
  dial_in_child(all, "n2");
  CHECK(logged.find("port of the agents: an agent of n2 has connected before") !=
        std::string::npos);
  DialOrder more = all;
  more.hosts.emplace_back("n4");
  CHECK(dial(more, "n4").error().message.ends_with("(agent:3 is no agent of this job)"));
  DialOrder strange = all;
  strange.token = Token::random().value();
  CHECK_FALSE(dial(strange, "n1").has_value());
  run_until(*loop, [&] {
    return logged.find("port of the agents: authentication failed from") != std::string::npos;
  });
  CHECK(hosts->listening());
}

TEST_CASE_FIXTURE(Fixture,
                  "DialedHosts: hosts without an agent have the last lines of the program") {
  start("cat >\"$1\"; echo 'srun: error: Unable to create step' >&2; exit 3");
  run_until(*loop, [&] { return !ends[2].empty(); });
  for (const std::string& end : ends) {
    CHECK(end ==
          "srun ended before its agent had connected: exit status 3: srun: error: Unable to create "
          "step");
  }
  CHECK(hosts->ended());
  CHECK_FALSE(hosts->listening());
}

TEST_CASE_FIXTURE(Fixture, "DialedHosts: the death of the program does not end agents") {
  start(keeps_running);
  const DialOrder all = order();
  const Fd first = dial(all, "n1").value();
  REQUIRE(::kill(program, SIGKILL) == 0);
  run_until(*loop, [&] { return hosts->ended(); });
  // An agent that it has started may still be on its way.
  const Fd second = dial(all, "n2").value();
  run_until(*loop, [&] { return received[1] == "hello"; });
  CHECK(ends == std::vector<std::string>(3));
  CHECK(hosts->listening());
}

TEST_CASE_FIXTURE(Fixture, "DialedHosts names the addresses when no agent comes in time") {
  start(keeps_running, milliseconds(500));
  run_until(*loop, [&] { return !ends[0].empty(); });
  CHECK(ends[0] == "its agent, started by srun, has not connected to 127.0.0.1 (--start-timeout)");
  CHECK_FALSE(hosts->listening());
}

TEST_CASE_FIXTURE(Fixture,
                  "DialedHosts gives up at once the host that a line of the program names") {
  start("cat >\"$1\"; echo 'dtrain: n2: no copy of it' >&2; exec sleep 600");
  run_until(*loop, [&] { return !ends[1].empty(); });
  CHECK(ends == std::vector<std::string>{"", "no copy of it", ""});
}

TEST_CASE_FIXTURE(Fixture, "DialedHosts cuts a long reason at a space, and shows the cut") {
  start("cat >\"$1\"; printf 'n1: %0150d %0147d end of it\\n' 0 0 >&2; exec sleep 600");
  run_until(*loop, [&] { return !ends[0].empty(); });
  CHECK(ends[0] == std::string(150, '0') + " " + std::string(147, '0') + " …");
}

TEST_CASE_FIXTURE(Fixture,
                  "DialedHosts copies the executable once, when all other hosts are known") {
  script_of_copies = "cat >\"$1.2\"; echo 'dtrain: n1: programs cannot run there' >&2; sleep 600";
  start("cat >\"$1\"; echo n1; echo n3; exec sleep 600");
  const DialOrder all = order();
  const Fd second = dial(all, "n2").value();
  run_until(*loop, [&] { return !copied_to.empty(); });
  CHECK(copied_to == std::vector<std::string>{"n1", "n3"});
  CHECK(beside);
  run_until(*loop, [&] { return !ends[0].empty(); });
  CHECK(ends == std::vector<std::string>{"programs cannot run there", "", ""});
  CHECK(read_text_file(order_file() + ".2", DialOrder::bytes_max).value() == all.text());
  const Fd third = dial(all, "n3").value();
  run_until(*loop, [&] { return received[2] == "hello"; });
  CHECK_FALSE(hosts->listening());
  CHECK_FALSE(hosts->ended());
  hosts->kill();
  CHECK(hosts->ended());
}

TEST_CASE_FIXTURE(Fixture,
                  "DialedHosts: the end of each run is the reason of the hosts that it starts") {
  script_of_copies = "cat >/dev/null; echo 'srun: error: no step' >&2; exit 2";
  start("cat >\"$1\"; echo n2; exit 1");
  run_until(*loop, [&] { return !ends[1].empty(); });
  CHECK(copied_to == std::vector<std::string>{"n2"});
  CHECK_FALSE(beside);
  CHECK(ends[0] == "srun ended before its agent had connected: exit status 1");
  CHECK(ends[1] ==
        "srun ended before its agent had connected: exit status 2: srun: error: no step");
  CHECK(ends[2] == ends[0]);
  CHECK(hosts->ended());
}

TEST_CASE("DialedHosts: nodes without rank follow each other as their steps number them") {
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Log log(Log::Level::normal, [](std::string_view) {});
  DialedHosts::Options options = {.program = "dtrain run"};
  options.nodes = DialedHosts::Nodes{
      .token = Token(), .job = "nodes/", .own = {.hostname = "first", .count = 4}, .least = 4};
  const auto hosts = DialedHosts::create(*loop, log, std::move(options)).value();
  std::vector<std::unique_ptr<AgentConnection>> links;
  for (const char* const name : {"node 1", "node 2", "node 3"})
    links.push_back(hosts->expect({.name = name}, {}));
  const auto introduce = [&hosts](const std::string& place, const std::string& name, int order) {
    CHECK(hosts->introduced(place, {.hostname = name, .count = 4, .order = order}) == name);
  };
  introduce("node 1", "c", -1);
  introduce("node 2", "b", 7);
  introduce("node 3", "a", 0);
  CHECK(hosts->names() == std::vector<std::string>{"c", "b", "a"});
  CHECK(hosts->names(true) == std::vector<std::string>{"a", "b", "c"});
}

DialedHosts::Options awaits_nodes(uint16_t port) {
  DialedHosts::Options options = {.program = "dtrain run"};
  options.where = [port] { return DialedHosts::Where{.ips = {}, .port = port}; };
  options.nodes = DialedHosts::Nodes{.token = Token(),
                                     .job = "nodes/",
                                     .own = {.hostname = "first", .count = 2},
                                     .least = 2,
                                     .advice = {.absent = "start it", .port_taken = "free it"}};
  return options;
}

TEST_CASE("DialedHosts: a node that does not come is named with the advice for it") {
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Log log(Log::Level::normal, [](std::string_view) {});
  DialedHosts::Options options = awaits_nodes(0);
  options.patience = milliseconds(50);
  const auto hosts = DialedHosts::create(*loop, log, std::move(options)).value();
  std::string why;
  const auto link = hosts->expect(
      {.name = "node 1"},
      {.on_end = [&why](const AgentConnection::CloseReason& reason) { why = reason.why; }});
  CHECK_FALSE(hosts->awaits_nodes());
  REQUIRE(hosts->start());
  CHECK(hosts->awaits_nodes());
  run_until(*loop, [&why] { return !why.empty(); });
  CHECK_FALSE(hosts->awaits_nodes());
  CHECK(why == format("it has not connected to port {} of this machine (--start-timeout); start it",
                      hosts->port()));
}

TEST_CASE("DialedHosts: a port that another process has is named with the advice for it") {
  const std::unique_ptr<Loop> loop = Loop::create().value();
  Log log(Log::Level::normal, [](std::string_view) {});
  const auto first = DialedHosts::create(*loop, log, awaits_nodes(0)).value();
  const auto link = first->expect({.name = "node 1"}, {});
  REQUIRE(first->start());
  const auto second = DialedHosts::create(*loop, log, awaits_nodes(first->port())).value();
  const auto other = second->expect({.name = "node 1"}, {});
  const std::string why = second->start().error().message;
  CHECK(why.starts_with("port of the agents: cannot listen on "));
  CHECK(why.ends_with("Address already in use; free it"));
}

TEST_CASE("DialedHosts that cannot start the program has the reason") {
  const auto loop = Loop::create().value();
  Log quiet(Log::Level::quiet, [](std::string_view) {});
  const auto hosts =
      DialedHosts::create(*loop, quiet,
                          {.program = "srun",
                           .start = [](const std::vector<std::string>&) -> Result<SpawnedProcess> {
                             return fail(Errc::not_found, "no srun in PATH");
                           },
                           .where = [] { return DialedHosts::Where{.ips = {"127.0.0.1"}}; }})
          .value();
  CHECK(hosts->start().error().message == "no srun in PATH");
}

}  // namespace
}  // namespace dt
