// Facts about the driver of a GPU that decide how libdtrain holds streams, and the host's cost of
// calls.
//   gpu_facts costs
//   gpu_facts held none|host|value own|high|legacy ACTION      (ACTION "list" prints all)
// `held` holds a stream for a second: by a host function, by cuStreamWaitValue32 on pinned memory,
// or not at all. Meanwhile a thread makes one action, and another one queries an event and copies
// on a stream of its own. Ends with 77, and the reason, where no GPU is usable.
#include "tests/cuda/gpu_facts.cuh"

#include <dlfcn.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr double hold_us = 1e6;

// Kernels that are loaded under a hold have no other use.
__global__ void add_two(int* at) {
  *at += 2;
}
__global__ void add_three(int* at) {
  *at += 3;
}
struct Action {
  const char* name;
  std::function<void(GpuFixture&)> run;
};

/// Joins a communicator of one rank.
void join_nccl(GpuFixture&) {
  struct Id {
    char bytes[128];
  };
  const char* const path = std::getenv("DTRAIN_NCCL_LIB");
  void* const nccl = dlopen(path != nullptr ? path : "libnccl.so.2", RTLD_NOW);
  if (nccl == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  const auto make_id = reinterpret_cast<int (*)(Id*)>(dlsym(nccl, "ncclGetUniqueId"));
  const auto join =
      reinterpret_cast<int (*)(void**, int, Id, int)>(dlsym(nccl, "ncclCommInitRank"));
  Id id = {};
  void* communicator = nullptr;
  int status = make_id(&id);
  if (status == 0) status = join(&communicator, 1, id, 0);
  if (status != 0) std::printf("NCCL: status %d\n", status);
}

/// What waits for the device, by CUDA's documents or in practice. The most important ones come
/// first.
std::vector<Action> memory_actions() {
  return {
      {"nccl_init", join_nccl},
      {"malloc_1m", [](GpuFixture&) { gpu_memory(mebibyte); }},
      {"malloc_1g", [](GpuFixture&) { gpu_memory(1024 * mebibyte); }},
      {"free", [](GpuFixture& gpu) { check_cuda(cudaFree(gpu.freed_memory), "cudaFree"); }},
      {"host_alloc", [](GpuFixture&) { pinned_memory(8 * mebibyte); }},
      {"free_host",
       [](GpuFixture& gpu) { check_cuda(cudaFreeHost(gpu.freed_pinned), "cudaFreeHost"); }},
      {"malloc_async",
       [](GpuFixture& gpu) {
         void* made = nullptr;
         check_cuda(cudaMallocAsync(&made, mebibyte, gpu.stream), "cudaMallocAsync");
         wait(gpu.stream);
       }},
      {"ipc_handle",
       [](GpuFixture& gpu) {
         cudaIpcMemHandle_t handle;
         check_cuda(cudaIpcGetMemHandle(&handle, gpu.memory), "cudaIpcGetMemHandle");
       }},
      {"event_create", [](GpuFixture&) { make_event(cudaEventDisableTiming); }},
      {"stream_create", [](GpuFixture&) { make_stream(false); }},
  };
}

void copy(GpuFixture& gpu, void* to, const void* from, size_t bytes) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu.stream), "cudaMemcpyAsync");
  wait(gpu.stream);
}

