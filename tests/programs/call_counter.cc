// Counts the blocking calls that allocate memory, and those that make system calls.
//
//    call_counter ROUNDS BYTES [SECOND]
//
// A child of this process makes the calls, each of BYTES. A round is an all_reduce, a SECOND call
// and an all_gather, with names when the rank is alone. SECOND is broadcast, the default, or
// reduce_scatter. This process traces the system calls of its child. It prints "calls: 300,
// allocating: 0, entering the kernel: 0". The first rounds do not count. The exit status is 77
// where the kernel allows no tracing.
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <iostream>
#include <new>
#include <string_view>
#include <vector>

// glibc's own functions below malloc and its relatives.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* __libc_malloc(size_t bytes);
extern "C" void* __libc_calloc(size_t count, size_t bytes);
extern "C" void* __libc_realloc(void* memory, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

constexpr int warm_up_rounds = 100;
constexpr size_t rounds_max = 100'000;
constexpr size_t calls_in_round = 3;

/// Shared by the child, which makes the calls, and its tracer.
struct Counters {
  std::atomic<size_t> call = 0;  ///< 0: none of those that count
  std::atomic<bool> allocated[calls_in_round * rounds_max + 1];
  std::atomic<bool> entered_kernel[calls_in_round * rounds_max + 1];
};

/// Null until the child makes calls that count.
Counters*& counters() {
  static Counters* counters = nullptr;
  return counters;
}

void note_allocation() {
  if (counters() != nullptr) counters()->allocated[counters()->call] = true;
}

Counters& map_counters() {
  void* memory =
      mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return *new (memory) Counters;
}

struct Work {
  size_t rounds = 0;
  size_t bytes = 0;
  bool scatters = false;  ///< in the second call of each round
};

void make_calls(const Work& work) {
  const auto [rounds, bytes, scatters] = work;
  dtrain::Context world = dtrain::init();
  std::vector<int8_t> values(bytes, 1);
  std::vector<int8_t> all(bytes * static_cast<size_t>(world.size()));
  // Several ranks match named calls by messages, which need memory.
  dtrain::OpOptions options;
  if (world.size() == 1) options.name = "a name that no short string can hold";
  const auto round = [&](size_t first) {
    const auto next = [&] { counters()->call = first == 0 ? 0 : first++; };
    next();
    world.all_reduce(values, dtrain::Op::max, options);
    next();
    scatters ? world.reduce_scatter(all, values, dtrain::Op::max, options)
             : world.broadcast(values, 0, options);
    next();
    world.all_gather(values, all, options);
  };
  for (int i = 0; i < warm_up_rounds; ++i)
    round(0);
  for (size_t i = 0; i < rounds; ++i)
    round(1 + i * calls_in_round);
  counters()->call = 0;
}

[[noreturn]] void run_child(Counters& shared, const Work& work) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) < 0) _exit(77);
  std::raise(SIGSTOP);
  counters() = &shared;
  try {
    make_calls(work);
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    _exit(5);
  }
  _exit(0);
}

/// Marks the call in which the child makes each system call. Returns the child's exit status.
int trace(pid_t child, Counters& shared) {
  int status = 0;
  bool entering = true;
  for (int signal = 0;;) {
    if (waitpid(child, &status, 0) != child) return 1;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (!WIFSTOPPED(status)) return 1;
    signal = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      if (entering) shared.entered_kernel[shared.call] = true;
      entering = !entering;
    } else if (WSTOPSIG(status) == SIGSTOP) {
      ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    } else {
      signal = WSTOPSIG(status);
    }
    ptrace(PTRACE_SYSCALL, child, nullptr, static_cast<long>(signal));
  }
}

}  // namespace

extern "C" void* malloc(size_t bytes) {
  note_allocation();
  return __libc_malloc(bytes);
}
extern "C" void* calloc(size_t count, size_t bytes) {
  note_allocation();
  return __libc_calloc(count, bytes);
}
extern "C" void* realloc(void* memory, size_t bytes) {
  note_allocation();
  return __libc_realloc(memory, bytes);
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 2;
  const size_t rounds = std::strtoul(argv[1], nullptr, 10);
  const Work work{.rounds = rounds,
                  .bytes = std::strtoul(argv[2], nullptr, 10),
                  .scatters = argc == 4 && std::string_view(argv[3]) == "reduce_scatter"};
  if (rounds > rounds_max) return 2;
  Counters& shared = map_counters();
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) run_child(shared, work);
  const int status = trace(child, shared);
  if (status != 0) return status;
  const size_t calls = calls_in_round * rounds;
  size_t allocating = 0;
  size_t entering = 0;
  for (size_t call = 1; call <= calls; ++call) {
    allocating += shared.allocated[call] ? 1 : 0;
    entering += shared.entered_kernel[call] ? 1 : 0;
  }
  std::cout << "calls: " << calls << ", allocating: " << allocating
            << ", entering the kernel: " << entering << std::endl;
}
