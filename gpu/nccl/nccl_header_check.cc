// Compares nccl_types.h with the nccl.h of this build. It has no code.
#include "gpu/nccl/nccl_header_check.h"

#include "gpu/nccl/nccl_types.h"

#include <nccl.h>

#include <cstddef>

namespace dt {

namespace {

using F = NcclFunctions;
static_assert(same_function(&F::get_version, &ncclGetVersion));
static_assert(same_function(&F::get_unique_id, &ncclGetUniqueId));
static_assert(same_function(&F::error_string, &ncclGetErrorString));
static_assert(same_function(&F::last_error, &ncclGetLastError));
static_assert(same_function(&F::comm_init, &ncclCommInitRankConfig));
static_assert(same_function(&F::comm_destroy, &ncclCommDestroy));
static_assert(same_function(&F::comm_abort, &ncclCommAbort));
static_assert(same_function(&F::comm_async_error, &ncclCommGetAsyncError));
static_assert(same_function(&F::group_start, &ncclGroupStart));
static_assert(same_function(&F::group_end, &ncclGroupEnd));
static_assert(same_function(&F::all_reduce, &ncclAllReduce));
static_assert(same_function(&F::reduce, &ncclReduce));
static_assert(same_function(&F::broadcast, &ncclBroadcast));
static_assert(same_function(&F::all_gather, &ncclAllGather));
static_assert(same_function(&F::reduce_scatter, &ncclReduceScatter));
static_assert(same_function(&F::send, &ncclSend));
static_assert(same_function(&F::receive, &ncclRecv));

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(NCCL_CONFIG_UNDEF_INT == NcclConfig::undefined);
// A newer header may append fields; it has the ones that we know in their places.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(NcclConfig, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, comm_name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(NcclConfig, nvlink_centric_sched) ==
              offsetof(ncclConfig_t, nvlinkCentricSched));

template <class Ours, class Theirs>
constexpr bool same_number(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same_number(NcclStatus::unhandled_cuda_error, ncclUnhandledCudaError));
static_assert(same_number(NcclStatus::system_error, ncclSystemError));
static_assert(same_number(NcclStatus::internal_error, ncclInternalError));
static_assert(same_number(NcclStatus::invalid_argument, ncclInvalidArgument));
static_assert(same_number(NcclStatus::invalid_usage, ncclInvalidUsage));
static_assert(same_number(NcclStatus::remote_error, ncclRemoteError));
static_assert(same_number(NcclStatus::in_progress, ncclInProgress));
static_assert(same_number(NcclType::int8, ncclInt8));
static_assert(same_number(NcclType::uint8, ncclUint8));
static_assert(same_number(NcclType::int32, ncclInt32));
static_assert(same_number(NcclType::uint32, ncclUint32));
static_assert(same_number(NcclType::int64, ncclInt64));
static_assert(same_number(NcclType::uint64, ncclUint64));
static_assert(same_number(NcclType::float16, ncclFloat16));
static_assert(same_number(NcclType::float32, ncclFloat32));
static_assert(same_number(NcclType::float64, ncclFloat64));
static_assert(same_number(NcclType::bfloat16, ncclBfloat16));
static_assert(same_number(NcclType::float8_e4m3, ncclFloat8e4m3));
static_assert(same_number(NcclType::float8_e5m2, ncclFloat8e5m2));
static_assert(same_number(NcclOp::sum, ncclSum));
static_assert(same_number(NcclOp::product, ncclProd));
static_assert(same_number(NcclOp::max, ncclMax));
static_assert(same_number(NcclOp::min, ncclMin));
static_assert(same_number(NcclOp::average, ncclAvg));

}  // namespace

}  // namespace dt