/// Work on a stream that is not held.
std::vector<Action> work_actions() {
  return {
      {"first_kernel",
       [](GpuFixture& gpu) {
         add_two<<<1, 1, 0, gpu.stream>>>(gpu.number);
         wait(gpu.stream);
       }},
      {"func_attributes",
       [](GpuFixture&) {
         cudaFuncAttributes attributes;
         check_cuda(cudaFuncGetAttributes(&attributes, add_three), "cudaFuncGetAttributes");
       }},
      {"host_function",
       [](GpuFixture& gpu) {
         check_cuda(cudaLaunchHostFunc(gpu.stream, [](void*) {}, nullptr), "cudaLaunchHostFunc");
         wait(gpu.stream);
       }},
      {"kernel",
       [](GpuFixture& gpu) {
         add<<<1, 1, 0, gpu.stream>>>(gpu.number);
         wait(gpu.stream);
       }},
      {"copy_pinned", [](GpuFixture& gpu) { copy(gpu, gpu.pinned, gpu.memory, mebibyte); }},
      {"copy_pageable",
       [](GpuFixture& gpu) {
         const std::vector<char> pageable(mebibyte);
         copy(gpu, gpu.memory, pageable.data(), pageable.size());
       }},
      {"copy_sync",
       [](GpuFixture& gpu) {
         const char bytes[64] = {};
         check_cuda(cudaMemcpy(gpu.memory, bytes, sizeof bytes, cudaMemcpyHostToDevice),
                    "cudaMemcpy");
       }},
      {"forty_streams",  // one of them may share the hardware's queue of the held stream
       [](GpuFixture& gpu) {
         for (int i = 0; i < 40; ++i) {
           const cudaStream_t stream = make_stream(false);
           add<<<1, 1, 0, stream>>>(gpu.number);
           wait(stream);
         }
       }},
  };
}

std::vector<Action> all_actions() {
  std::vector<Action> all = memory_actions();
  for (const Action& action : work_actions())
    all.push_back(action);
  return all;
}

/// Makes the calls of libdtrain's driver thread until `ends`, and counts its rounds.
void stand_by(const GpuFixture& gpu, const std::atomic<bool>& ends, std::atomic<long>& rounds) {
  while (!ends) {
    (void)cudaEventQuery(gpu.reached);
    (void)cudaMemcpyAsync(gpu.pinned, gpu.memory, 4096, cudaMemcpyDefault, gpu.other);
    while (cudaStreamQuery(gpu.other) == cudaErrorNotReady) {
    }
    ++rounds;
    usleep(1000);
  }
}

struct Hold {
  std::string how;
  std::string where;
};

void measure_held(const Hold& hold, const Action& action) {
  GpuFixture gpu;
  const cudaStream_t held =
      hold.where == "legacy" ? cudaStreamLegacy : make_stream(hold.where == "high");
  if (hold.how != "none") gpu.hold(held, hold.how == "host");
  usleep(20000);
  std::atomic<bool> done = false;
  std::atomic<bool> ends = false;
  std::atomic<long> rounds = 0;
  double took_us = 0;
  const auto begin = SteadyClock::now();
  std::thread acting([&] {
    action.run(gpu);
    took_us = us_since(begin);
    done = true;
  });
  usleep(20000);
  std::thread bystander([&] { stand_by(gpu, ends, rounds); });
  while (!done && us_since(begin) < hold_us)
    usleep(1000);
  const bool waited = !done;
  const long rounds_of_hold = rounds;
  gpu.word->store(1);
  acting.join();
  ends = true;
  bystander.join();
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::printf("| %s | %s | %s | %s | %.0f us | %ld%s |\n", hold.how.c_str(), hold.where.c_str(),
              action.name, waited ? "WAITED FOR THE HOLD" : "did not wait", took_us, rounds_of_hold,
              waited && rounds_of_hold == 0 ? ", BLOCKED TOO" : "");
}

int run_held(const Hold& hold, const std::string& name) {
  for (const Action& action : all_actions()) {
    if (name != action.name) continue;
    find_gpu();
    measure_held(hold, action);
    return 0;
  }
  std::fprintf(stderr, "gpu_facts: '%s' is no action; `gpu_facts held host own list` prints all\n",
               name.c_str());
  return 2;
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  const std::string what = count >= 2 ? words[1] : "";
  if (what == "costs" && count == 2) {
    dt::find_gpu();
    dt::measure_costs();
    return 0;
  }
  if (what != "held" || count != 5) {
    std::fprintf(
        stderr,
        "usage: gpu_facts costs, or gpu_facts held none|host|value own|high|legacy ACTION\n");
    return 2;
  }
  const std::string name = words[4];
  if (name != "list") return dt::run_held({words[2], words[3]}, name);
  for (const dt::Action& action : dt::all_actions())
    std::printf("%s\n", action.name);
  return 0;
}
