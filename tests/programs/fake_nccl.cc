// A libnccl.so.2 for machines without GPUs: its ranks are threads of one process, and its memory is
// the host's. The variable FAKE_NCCL has settings, with blanks between them. The version that it
// claims is version=21200. With fail=FUNCTION:K, the K-th call of this function fails with an
// internal error. K counts from 1, and anew for each value of the variable. With hang=FUNCTION, a
// call is in progress until the communicator is aborted. With no_driver, no communicator can be
// made, as on a machine without NVIDIA's driver.
//
// Calls return ncclInProgress, as those of a communicator with blocking=0. A thread runs them, and
// ncclCommGetAsyncError reports success when all have run. The prototypes follow NVIDIA's
// documentation.
#include <atomic>
#include <condition_variable>
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
#include <vector>

namespace {

enum Status {
  success = 0,
  cuda_error = 1,
  internal_error = 3,
  invalid_argument = 4,
  in_progress = 7
};
enum Type { int32 = 2, int64 = 4, float32 = 7, float64 = 8 };
enum Op { sum = 0, product = 1, max = 2, min = 3 };

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

/// Counts the call. Returns true when it is the one that must fail.
bool fails(const std::string& function) {
  CallCounts& counts = call_counts();
  const std::lock_guard lock(counts.mutex);
  const char* const words = std::getenv("FAKE_NCCL");
  const int call = ++counts.calls[function + " " + (words == nullptr ? "" : words)];
  std::string value;
  return find_setting("fail", value) && value == function + ":" + std::to_string(call);
}

/// The ranks with one id.
struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int joined = 0;
  struct Round {
    std::vector<const void*> sources;
    int arrived = 0;
    int left = 0;
    std::vector<char> result;
  };
  std::map<int, Round> rounds;
};

struct Groups {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Group>> by_id;
};
Groups& groups() {
  static Groups all;
  return all;
}

template <class T>
void fold(std::vector<char>& into, const void* from, size_t count, int op) {
  auto* const to = reinterpret_cast<T*>(into.data());
  const auto* const values = static_cast<const T*>(from);
  for (size_t i = 0; i < count; ++i) {
    const T a = to[i];
    const T b = values[i];
    to[i] = op == sum       ? a + b
            : op == product ? a * b
            : op == max     ? (a > b ? a : b)
                            : (a < b ? a : b);
  }
}

size_t bytes_of(int type) {
  return type == int32 || type == float32 ? 4 : type == int64 || type == float64 ? 8 : 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,readability-function-size): NVIDIA's prototypes
struct ncclComm {
  std::shared_ptr<Group> group;
  int rank = 0;
  int rounds = 0;
  std::atomic<int> status{success};
  std::atomic<int> pending{0};
  std::atomic<bool> aborted{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<int()>> calls;
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
    ++pending;
    const std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
    changed.notify_all();
    return in_progress;
  }
  /// Waits on the group until `ready`, or an abort.
  template <class Ready>
  int wait_for(std::unique_lock<std::mutex>& lock, bool hanging, const Ready& ready) {
    group->changed.wait(lock, [&] { return aborted || (!hanging && ready()); });
    return aborted ? internal_error : success;
  }
};

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
  static std::atomic<int> count{0};
  std::memset(id->bytes, 0, sizeof id->bytes);
  const std::string text = "fake " + std::to_string(++count);
  std::memcpy(id->bytes, text.data(), text.size());
  return fails("ncclGetUniqueId") ? internal_error : success;
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
  auto* const made = new ncclComm;
  {
    Groups& all = groups();
    const std::lock_guard lock(all.mutex);
    std::shared_ptr<Group>& group = all.by_id[std::string(id.bytes, sizeof id.bytes)];
    if (group == nullptr) {
      group = std::make_shared<Group>();
      group->size = size;
    }
    made->group = group;
  }
  made->rank = rank;
  *comm = made;
  made->thread = std::thread([made] { made->run(); });
  return made->start([made] {
    Group& group = *made->group;
    std::unique_lock lock(group.mutex);
    ++group.joined;
    group.changed.notify_all();
    return made->wait_for(lock, hangs("ncclCommInitRankConfig"),
                          [&] { return group.joined == group.size; });
  });
}

int ncclCommGetAsyncError(ncclComm* comm, int* status) {
  *status = comm->status != success ? comm->status.load()
            : comm->pending > 0     ? in_progress
                                    : success;
  return success;
}

int ncclCommFinalize(ncclComm* comm) {
  return comm->start([] { return success; });
}

int ncclCommDestroy(ncclComm* comm) {
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
  {
    const std::lock_guard lock(comm->group->mutex);
    comm->aborted = true;
    comm->group->changed.notify_all();
  }
  return ncclCommDestroy(comm);
}

/// Ends the calls of this rank.
int ncclCommRevoke(ncclComm* comm, int) {
  const std::lock_guard lock(comm->group->mutex);
  comm->aborted = true;
  comm->group->changed.notify_all();
  return success;
}

int ncclCommCount(const ncclComm* comm, int* count) {
  *count = comm->group->size;
  return success;
}

int ncclCommUserRank(const ncclComm* comm, int* rank) {
  *rank = comm->rank;
  return success;
}

int ncclCommCuDevice(const ncclComm*, int* device) {
  *device = 0;
  return success;
}

int ncclGroupStart() {
  return success;
}
int ncclGroupEnd() {
  return success;
}

/// Folds in the order of ranks.
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, ncclComm* comm,
                  void*) {
  if (bytes_of(type) == 0 || op > min) return invalid_argument;
  if (fails("ncclAllReduce")) return internal_error;
  const int round_number = comm->rounds++;
  return comm->start([=] {
    Group& group = *comm->group;
    std::unique_lock lock(group.mutex);
    Group::Round& round = group.rounds[round_number];
    round.sources.resize(static_cast<size_t>(group.size));
    round.sources[static_cast<size_t>(comm->rank)] = from;
    // A call that hangs may be aborted on one rank before the last one arrives.
    if (++round.arrived == group.size && !hangs("ncclAllReduce")) {
      const auto* const first = static_cast<const char*>(round.sources[0]);
      round.result.assign(first, first + count * bytes_of(type));
      for (size_t i = 1; i < round.sources.size(); ++i) {
        if (type == int32) fold<int>(round.result, round.sources[i], count, op);
        if (type == int64) fold<long>(round.result, round.sources[i], count, op);
        if (type == float32) fold<float>(round.result, round.sources[i], count, op);
        if (type == float64) fold<double>(round.result, round.sources[i], count, op);
      }
    }
    group.changed.notify_all();
    const int result =
        comm->wait_for(lock, hangs("ncclAllReduce"), [&] { return round.arrived == group.size; });
    if (result != success) return result;
    std::memcpy(to, round.result.data(), round.result.size());
    if (++round.left == group.size) group.rounds.erase(round_number);
    return static_cast<int>(success);
  });
}

// dtrain requires these, and no test calls them here.
int ncclReduce(const void*, void*, size_t, int, int, int, ncclComm*, void*) {
  return invalid_argument;
}
int ncclBroadcast(const void*, void*, size_t, int, int, ncclComm*, void*) {
  return invalid_argument;
}
int ncclAllGather(const void*, void*, size_t, int, ncclComm*, void*) {
  return invalid_argument;
}
int ncclReduceScatter(const void*, void*, size_t, int, int, ncclComm*, void*) {
  return invalid_argument;
}
int ncclSend(const void*, size_t, int, int, ncclComm*, void*) {
  return invalid_argument;
}
int ncclRecv(void*, size_t, int, int, ncclComm*, void*) {
  return invalid_argument;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
