#pragma once

#include "comm/training/ps/client.h"
#include "comm/training/ps/server.h"
#include "tests/unit/comm/training/ps/state/tensors.h"
#include "tests/unit/rendezvous/fixture.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace dt {

/// Workers with ranks, so many on each host, and parameter servers without. Each of these has a
/// host of its own, or all are on the first host of workers.
inline TaskTable table_with_servers(int workers, int servers, int per_host = 1,
                                    bool one_host = false) {
  TaskTable table = table_of_workers(workers, per_host);
  for (int i = 0; i < servers; ++i) {
    table.tasks.push_back({.id = {"ps", i},
                           .agent = one_host ? 0 : 100 + i,
                           .host = "store" + std::to_string(i),
                           .addresses = {"127.0.0.1"}});
  }
  return table;
}

/// Parameter servers on threads of this process, until this object ends. A call of stop() ends one
/// as a departure or a death does.
class PsJob {
 public:
  enum class Network { tcp, encrypted, one_host };
  struct Options {
    int workers = 2;
    int servers = 1;
    int per_host = 1;  ///< workers; with one_host, all are on one
    PsServer::Options server = {};
    Network network = Network::tcp;
  };
  explicit PsJob(Options options)
      : options_(std::move(options)),
        rendezvous_(table_of(options_), {.engine = {.encrypt_data = encrypts()}}),
        outcomes_(static_cast<size_t>(options_.servers)) {
    for (int i = 0; i < options_.servers; ++i)
      stops_.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    for (int i = 0; i < options_.servers; ++i)
      threads_.emplace_back([this, i] { serve(i); });
  }
  PsJob(const PsJob&) = delete;
  PsJob& operator=(const PsJob&) = delete;
  ~PsJob() {
    for (int i = 0; i < options_.servers; ++i)
      stop(i);
  }

  RendezvousFixture& rendezvous() { return rendezvous_; }
  Claim claim(const TaskId& task) const {
    Claim claim = rendezvous_.claim(task);
    claim.encrypt_data = encrypts();
    return claim;
  }
  /// Ends a server. Its connections close.
  void stop(int server) {
    const uint64_t one = 1;
    const auto at = static_cast<size_t>(server);
    static_cast<void>(!::write(stops_[at].get(), &one, sizeof one));
    if (threads_[at].joinable()) threads_[at].join();
  }
  /// Ends a server, and reports its death as the launcher does.
  void kill(int server) {
    stop(server);
    rendezvous_.notify({Notice::Kind::dead, {"ps", server}, "killed by SIGKILL"});
  }
  /// Waits for the end of a server that ends by itself.
  std::string outcome(int server) {
    threads_[static_cast<size_t>(server)].join();
    return outcomes_[static_cast<size_t>(server)];
  }

  /// A worker's connections to the servers.
  struct Worker {
    std::unique_ptr<PsClient> ps;
  };
  std::unique_ptr<RendezvousView> view(int index) const {
    return std::make_unique<ClientRendezvousView>(rendezvous_.join_worker(index));
  }
  Worker join(int index) {
    PsClient::Options options{.links = {.claim = claim({"worker", index}),
                                        .copies = options_.server.copies,
                                        .shares_memory = options_.network == Network::one_host}};
    return {must(PsClient::connect(view(index), std::move(options), soon()))};
  }
  /// Runs `body` for each worker on a thread. Returns the text of the first exception.
  std::string run(const std::function<void(int index, PsClient& ps)>& body) {
    std::vector<std::string> failures(static_cast<size_t>(options_.workers));
    std::vector<std::thread> threads;
    for (int index = 0; index < options_.workers; ++index) {
      threads.emplace_back([&, index] {
        try {
          const Worker worker = join(index);
          body(index, *worker.ps);
        } catch (const std::exception& failure) {
          failures[static_cast<size_t>(index)] = failure.what();
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& failure : failures)
      if (!failure.empty()) return failure;
    return {};
  }

 private:
  static TaskTable table_of(const Options& options) {
    const bool one_host = options.network == Network::one_host;
    return table_with_servers(options.workers, options.servers,
                              one_host ? options.workers : options.per_host, one_host);
  }
  bool encrypts() const { return options_.network == Network::encrypted; }
  void serve(int index) {
    const TaskId self{"ps", index};
    const auto client = rendezvous_.join(self);
    PsServer::Options options = options_.server;
    options.claim = claim(self);
    options.stop_fd = stops_[static_cast<size_t>(index)].get();
    const auto server = PsServer::start(*client, std::move(options), soon());
    const Result<> served = server ? (*server)->run() : tl::unexpected(server.error());
    if (!served) outcomes_[static_cast<size_t>(index)] = served.error().message;
  }

  Options options_;
  RendezvousFixture rendezvous_;
  std::vector<std::string> outcomes_;
  std::vector<Fd> stops_;
  std::vector<std::thread> threads_;
};

/// A variable of float32 with its values.
struct NamedValues {
  NamedValues(std::string name, const std::vector<float>& values)
      : variable(plain_variable(std::move(name), {values.size()})), initial(bytes_of(values)) {}
  VariableSpec variable;
  Bytes initial;
  PsClient::Declaration declaration() const { return {variable, initial}; }
};

inline void declare(PsClient& ps, const NamedValues& values) {
  const PsClient::Declaration declared = values.declaration();
  must(ps.declare({&declared, 1}));
}

inline std::vector<float> pull(PsClient& ps, std::string_view name, size_t count) {
  std::vector<float> values(count);
  const PsClient::Array array{.name = name, .values = std::as_writable_bytes(std::span(values))};
  must(ps.pull({&array, 1}));
  return values;
}

inline PsClient::Pushed push(PsClient& ps, std::string_view name,
                             const std::vector<float>& gradient) {
  std::vector<float> values(gradient.size());
  const PsClient::Array array{.name = name,
                              .gradient = std::as_bytes(std::span(gradient)),
                              .values = std::as_writable_bytes(std::span(values))};
  return must(ps.push({&array, 1}, true, {}));
}

}  // namespace dt
