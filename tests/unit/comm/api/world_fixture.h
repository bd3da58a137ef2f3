#pragma once

#include "comm/include/dtrain/dtrain.hpp"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace dt {

/// The outcome of a rank's calls.
struct RankOutcome {
  int code = DTRAIN_OK;
  int rank = -1;  ///< blamed
  std::string text;
};

/// N ranks as threads of this process, each with its own context, and their rendezvous.
class World {
 public:
  struct Options {
    int size = 4;
    int per_host = 4;  ///< how many ranks share a "host"
    dtrain::Transport transport = dtrain::Transport::automatic;
    std::chrono::milliseconds timeout = std::chrono::seconds(30);
    std::chrono::milliseconds dead_after = std::chrono::seconds(5);
    std::string job_transport = {};
    std::string algorithms = {};
    Duration stall_after = {};
  };
  explicit World(Options options)
      : options_(options),
        server_(table_of_workers(options.size, options.per_host),
                {.engine = {.transport = options.job_transport,
                            .algorithms = options.algorithms,
                            .stall_after = options.stall_after}}) {}

  RendezvousFixture& server() { return server_; }
  dtrain::InitOptions init_options(int rank) const {
    return {.role = "worker",
            .task_index = rank,
            .rendezvous = server_.address().text(),
            .token = server_.token().text(),
            .job = server_.table().job,
            .generation = server_.table().generation,
            .transport = options_.transport,
            .timeout = options_.timeout,
            .dead_after = options_.dead_after};
  }

  /// Begins the generation of this table, whose ranks the next run has.
  void begin_generation(const TaskTable& table) {
    options_.size = table.world_size();
    server_.set_table(table);
  }

  /// Runs `body` on every rank after init, each on a thread. Its exception is the rank's outcome.
  std::vector<RankOutcome> run(const std::function<void(dtrain::Context&)>& body) {
    return on_threads([&](int rank) {
      dtrain::Context world = dtrain::init(init_options(rank));
      body(world);
    });
  }
  /// The same without init.
  std::vector<RankOutcome> on_threads(const std::function<void(int)>& body) {
    std::vector<RankOutcome> outcomes(static_cast<size_t>(options_.size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < options_.size; ++rank)
      threads.emplace_back(
          [&, rank] { outcomes[static_cast<size_t>(rank)] = outcome_of([&] { body(rank); }); });
    for (std::thread& thread : threads)
      thread.join();
    return outcomes;
  }
  static RankOutcome outcome_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const dtrain::Error& error) {
      return {error.code(), error.rank(), error.what()};
    } catch (const std::exception& error) {
      return {-100, -1, error.what()};
    }
    return {};
  }

 private:
  Options options_;
  RendezvousFixture server_;
};

inline void check_all_well(const std::vector<RankOutcome>& outcomes) {
  for (const RankOutcome& outcome : outcomes)
    CHECK_MESSAGE(outcome.code == DTRAIN_OK, outcome.text);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline dtrain_error new_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  return error;
}

/// A context without network, freed at the end.
struct Alone {
  Alone() { REQUIRE(context != nullptr); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() { dtrain_finalize(context); }
  dtrain_context* context = dtrain_init(nullptr, nullptr);
};

}  // namespace dt
