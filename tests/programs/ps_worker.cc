// A worker that pushes to parameter servers, for tests. Each push adds one to each number.
//
//    ps_worker STEPS MODE COUNT [kill=INDEX:STEP] [other=INDEX] [save=PATH] [load=PATH] [size=N]
//
// MODE is async, sync or bounded. The worker `kill` ends by SIGKILL before its push of that step;
// the worker `other` declares another shape.

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain_ps.hpp>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Options {
  long steps = 0;
  dtrain::PsMode mode = dtrain::PsMode::async;
  int count = 0;
  int kill_index = -1;
  long kill_step = -1;
  int other = -1;
  std::string save;
  std::string load;
  std::size_t size = 4;
};

long number(std::string_view text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Options options_of(std::span<char*> words) {
  Options options;
  options.steps = number(words[1]);
  const std::string_view mode = words[2];
  if (mode == "sync") options.mode = dtrain::PsMode::sync;
  if (mode == "bounded") options.mode = dtrain::PsMode::bounded;
  options.count = static_cast<int>(number(words[3]));
  for (const std::string_view word : words.subspan(4)) {
    const std::string_view value = word.substr(word.find('=') + 1);
    if (word.starts_with("kill=")) {
      options.kill_index = static_cast<int>(number(value));
      options.kill_step = number(value.substr(value.find(':') + 1));
    } else if (word.starts_with("other=")) {
      options.other = static_cast<int>(number(value));
    } else if (word.starts_with("save=")) {
      options.save = value;
    } else if (word.starts_with("load=")) {
      options.load = value;
    } else if (word.starts_with("size=")) {
      options.size = static_cast<std::size_t>(number(value));
    }
  }
  return options;
}

int index_of_task() {
  const char* const index = std::getenv("DTRAIN_TASK_INDEX");
  return index == nullptr ? 0 : static_cast<int>(number(index));
}

void work(const Options& options, int index) {
  dtrain::ParameterServers ps;
  const std::size_t size = options.size + (options.other == index ? 1 : 0);
  ps.declare({{.name = "w", .shape = {size}, .learning_rate = 1}});
  if (index == 0 && !options.load.empty())
    std::printf("loaded step %lld\n", static_cast<long long>(ps.load(options.load)));
  if (index == 0) ps.set_mode(options.mode, options.count);
  ps.barrier();
  std::printf("worker %d: started\n", index);
  std::fflush(stdout);
  const std::vector<float> gradient(size, -1);
  std::vector<float> values(size);
  const std::vector<dtrain::PsArray> arrays = {
      dtrain::PsArray::push_pull<float>("w", gradient, values)};
  ps.pull(arrays);
  for (long step = 0; step < options.steps; ++step) {
    if (index == options.kill_index && step == options.kill_step) std::raise(SIGKILL);
    ps.push_pull(arrays);
  }
  ps.barrier();
  const auto step = static_cast<long long>(ps.pull(arrays));
  if (index == 0 && !options.save.empty()) ps.save(options.save);
  const dtrain_ps_statistics counts = ps.statistics();
  std::printf("worker %d: w = %.0f %.0f, step %lld, own pushes %lld, stale %lld\n", index,
              static_cast<double>(values.front()), static_cast<double>(values.back()), step,
              static_cast<long long>(counts.own_pushes), static_cast<long long>(counts.own_stale));
}

}  // namespace

int main(int argc, char** argv) {
  const int index = index_of_task();
  try {
    work(options_of(std::span(argv, static_cast<std::size_t>(argc))), index);
    return 0;
  } catch (const std::exception& error) {
    std::printf("worker %d: error: %s\n", index, error.what());
    return 1;
  }
}
