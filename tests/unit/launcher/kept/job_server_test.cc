#include "launcher/kept/job_server.h"

#include "base/io/local_socket.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace dt {
namespace {

/// A server on a loop of its own, as a launcher has it.
struct Server {
  TemporaryFolder folder;
  JobFolder job = {.id = "a-1", .path = folder.path()};
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::optional<Duration> grace;
  int stops = 0;
  std::unique_ptr<JobServer> server =
      JobServer::open(*loop, job,
                      {.status = [] { return Json(Json::Object{{"tasks", 2}}); },
                       .stop =
                           [this](std::optional<Duration> given) {
                             grace = given;
                             ++stops;
                           }})
          .value();

  /// Runs the loop while `client` works in another thread.
  void serve(const std::function<void()>& client) {
    std::atomic<bool> done = false;
    std::thread other([&] {
      client();
      done = true;
    });
    while (!done)
      REQUIRE(loop->run_once(loop->now() + milliseconds(10)).has_value());
    other.join();
  }
  Fd connect() const {
    const Fd opened(::open(job.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return connect_in(opened.get(), "socket").value();
  }
};

TEST_CASE_FIXTURE(Server, "a launcher answers at its socket, and its end is noticed") {
  serve([this] {
    const auto status = ask_job(job, Json::Object{{"ask", "status"}});
    REQUIRE(status.has_value());
    CHECK(status->document.text() == R"({"tasks":2})");
    CHECK(ask_job(job, Json::Object{{"ask", "stop"}, {"grace_s", 1.5}})->document.text() ==
          R"({"stopping":true})");
  });
  CHECK(grace == milliseconds(1500));
  serve([this] { CHECK(ask_job(job, Json::Object{{"ask", "stop"}, {"grace_s", Json()}})); });
  CHECK_FALSE(grace);
  CHECK(stops == 2);
  Fd kept;
  serve([&] {
    kept = ask_job(job, Json::Object{{"ask", "status"}})->connection.get() >= 0 ? connect() : Fd();
  });
  REQUIRE(loop->run_once(loop->now() + milliseconds(50)).has_value());
  server.reset();
  await_end(kept);
  CHECK(ask_job(job, Json::Object{{"ask", "status"}}).error().code == Errc::refused);
}

TEST_CASE_FIXTURE(Server, "text that is no request closes its connection, and no other") {
  for (const std::string& text : {std::string("nonsense\n"), std::string("{\"ask\": \"what\"}\n"),
                                  std::string("[]\n"), std::string(5000, 'x')}) {
    serve([&] {
      const Fd client = connect();
      // The server may close before all of it is written.
      static_cast<void>(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL));
      await_end(client);
    });
  }
  serve([this] { CHECK(ask_job(job, Json::Object{{"ask", "status"}}).has_value()); });
  CHECK(stops == 0);
}

TEST_CASE_FIXTURE(Server, "more clients than the launcher takes are closed") {
  serve([this] {
    std::vector<Fd> clients;
    for (size_t i = 0; i < JobServer::clients_max + 1; ++i)
      clients.push_back(connect());
    await_end(clients.back());
  });
}

}  // namespace
}  // namespace dt
