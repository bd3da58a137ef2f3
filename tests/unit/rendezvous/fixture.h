#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/server.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {

/// Ranked workers 0 to workers-1. Every `per_host` of them share an agent number and thus a host.
/// The hosts are "node0", "node1", …, all reached over loopback.
inline TaskTable table_of_workers(int workers, int per_host = 1, uint32_t generation = 1) {
  TaskTable table;
  table.job = "test-job";
  table.generation = generation;
  for (int i = 0; i < workers; ++i) {
    TaskEntry task;
    task.id = {"worker", i};
    task.rank = i;
    task.agent = i / per_host;
    task.host = "node" + std::to_string(i / per_host);
    task.addresses = {"127.0.0.1"};
    table.tasks.push_back(std::move(task));
  }
  return table;
}

/// A deadline that suffices for anything that should succeed.
inline Time soon() {
  return Clock::now() + seconds(30);
}

/// Returns the value of a Result that must not fail; doctest shows the exception's text. Uses no
/// macro of doctest, so that benchmarks can use this file.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return take(std::move(result));
}

/// The reply to a request that the client posts.
inline Reply ask(RendezvousClient& client, const Request& request) {
  const uint32_t id = must(client.post(request, Clock::now()));
  for (const Time end = soon(); Clock::now() < end;) {
    must(client.pump());
    if (auto reply = client.take_reply(id)) return *std::move(reply);
    pollfd ready{client.fd(), POLLIN | POLLOUT, 0};
    if (::poll(&ready, 1, 10'000) != 1) break;
  }
  throw std::runtime_error("the rendezvous has not answered");
}

/// A RendezvousServer on a thread of its own, with a hand-made table; ends with this object.
class RendezvousFixture {
 public:
  explicit RendezvousFixture(TaskTable table, RendezvousServer::Options options = {})
      : log_(Log::Level::normal, [this](std::string_view line) { remember(line); }) {
    options.token = must(Token::random());
    options.table = std::move(table);
    token_ = options.token;
    table_ = options.table;
    loop_ = must(Loop::create());
    server_ = must(RendezvousServer::listen(*loop_, std::move(options), log_));
    address_ = server_->address();
    wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    watch_ = must(loop_->watch(wake_.get(), EPOLLIN, [this](uint32_t) { run_calls(); }));
    thread_ = std::thread([this] { static_cast<void>(loop_->run()); });
  }
  RendezvousFixture(const RendezvousFixture&) = delete;
  RendezvousFixture& operator=(const RendezvousFixture&) = delete;
  ~RendezvousFixture() { stop(); }

  const Address& address() const { return address_; }
  const Token& token() const { return token_; }
  const TaskTable& table() const { return table_; }

  Claim claim(TaskId task) const {
    return {token_, table_.job, table_.generation, std::move(task)};
  }
  RendezvousClient::Options client_options(TaskId task) const {
    RendezvousClient::Options options;
    options.server = address_;
    options.claim = claim(std::move(task));
    return options;
  }
  /// Joins as this task; fails the test if it cannot.
  std::unique_ptr<RendezvousClient> join(TaskId task) const {
    return must(RendezvousClient::connect(client_options(std::move(task)), soon()));
  }
  std::unique_ptr<RendezvousClient> join_worker(int index) const { return join({"worker", index}); }

  /// Runs `what` on the server's thread and waits for it.
  void on_server(std::function<void(RendezvousServer&)> what) {
    std::packaged_task<void()> call([&] { what(*server_); });
    std::future<void> done = call.get_future();
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    wake();
    done.get();
  }
  /// Begins the generation of this table. Requires that no other thread uses this object.
  void set_table(TaskTable table) {
    table_ = std::move(table);
    on_server([this](RendezvousServer& server) { server.set_table(table_); });
  }
  void notify(const Notice& notice) {
    on_server([&](RendezvousServer& server) { server.notify(notice); });
  }
  RendezvousServer::Counters counters() {
    RendezvousServer::Counters counters;
    on_server([&](RendezvousServer& server) { counters = server.counters(); });
    return counters;
  }
  /// Lets the server work until `done` of its counters holds; fails the test after 10 s.
  void until(const std::function<bool(const RendezvousServer::Counters&)>& done) {
    for (const Time end = Clock::now() + seconds(10); !done(counters());) {
      if (Clock::now() >= end) throw std::runtime_error("the server never got there");
    }
  }
  /// The lines that the server has logged so far.
  std::string log_text() {
    const std::lock_guard lock(mutex_);
    return log_text_;
  }
  /// Ends every client's connection, as the death of the launcher does.
  void stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    wake();
    thread_.join();
    server_.reset();
  }

 private:
  void wake() const {
    const uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
  }
  void run_calls() {
    uint64_t count = 0;
    static_cast<void>(!::read(wake_.get(), &count, sizeof count));
    std::vector<std::packaged_task<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      calls.swap(calls_);
    }
    for (auto& call : calls)
      call();
    if (stopping_) loop_->stop();
  }
  void remember(std::string_view line) {
    const std::lock_guard lock(mutex_);
    log_text_ += line;
  }

  Token token_;
  TaskTable table_;
  Address address_;
  std::mutex mutex_;
  std::string log_text_;
  std::vector<std::packaged_task<void()>> calls_;
  std::atomic<bool> stopping_ = false;
  Log log_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<RendezvousServer> server_;
  Fd wake_;
  Watch watch_;  // ends before wake_ and loop_
  std::thread thread_;
};

}  // namespace dt
