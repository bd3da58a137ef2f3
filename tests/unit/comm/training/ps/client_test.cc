#include "comm/training/ps/client.h"

#include "tests/unit/comm/training/ps/manual_peers.h"
#include "tests/unit/comm/training/ps/ps_job.h"

#include <algorithm>
#include <cmath>

namespace dt {
namespace {

using Network = PsJob::Network;

TEST_CASE("asynchronous pushes of several workers to several servers all count on each network") {
  for (const Network network : {Network::tcp, Network::encrypted, Network::one_host}) {
    PsJob job({.workers = 3, .servers = 2, .network = network});
    const std::string failure = job.run([](int index, PsClient& ps) {
      declare(ps, {"w", {0, 0, 0}});
      declare(ps, {"v", std::vector<float>(3)});
      std::vector<float> gradient(3);
      gradient[static_cast<size_t>(index)] = -1;
      for (int i = 0; i < 20; ++i) {
        push(ps, "w", gradient);
        push(ps, "v", gradient);
      }
      must(ps.barrier());
      CHECK(pull(ps, "w", 3) == std::vector<float>{20, 20, 20});
      CHECK(pull(ps, "v", 3) == std::vector<float>{20, 20, 20});
      CHECK(must(ps.step()) == 120);
    });
    CHECK(failure.empty());
  }
}

TEST_CASE("synchronous steps average the gradients of all workers") {
  PsJob job({.workers = 3, .servers = 2});
  const std::string failure = job.run([](int index, PsClient& ps) {
    declare(ps, {"w", {10}});
    declare(ps, {"v", {10}});
    if (index == 0) must(ps.set_mode(PsMode::Kind::sync, 0));
    must(ps.barrier());
    for (int step = 1; step <= 10; ++step) {
      const std::vector<float> gradient = {static_cast<float>(index)};
      std::vector<float> w(1);
      std::vector<float> v(1);
      const PsClient::Array arrays[] = {{.name = "w",
                                         .gradient = std::as_bytes(std::span(gradient)),
                                         .values = std::as_writable_bytes(std::span(w))},
                                        {.name = "v",
                                         .gradient = std::as_bytes(std::span(gradient)),
                                         .values = std::as_writable_bytes(std::span(v))}};
      const PsClient::Pushed pushed = must(ps.push(arrays, true, {}));
      CHECK(pushed.counted);
      CHECK(w[0] == doctest::Approx(10 - step));
      CHECK(v[0] == w[0]);
      CHECK(pushed.step == static_cast<uint64_t>(step));
    }
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("large variables are divided over the servers, and come back whole") {
  Network network = Network::tcp;
  SUBCASE("over TCP") {
  }
  SUBCASE("in shared memory") {
    network = Network::one_host;
  }
  PsJob job({.workers = 1, .servers = 3, .network = network});
  const std::string failure = job.run([](int, PsClient& ps) {
    constexpr size_t rows = 1000;
    constexpr size_t row = 300;
    std::vector<float> values(rows * row);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    const Bytes initial = bytes_of(values);
    const PsClient::Declaration table{plain_variable("table", {rows, row}), initial};
    must(ps.declare({&table, 1}));
    CHECK(pull(ps, "table", values.size()) == values);
    CHECK(ps.table().find("server 2: 399600 bytes") != std::string::npos);

    const std::vector<int64_t> some = {999, 0, 500, 999};
    std::vector<float> gradient(some.size() * row, 1);
    std::vector<float> changed(some.size() * row);
    const PsClient::Array array{.name = "table",
                                .sparse = true,
                                .rows = some,
                                .gradient = std::as_bytes(std::span(gradient)),
                                .values = std::as_writable_bytes(std::span(changed))};
    must(ps.push({&array, 1}, true, {}));
    for (size_t i = 0; i < some.size(); ++i) {
      const float twice = some[i] == 999 ? 2 : 1;
      const auto first = static_cast<size_t>(some[i]) * row;
      CHECK(changed[i * row] == values[first] - twice);
      CHECK(changed[i * row + row - 1] == values[first + row - 1] - twice);
    }
    CHECK(pull(ps, "table", values.size())[row] == values[row]);
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("long values that come with a push are those after it") {
  for (const Network network : {Network::tcp, Network::one_host}) {
    PsJob job({.workers = 2, .servers = 2, .network = network});
    const std::string failure = job.run([](int, PsClient& ps) {
      constexpr size_t count = 400'000;
      VariableSpec variable = plain_variable("w", {count});
      variable.type = ElementType::float64;
      const Bytes initial = bytes_of(std::vector<double>(count));
      const PsClient::Declaration declared{variable, initial};
      must(ps.declare({&declared, 1}));
      const std::vector<double> gradient(count, -1);
      std::vector<double> values(count);
      const PsClient::Array array{.name = "w",
                                  .gradient = std::as_bytes(std::span(gradient)),
                                  .values = std::as_writable_bytes(std::span(values))};
      for (int i = 1; i <= 10; ++i) {
        must(ps.push({&array, 1}, true, {}));
        // Each server has all elements of its part after a whole number of pushes.
        for (const size_t first : {size_t{0}, count / 2}) {
          const std::span part = std::span(values).subspan(first, count / 2);
          CHECK(part[0] >= i);
          CHECK(part[0] <= i + 10);
          CHECK(std::ranges::all_of(part, [&](double value) { return value == part[0]; }));
        }
      }
      must(ps.barrier());
      must(ps.pull({&array, 1}));
      CHECK(values == std::vector<double>(count, 20));
    });
    CHECK_MESSAGE(failure.empty(), failure);
  }
}

TEST_CASE("gradients are clipped by the norm of all of them") {
  PsJob job({.workers = 1, .servers = 2});
  const std::string failure = job.run([](int, PsClient& ps) {
    declare(ps, {"a", {0}});
    declare(ps, {"b", {0}});
    const float three = 3;
    const float four = 4;
    const PsClient::Array arrays[] = {
        {.name = "a", .gradient = std::as_bytes(std::span(&three, 1))},
        {.name = "b", .gradient = std::as_bytes(std::span(&four, 1))}};
    CHECK(must(ps.push(arrays, false, {.clip_norm = 1})).norm == 5);
    CHECK(pull(ps, "a", 1)[0] == doctest::Approx(-0.6));
    CHECK(pull(ps, "b", 1)[0] == doctest::Approx(-0.8));
    const float nan = std::nanf("");
    const PsClient::Array bad{.name = "a", .gradient = std::as_bytes(std::span(&nan, 1))};
    CHECK_FALSE(ps.push({&bad, 1}, false, {.clip_norm = 1}));
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("wrong calls are named, and the servers and the client stay usable") {
  PsJob job({.workers = 1});
  const std::string failure = job.run([](int, PsClient& ps) {
    declare(ps, {"w", {1, 2}});
    const std::vector<float> three(3);
    const std::vector<int64_t> bad_row = {2};
    const PsClient::Array unknown{.name = "v"};
    const PsClient::Array wrong_size{.name = "w", .gradient = std::as_bytes(std::span(three))};
    const PsClient::Array wrong_row{.name = "w",
                                    .sparse = true,
                                    .rows = bad_row,
                                    .gradient = std::as_bytes(std::span(three).first(1))};
    struct Case {
      const PsClient::Array* array;
      const char* message;
    };
    for (const Case& which : {Case{&unknown, "variable v is not declared"},
                              Case{&wrong_size, "variable w: 12 bytes of gradient, expected 8"},
                              Case{&wrong_row, "variable w: there is no row 2; it has 2"}}) {
      const auto pushed = ps.push({which.array, 1}, false, {});
      REQUIRE_FALSE(pushed);
      CHECK(pushed.error().message == which.message);
    }
    const NamedValues other("w", {1, 2, 3});
    const PsClient::Declaration again = other.declaration();
    CHECK_FALSE(ps.declare({&again, 1}));
    const Result<> too_many = ps.set_mode(PsMode::Kind::sync, 2);
    REQUIRE_FALSE(too_many);
    CHECK(too_many.error().message == "2 workers in each step: the job has 1");
    CHECK(pull(ps, "w", 2) == std::vector<float>{1, 2});
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("a worker whose declaration differs gets an error that names both workers") {
  PsJob job({.workers = 2});
  const PsJob::Worker first = job.join(0);
  const PsJob::Worker second = job.join(1);
  declare(*first.ps, {"w", {1, 2}});
  const NamedValues other("w", {1, 2, 3});
  const PsClient::Declaration declared = other.declaration();
  const Result<> refused = second.ps->declare({&declared, 1});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::mismatch);
  CHECK(refused.error().message ==
        "variable w: worker:1 on node1 declares float32[3], sgd, but worker:0 on node0 declared "
        "float32[2], sgd");
}

TEST_CASE("after a worker's death, a synchronous step of all workers ends by name") {
  PsJob job({.workers = 2});
  const PsJob::Worker worker = job.join(0);
  declare(*worker.ps, {"w", {1}});
  must(worker.ps->set_mode(PsMode::Kind::sync, 0));
  std::thread death(
      [&] { job.rendezvous().notify({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL"}); });
  const float gradient = 1;
  const PsClient::Array array{.name = "w", .gradient = std::as_bytes(std::span(&gradient, 1))};
  const auto pushed = worker.ps->push({&array, 1}, false, {});
  death.join();
  REQUIRE_FALSE(pushed);
  CHECK(pushed.error().message ==
        "a step needs the gradients of 2 workers, and 1 are left: worker:1 on node1 died: killed "
        "by SIGKILL");
  // Asynchronous training continues.
  must(worker.ps->set_mode(PsMode::Kind::async, 0));
  CHECK(push(*worker.ps, "w", {1}).counted);
}

TEST_CASE("all servers save and load; files of different steps are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
  PsJob job({.workers = 1, .servers = 2});
  const std::string failure = job.run([&](int, PsClient& ps) {
    declare(ps, {"w", {1, 2}});
    declare(ps, {"v", {3}});
    push(ps, "w", {1, 1});
    must(ps.save(path));
    push(ps, "w", {5, 5});
    push(ps, "v", {5});
    CHECK(must(ps.load(path)) == 1);
    CHECK(pull(ps, "w", 2) == std::vector<float>{0, 1});
    CHECK(pull(ps, "v", 1) == std::vector<float>{3});
    CHECK(must(ps.step()) == 1);

    push(ps, "w", {1, 1});
    must(ps.save(path + "2"));
    REQUIRE(::rename((path + "2.ps-1-of-2").c_str(), (path + ".ps-1-of-2").c_str()) == 0);
    const auto mixed = ps.load(path);
    REQUIRE_FALSE(mixed);
    CHECK(mixed.error().message == "checkpoint " + path +
                                       ": the file of ps:0 on store0 is of step 1, that of ps:1 on "
                                       "store1 of step 2");
    const auto missing = ps.load(path + "3");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().message.find("there is no such file") != std::string::npos);
    CHECK(pull(ps, "w", 2) == std::vector<float>{-1, 0});
  });
  CHECK_MESSAGE(failure.empty(), failure);
}

TEST_CASE("long values of a reply stay those of one step while others push") {
  for (const Network network : {Network::tcp, Network::encrypted, Network::one_host}) {
    PsJob job({.workers = 2, .network = network});
    // No socket holds so much, so the server has a part of the reply.
    constexpr size_t count = 6'000'000;
    const VariableSpec variable = plain_variable("w", {count});
    ManualConnection slow = dial_by_hand(job, 0, 0);
    slow.send(1, PsRequest(AttachRequest{.session = 1}));
    slow.receive();
    slow.send(2, PsRequest(DeclaredWhole(0, variable, {}).request));
    slow.receive();
    const PsJob::Worker other = job.join(1);
    const PsClient::Declaration declared{variable, {}};
    must(other.ps->declare({&declared, 1}));

    slow.send(3, PsRequest(PullRequest{.pulls = {{.shard = 0}}}));
    slow.await_readable();
    CHECK(push(*other.ps, "w", std::vector<float>(count, -1)).counted);
    CHECK(pull(*other.ps, "w", count) == std::vector<float>(count, 1));
    const MessageConnection::Received received = slow.receive();
    const PsReply reply = must(decode_ps_reply(*received.body));
    REQUIRE(reply.values.size() == 1);
    CHECK(numbers_of<float>(reply.values[0]) == std::vector<float>(count));
  }
}

}  // namespace
}  // namespace dt
