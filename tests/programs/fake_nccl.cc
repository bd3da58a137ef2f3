// A libnccl.so.2 for machines without GPUs. Its ranks are threads and processes of one host, and
// its memory is the host's. A hub moves the elements (fake_nccl_hub.h). Calls run at once, whatever
// their stream has before them.
//
// The variable FAKE_NCCL has settings, with blanks between them. The version that it claims is
// version=21200. With fail=FUNCTION:K, the K-th call of this function fails with an internal error;
// with die=FUNCTION:K, it kills the process. K counts from 1, and anew for each value of the
// variable. With hang=FUNCTION, a call is in progress until the communicator is aborted. With
// abort_waits_for=FILE, an abort ends when the file is there. With no_driver, no communicator can
// be made, as on a machine without NVIDIA's driver.
//
// Calls return ncclInProgress, as those of a communicator with blocking=0. A thread runs them, and
// ncclCommGetAsyncError reports success when all have run. The prototypes follow NVIDIA's
// documentation.
#include "tests/programs/fake_nccl_hub.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

struct ncclComm;  // NOLINT(readability-identifier-naming): NVIDIA's name

namespace {

using namespace fake_nccl;

/// Returns false when FAKE_NCCL has no such setting. One without "=" has the value "".
bool find_setting(const std::string& name, std::string& value) {
  const char* const words = std::getenv("FAKE_NCCL");
  std::istringstream stream(words == nullptr ? "" : words);
  for (std::string word; stream >> word;) {
    if (word.substr(0, word.find('=')) != name) continue;
    value = word.find('=') == std::string::npos ? "" : word.substr(word.find('=') + 1);
    return true;
  }
  return false;
}

bool hangs(const std::string& function) {
  std::string value;
  return find_setting("hang", value) && value == function;
}

struct CallCounts {
  std::mutex mutex;
  std::map<std::string, int> calls;
};
CallCounts& call_counts() {
  static CallCounts counts;
  return counts;
}

/// Counts the call. Returns true when it must fail. Kills the process when it must die.
bool fails(const std::string& function) {
  CallCounts& counts = call_counts();
  const std::lock_guard lock(counts.mutex);
  const char* const words = std::getenv("FAKE_NCCL");
  const int call = ++counts.calls[function + " " + (words == nullptr ? "" : words)];
  const std::string chosen = function + ":" + std::to_string(call);
  std::string value;
  if (find_setting("die", value) && value == chosen) static_cast<void>(std::raise(SIGKILL));
  return find_setting("fail", value) && value == chosen;
}

/// The groups of the threads. ThreadSanitizer takes the memory of a thread_local variable for a
/// data race, if its library is loaded at run time.
class Groups {
 public:
  void start() {
    const std::lock_guard lock(mutex_);
    mine().open = true;
    mine().has_calls = false;
  }
  /// Returns true when the group has calls.
  bool end() {
    const std::lock_guard lock(mutex_);
    mine().open = false;
    return mine().has_calls;
  }
  /// Notes a call. Returns false for one outside a group while another communicator of this thread
  /// has such a call in progress. NVIDIA's guide forbids that.
  bool note_call(ncclComm* comm) {
    const std::lock_guard lock(mutex_);
    mine().has_calls = true;
    if (mine().open) return true;
    const ncclComm* const before = std::exchange(mine().alone, comm);
    return before == nullptr || before == comm || !in_progress_of(*before);
  }
  void forget(const ncclComm* comm) {
    const std::lock_guard lock(mutex_);
    for (auto& [thread, group] : threads_)
      if (group.alone == comm) group.alone = nullptr;
  }

 private:
  struct Group {
    bool open = false;
    bool has_calls = false;
    ncclComm* alone = nullptr;  ///< of the last call outside a group
  };
  static bool in_progress_of(const ncclComm& comm);
  Group& mine() { return threads_[std::this_thread::get_id()]; }

  std::mutex mutex_;
  std::map<std::thread::id, Group> threads_;
};
Groups& groups() {
  static Groups all;
  return all;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,readability-function-size): NVIDIA's prototypes
struct ncclComm {
  explicit ncclComm(uint16_t port) : hub(port) {}
  Rank hub;
  int rank = 0;
  int size = 1;
  std::atomic<int> status{success};
  std::atomic<int> pending{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<int()>> calls;
  bool aborted = false;
  bool ended = false;
  std::thread thread;

  void run() {
    for (;;) {
      std::function<int()> call;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ended || !calls.empty(); });
        if (calls.empty()) return;
        call = std::move(calls.front());
        calls.pop_front();
      }
      const int result = call();
      if (result != success) status = result;
      --pending;
    }
  }
  int start(std::function<int()> call) {
    if (!groups().note_call(this)) return invalid_usage;
    ++pending;
    const std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
    changed.notify_all();
    return in_progress;
  }
  /// Starts a call whose `sent` elements it gives to the hub. The result goes to `to`.
  int start(const char* function, const Call& call, const void* from, size_t sent, void* to) {
    const size_t bytes = bytes_of(call.type);
    if (bytes == 0 || !has_operation(call)) return invalid_argument;
    if (fails(function)) return internal_error;
    const bool hanging = hangs(function);
    return start([this, call, from, sent = sent * bytes, to, hanging] {
      if (hanging) return wait_for_abort();
      Bytes elements(sent);
      if (sent > 0) std::memcpy(elements.data(), from, sent);
      Bytes result;
      const int outcome = hub.run(call, elements, result);
      if (outcome == success && !result.empty()) std::memcpy(to, result.data(), result.size());
      return outcome;
    });
  }
  int wait_for_abort() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return aborted; });
    return static_cast<int>(internal_error);
  }
  void abort() {
    const std::lock_guard lock(mutex);
    aborted = true;
    hub.close_early();
    changed.notify_all();
  }
};

