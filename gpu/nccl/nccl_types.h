#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace dt {

// NCCL's ABI in types of our own, so that builds need no nccl.h. Where a build has nccl.h,
// nccl_header_check.cc compares the types with it.

using NcclComm = void*;    ///< ncclComm_t
using NcclWindow = void*;  ///< ncclWindow_t
using CudaStreamHandle = void*;

/// ncclUniqueId: one rank makes it, and all ranks of a communicator get it.
struct NcclUniqueId {
  char bytes[128] = {};
};

/// ncclResult_t
enum class NcclStatus : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

/// ncclDataType_t
enum class NcclType : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8_e4m3 = 10,
  float8_e5m2 = 11,
};

/// ncclRedOp_t
enum class NcclOp : int { sum = 0, product = 1, max = 2, min = 3, average = 4 };

/// ncclConfig_t of NCCL 2.28. A library copies min(size, its own size) bytes, and sets fields that
/// are newer than `version` to its defaults. So this struct suits all libraries since 2.14.
struct NcclConfig {
  static constexpr int undefined = std::numeric_limits<int>::min();

  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeefU;
  unsigned version = 22809;
  int blocking = undefined;
  int cga_cluster_size = undefined;
  int min_ctas = undefined;
  int max_ctas = undefined;
  const char* net_name = nullptr;
  int split_share = undefined;
  int traffic_class = undefined;
  const char* comm_name = nullptr;
  int collnet_enable = undefined;
  int cta_policy = undefined;
  int shrink_share = undefined;
  int nvls_ctas = undefined;
  int channels_per_net_peer = undefined;
  int nvlink_centric_sched = undefined;
};

/// The functions that dtrain calls. Every library since 2.14.3 has all of them.
struct NcclFunctions {
  NcclStatus (*get_version)(int*) = nullptr;
  NcclStatus (*get_unique_id)(NcclUniqueId*) = nullptr;
  const char* (*error_string)(NcclStatus) = nullptr;
  const char* (*last_error)(NcclComm) = nullptr;
  NcclStatus (*comm_init)(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*) = nullptr;
  NcclStatus (*comm_destroy)(NcclComm) = nullptr;
  NcclStatus (*comm_abort)(NcclComm) = nullptr;
  NcclStatus (*comm_async_error)(NcclComm, NcclStatus*) = nullptr;
  NcclStatus (*group_start)() = nullptr;
  NcclStatus (*group_end)() = nullptr;
  NcclStatus (*all_reduce)(const void* from, void* to, size_t count, NcclType, NcclOp, NcclComm,
                           CudaStreamHandle) = nullptr;
  NcclStatus (*reduce)(const void* from, void* to, size_t count, NcclType, NcclOp, int root,
                       NcclComm, CudaStreamHandle) = nullptr;
  NcclStatus (*broadcast)(const void* from, void* to, size_t count, NcclType, int root, NcclComm,
                          CudaStreamHandle) = nullptr;
  NcclStatus (*all_gather)(const void* from, void* to, size_t sent, NcclType, NcclComm,
                           CudaStreamHandle) = nullptr;
  NcclStatus (*reduce_scatter)(const void* from, void* to, size_t received, NcclType, NcclOp,
                               NcclComm, CudaStreamHandle) = nullptr;
  NcclStatus (*send)(const void* from, size_t count, NcclType, int peer, NcclComm,
                     CudaStreamHandle) = nullptr;
  NcclStatus (*receive)(void* to, size_t count, NcclType, int peer, NcclComm,
                        CudaStreamHandle) = nullptr;
};

}  // namespace dt
