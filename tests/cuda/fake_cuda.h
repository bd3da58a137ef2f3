#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// A launch that the fake has run.
struct FakeLaunch {
  unsigned blocks = 0;
  unsigned threads = 0;
  int device = 0;
};

/// The world of the fake CUDA runtime (fake_cuda.cc): GPUs whose memory is the host's. Calls on a
/// stream run when somebody asks for their end.
struct FakeCuda {
  int device_count = 2;
  bool peer_access = true;
  size_t memory_bytes = size_t{1} << 20;  ///< of each device
  int driver_version = 13000;
  std::map<std::string, int> failures = {};  ///< the status of each call of this function
  /// The status of all calls once a launch has run, as after a kernel with a bad address; 0: none.
  int launch_failure = 0;
  /// False: no call on a stream runs, as while a kernel waits.
  bool runs = true;
  int resident_blocks = 4;  ///< blocks of a kernel that fit on a multiprocessor
  bool captures = false;    ///< the program captures its streams into a graph

  int current = 0;               ///< the device of the thread, until a context is pushed
  std::vector<int> pushed = {};  ///< devices whose contexts the thread has pushed
  std::set<int> contexts = {};   ///< devices on which the process has made a context
  bool relaxed = false;          ///< the thread's calls break no capture
  bool not_ready_stays = false;  ///< as the thread's last error
  std::vector<std::string> strict_calls = {};  ///< that might have broken one
  std::vector<FakeLaunch> launches = {};
  std::set<const void*> pooled = {};  ///< memory that lies in pools
  std::set<const void*> loaded = {};  ///< kernels, before their first launch
  int live_allocations = 0;
  int live_opened = 0;  ///< memory of other processes
  int live_streams = 0;
  int live_events = 0;
};

/// The world of this program. Tests begin with a new one.
FakeCuda& fake_cuda();
/// Makes a new world.
FakeCuda& new_fake_cuda();

}  // namespace dt