bool Groups::in_progress_of(const ncclComm& comm) {
  return comm.pending > 0;
}

extern "C" {

struct ncclUniqueId {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  std::string value;
  *version = find_setting("version", value) ? std::atoi(value.c_str()) : 22809;
  return success;
}

int ncclGetUniqueId(ncclUniqueId* id) {
  if (fails("ncclGetUniqueId")) return internal_error;
  std::memset(id->bytes, 0, sizeof id->bytes);
  const int port = start_hub();
  std::snprintf(id->bytes, sizeof id->bytes, "fake %d", port);
  return port == 0 ? internal_error : success;
}

const char* ncclGetErrorString(int status) {
  switch (status) {
    case success:
      return "no error";
    case cuda_error:
      return "unhandled cuda error";
    case internal_error:
      return "internal error";
    case invalid_argument:
      return "invalid argument";
    case invalid_usage:
      return "invalid usage";
    case remote_error:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm*) {
  std::string value;
  return find_setting("no_driver", value) ? "CUDA driver version is insufficient" : "";
}

int ncclCommInitRankConfig(ncclComm** comm, int size, ncclUniqueId id, int rank, void*) {
  std::string value;
  if (find_setting("no_driver", value)) return cuda_error;
  if (size < 1 || rank < 0 || rank >= size) return invalid_argument;
  if (fails("ncclCommInitRankConfig")) return internal_error;
  int port = 0;
  if (std::sscanf(id.bytes, "fake %d", &port) != 1) return invalid_argument;
  auto* const made = new ncclComm(static_cast<uint16_t>(port));
  made->rank = rank;
  made->size = size;
  *comm = made;
  made->thread = std::thread([made] { made->run(); });
  const bool hanging = hangs("ncclCommInitRankConfig");
  return made->start([made, hanging] {
    if (hanging) return made->wait_for_abort();
    Bytes none;
    const auto ranks = static_cast<uint64_t>(made->size);
    return made->hub.run({.kind = Kind::join, .peer = made->rank, .count = ranks}, {}, none);
  });
}

int ncclCommGetAsyncError(ncclComm* comm, int* status) {
  *status = comm->status != success ? comm->status.load()
            : comm->pending > 0     ? in_progress
                                    : success;
  return success;
}

int ncclCommDestroy(ncclComm* comm) {
  if (hangs("ncclCommDestroy")) std::this_thread::sleep_for(std::chrono::hours(1));
  groups().forget(comm);
  {
    const std::lock_guard lock(comm->mutex);
    comm->ended = true;
    comm->changed.notify_all();
  }
  comm->thread.join();
  delete comm;
  return success;
}

int ncclCommAbort(ncclComm* comm) {
  if (hangs("ncclCommAbort")) std::this_thread::sleep_for(std::chrono::hours(1));
  std::string value;
  while (find_setting("abort_waits_for", value) && access(value.c_str(), F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  comm->abort();
  return ncclCommDestroy(comm);
}

int ncclGroupStart() {
  groups().start();
  return fails("ncclGroupStart") ? internal_error : success;
}
int ncclGroupEnd() {
  const bool has_calls = groups().end();
  if (fails("ncclGroupEnd")) return internal_error;
  return has_calls ? in_progress : success;
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, ncclComm* comm,
                  void*) {
  const Call call = {.kind = Kind::all_reduce, .type = type, .op = op, .count = count};
  return comm->start("ncclAllReduce", call, from, count, to);
}

int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, ncclComm* comm,
               void*) {
  const Call call = {.kind = Kind::reduce, .peer = root, .type = type, .op = op, .count = count};
  return comm->start("ncclReduce", call, from, count, to);
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm* comm,
                  void*) {
  const Call call = {.kind = Kind::broadcast, .peer = root, .type = type, .count = count};
  return comm->start("ncclBroadcast", call, from, comm->rank == root ? count : 0, to);
}

int ncclAllGather(const void* from, void* to, size_t count, int type, ncclComm* comm, void*) {
  const Call call = {.kind = Kind::all_gather, .type = type, .count = count};
  return comm->start("ncclAllGather", call, from, count, to);
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, ncclComm* comm,
                      void*) {
  const Call call = {.kind = Kind::reduce_scatter, .type = type, .op = op, .count = count};
  return comm->start("ncclReduceScatter", call, from, count * static_cast<size_t>(comm->size), to);
}

int ncclSend(const void* from, size_t count, int type, int peer, ncclComm* comm, void*) {
  const Call call = {.kind = Kind::send, .peer = peer, .type = type, .count = count};
  return comm->start("ncclSend", call, from, count, nullptr);
}

int ncclRecv(void* to, size_t count, int type, int peer, ncclComm* comm, void*) {
  const Call call = {.kind = Kind::receive, .peer = peer, .type = type, .count = count};
  return comm->start("ncclRecv", call, nullptr, 0, to);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
