#include "rendezvous/secure/channel.h"
#include "rendezvous/secure/dial.h"
#include "tests/unit/rendezvous/fixture.h"

#include <benchmark/benchmark.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// A joined task that does not wait for its replies.
class PipelinedTask {
 public:
  PipelinedTask(const RendezvousFixture& server, int index)
      : PipelinedTask(must(dial(server.address(), server.claim({"worker", index}),
                                {std::string(launcher_role), 0}, seconds(5), soon())),
                      server.table().generation) {
    while (!welcomed_)
      read_replies();
  }

  void queue(const Request& request) {
    channel_.send(out_, ChannelMessageType::request, ++last_id_, encode(request));
  }
  void send() {
    while (!out_.empty()) {
      const ssize_t n = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL);
      if (n > 0) out_.erase(out_.begin(), out_.begin() + n);
      if (n < 0) must(await_readiness(fd(), POLLOUT, soon()));
    }
  }
  /// Waits for bytes and returns how many replies were among them.
  int64_t read_replies() {
    if (!must(await_readiness(fd(), POLLIN, soon()))) throw std::runtime_error("no reply");
    std::byte buffer[65536];
    const ssize_t n = ::recv(fd(), buffer, sizeof buffer, 0);
    if (n <= 0) throw std::runtime_error("the server hung up");
    in_.insert(in_.end(), buffer, buffer + n);
    int64_t replies = 0;
    size_t used = 0;
    while (true) {
      size_t taken = 0;
      const auto message = must(channel_.receive(ByteSpan(in_).subspan(used), &taken));
      used += taken;
      if (!message) break;
      if (message->type == ChannelMessageType::welcome) welcomed_ = true;
      if (message->type == ChannelMessageType::reply) ++replies;
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(used));
    return replies;
  }
  int fd() const { return connection_.get(); }

 private:
  PipelinedTask(Dialed dialed, uint32_t generation)
      : connection_(std::move(dialed.connection)),
        channel_(std::move(dialed.session), generation, answer_bytes_max) {}

  Fd connection_;
  Channel channel_;
  bool welcomed_ = false;
  uint32_t last_id_ = 0;
  Bytes in_;
  Bytes out_;
};

constexpr int tasks_max = 1000;
constexpr std::string_view bench_value = "127.0.0.1:34567 and a few more bytes, 48 in all ..";

void blocking_requests(benchmark::State& state, bool set) {
  static std::unique_ptr<RendezvousFixture> server;
  if (state.thread_index() == 0) server = std::make_unique<RendezvousFixture>(table_of_workers(16));
  std::unique_ptr<RendezvousClient> client;
  const std::string key = "key/" + std::to_string(state.thread_index());
  while (state.KeepRunning()) {
    // Thread 0 has made the server before any thread passes the start of this loop.
    if (!client) client = server->join_worker(state.thread_index());
    if (set) {
      must(client->set(key, as_bytes(bench_value), soon()));
    } else {
      must(client->get(key, soon()));
    }
  }
  state.SetItemsProcessed(state.iterations());
  client.reset();
  if (state.thread_index() == 0) server.reset();
}

void blocking_sets(benchmark::State& state) {
  blocking_requests(state, true);
}
void blocking_gets(benchmark::State& state) {
  blocking_requests(state, false);
}
BENCHMARK(blocking_sets)->Threads(1)->Threads(4)->UseRealTime();
BENCHMARK(blocking_gets)->Threads(1)->Threads(4)->UseRealTime();

/// Half sets, half gets, `range(0)` under way at once.
void pipelined_requests(benchmark::State& state) {
  const RendezvousFixture server(table_of_workers(1));
  PipelinedTask task(server, 0);
  const int64_t window = state.range(0);
  const Request set = SetRequest{"key", to_bytes(bench_value), Lifetime::job};
  const Request get = GetRequest{"key"};
  while (state.KeepRunning()) {
    for (int64_t i = 0; i < window; ++i)
      task.queue(i % 2 == 0 ? set : get);
    task.send();
    for (int64_t left = window; left > 0;)
      left -= task.read_replies();
  }
  state.SetItemsProcessed(state.iterations() * window);
}
BENCHMARK(pipelined_requests)->Arg(16)->Arg(256)->UseRealTime();

/// How long it takes from a set until 1,000 tasks that wait for the key have their reply.
void key_for_1000(benchmark::State& state) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  RendezvousFixture server(table_of_workers(tasks_max, 8));
  std::vector<std::unique_ptr<PipelinedTask>> tasks;
  const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  const Time joining = Clock::now();
  for (int i = 0; i < tasks_max; ++i) {
    tasks.push_back(std::make_unique<PipelinedTask>(server, i));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = static_cast<uint64_t>(i)}};
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, tasks.back()->fd(), &event);
  }
  state.counters["join_s"] = std::chrono::duration<double>(Clock::now() - joining).count();
  uint64_t arrived = 0;
  while (state.KeepRunning()) {
    const std::string key = "key/" + std::to_string(arrived);
    for (const auto& task : tasks)
      task->queue(WaitRequest{key, seconds(30)});
    for (const auto& task : tasks)
      task->send();
    arrived += tasks_max;
    server.until([&](const auto& counters) { return counters.requests >= arrived; });
    tasks[0]->queue(SetRequest{key, to_bytes(bench_value), Lifetime::job});
    ++arrived;
    const Time last = Clock::now();
    tasks[0]->send();
    for (int64_t left = tasks_max + 1; left > 0;) {
      epoll_event events[256];
      const int n = epoll_wait(epoll.get(), events, 256, 10'000);
      if (n <= 0) throw std::runtime_error("not all were told");
      for (int i = 0; i < n; ++i)
        left -= tasks[events[i].data.u64]->read_replies();
    }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - last).count());
  }
}
BENCHMARK(key_for_1000)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace
}  // namespace dt
