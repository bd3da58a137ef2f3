// A chief or a worker of a coordinator, for tests. Each closure "add" adds one to a number of the
// parameter servers, and returns its argument.
//
//    coordinator_worker CLOSURES [kill=INDEX:CLOSURE] [fail=CLOSURE] [unknown=1] [hang=1]
//
// The worker `kill` ends by SIGKILL within that closure of its own, from 1; INDEX -1 is every
// worker. The others wait for that in their first closures, by a file in the folder in which they
// run. The closure with the argument `fail` fails. With `unknown`, the chief schedules a name
// that no worker has. With `hang`, a closure never ends.

#include "tests/programs/number.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain_coordinator.hpp>
#include <dtrain/dtrain_ps.hpp>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Options {
  long closures = 0;
  long kill_index = -2;
  long kill_closure = 0;
  std::string fail;
  bool unknown = false;
  bool hang = false;
};

Options options_of(std::span<char*> words) {
  Options options;
  options.closures = number(words[1]);
  for (const std::string_view word : words.subspan(2)) {
    const std::string_view value = word.substr(word.find('=') + 1);
    if (word.starts_with("kill=")) {
      options.kill_index = number(value);
      options.kill_closure = number(value.substr(value.find(':') + 1));
    } else if (word.starts_with("fail=")) {
      options.fail = value;
    } else if (word.starts_with("unknown=")) {
      options.unknown = number(value) != 0;
    } else if (word.starts_with("hang=")) {
      options.hang = number(value) != 0;
    }
  }
  return options;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The file of a worker that kills itself.
constexpr const char* killed_file = "killed";

[[noreturn]] void die() {
  std::ofstream(killed_file) << "killed\n";
  std::raise(SIGKILL);
  std::abort();
}

void await_death() {
  while (!std::filesystem::exists(killed_file))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void declare(dtrain::ParameterServers& ps) {
  ps.declare({{.name = "count", .shape = {1}, .learning_rate = 1}});
}

void work(dtrain::ParameterServers& ps, const Options& options) {
  declare(ps);
  const long index = number(variable("DTRAIN_TASK_INDEX"));
  long run = 0;
  const auto add = [&](std::string_view argument) {
    const bool dies = options.kill_index == -1 || options.kill_index == index;
    if (++run == options.kill_closure && dies) die();
    if (options.kill_index >= 0 && !dies) await_death();
    if (options.hang) std::printf("worker %ld: hangs\n", index);
    std::fflush(stdout);
    while (options.hang)
      pause();
    if (argument == options.fail) throw std::runtime_error("it shall fail");
    const float gradient = -1;
    ps.push({dtrain::PsArray::push<float>("count", std::span(&gradient, 1))});
    return std::string(argument);
  };
  dtrain::serve_closures({{"add", add}}, {.ps = ps.get()});
  std::printf("worker %ld: served\n", index);
}

void coordinate(dtrain::ParameterServers& ps, const Options& options) {
  declare(ps);
  dtrain::Coordinator coordinator({.ps = ps.get()});
  std::vector<dtrain::ScheduledClosure> closures;
  for (long i = 0; i < options.closures; ++i)
    closures.push_back(
        coordinator.schedule(options.unknown ? "subtract" : "add", std::to_string(i)));
  coordinator.join();
  long right = 0;
  for (long i = 0; i < options.closures; ++i)
    right += coordinator.fetch(closures[static_cast<std::size_t>(i)]) == std::to_string(i) ? 1 : 0;
  float count = 0;
  ps.pull({dtrain::PsArray::pull<float>("count", std::span(&count, 1))});
  std::printf("chief: %ld right results, %s\n", right,
              count == static_cast<float>(options.closures)  ? "each ran once"
              : count > static_cast<float>(options.closures) ? "some ran twice"
                                                             : "some did not run");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = variable("DTRAIN_ROLE");
  try {
    const Options options = options_of(std::span(argv, static_cast<std::size_t>(argc)));
    dtrain::ParameterServers ps;
    if (role == "chief") {
      coordinate(ps, options);
    } else {
      work(ps, options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::printf("%s: error: %s\n", role.c_str(), error.what());
    return 1;
  }
}
