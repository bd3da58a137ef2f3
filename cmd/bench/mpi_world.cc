#include "cmd/bench/mpi_world.h"

#include "base/format.h"
#include "cmd/bench/bench_type.h"
#include "comm/include/dtrain/dtrain.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <span>
#include <utility>

namespace dt {
namespace {

constexpr const char* mpi_library = "libmpi.so.40";

/// A constant of libdtrain, and the variable in Open MPI that stands for the same.
struct MpiName {
  int number = 0;
  std::string_view name;  ///< in bench_type.h
  const char* variable = nullptr;
};

constexpr std::array mpi_types = {MpiName{DTRAIN_FLOAT32, "float32", "ompi_mpi_float"},
                                  MpiName{DTRAIN_FLOAT64, "float64", "ompi_mpi_double"},
                                  MpiName{DTRAIN_INT8, "int8", "ompi_mpi_int8_t"},
                                  MpiName{DTRAIN_UINT8, "uint8", "ompi_mpi_uint8_t"},
                                  MpiName{DTRAIN_INT16, "int16", "ompi_mpi_int16_t"},
                                  MpiName{DTRAIN_UINT16, "uint16", "ompi_mpi_uint16_t"},
                                  MpiName{DTRAIN_INT32, "int32", "ompi_mpi_int32_t"},
                                  MpiName{DTRAIN_UINT32, "uint32", "ompi_mpi_uint32_t"},
                                  MpiName{DTRAIN_INT64, "int64", "ompi_mpi_int64_t"},
                                  MpiName{DTRAIN_UINT64, "uint64", "ompi_mpi_uint64_t"}};

constexpr std::array mpi_reductions = {MpiName{DTRAIN_SUM, "sum", "ompi_mpi_op_sum"},
                                       MpiName{DTRAIN_PRODUCT, "prod", "ompi_mpi_op_prod"},
                                       MpiName{DTRAIN_MIN, "min", "ompi_mpi_op_min"},
                                       MpiName{DTRAIN_MAX, "max", "ompi_mpi_op_max"}};

/// Returns the address of the variable for a constant; null when MPI has none.
template <size_t count>
void* variable_of(void* library, const std::array<MpiName, count>& names, int number) {
  const auto* const found = std::ranges::find(names, number, &MpiName::number);
  return found == names.end() ? nullptr : ::dlsym(library, found->variable);
}

template <class Function>
Result<> load(void* library, const char* name, Function& function) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) {
    return fail(Errc::unsupported, format("{} has no {}: it is not Open MPI's", mpi_library, name));
  }
  function = reinterpret_cast<Function>(found);
  return {};
}

}  // namespace

/// The functions of MPI that are used. Communicator, type and operation are pointers in Open MPI.
struct MpiWorld::Functions {
  void* library = nullptr;
  void* world = nullptr;
  int (*init)(int*, char***) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(void*, int*) = nullptr;
  int (*comm_size)(void*, int*) = nullptr;
  int (*barrier)(void*) = nullptr;
  int (*all_reduce)(const void*, void*, int, void*, void*, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, int, void*, void*, void*) = nullptr;
  int (*all_gather)(const void*, int, void*, void*, int, void*, void*) = nullptr;
  int (*broadcast)(void*, int, void*, int, void*) = nullptr;
  int (*all_to_all)(const void*, int, void*, void*, int, void*, void*) = nullptr;
  int (*reduce)(const void*, void*, int, void*, void*, int, void*) = nullptr;
  int (*gather)(const void*, int, void*, void*, int, void*, int, void*) = nullptr;
  int (*scatter)(const void*, int, void*, void*, int, void*, int, void*) = nullptr;
  int (*send)(const void*, int, void*, int, int, void*) = nullptr;
  int (*receive)(void*, int, void*, int, int, void*, void*) = nullptr;

  Result<> load_all() {
    TRY(load(library, "ompi_mpi_comm_world", world));
    TRY(load(library, "MPI_Init", init));
    TRY(load(library, "MPI_Finalize", finalize));
    TRY(load(library, "MPI_Comm_rank", comm_rank));
    TRY(load(library, "MPI_Comm_size", comm_size));
    TRY(load(library, "MPI_Barrier", barrier));
    TRY(load(library, "MPI_Allreduce", all_reduce));
    TRY(load(library, "MPI_Reduce_scatter_block", reduce_scatter));
    TRY(load(library, "MPI_Allgather", all_gather));
    TRY(load(library, "MPI_Bcast", broadcast));
    TRY(load(library, "MPI_Alltoall", all_to_all));
    TRY(load(library, "MPI_Reduce", reduce));
    TRY(load(library, "MPI_Gather", gather));
    TRY(load(library, "MPI_Scatter", scatter));
    TRY(load(library, "MPI_Send", send));
    return load(library, "MPI_Recv", receive);
  }
};

/// A call's arguments in the form of MPI.
struct MpiWorld::Arguments {
  const void* input = nullptr;
  int count = 0;
  void* type = nullptr;
  void* reduction = nullptr;
};

Result<std::unique_ptr<MpiWorld>> MpiWorld::join() {
  auto functions = std::make_unique<Functions>();
  // Open MPI's plugins find its symbols only when they are global.
  functions->library = ::dlopen(mpi_library, RTLD_NOW | RTLD_GLOBAL);
  if (functions->library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the process has one thread here
    const char* const why = ::dlerror();
    return fail(Errc::unsupported,
                format("cannot load Open MPI: {}; on Debian: apt-get install openmpi-bin",
                       why == nullptr ? mpi_library : why));
  }
  TRY(functions->load_all());
  if (functions->init(nullptr, nullptr) != 0) return fail(Errc::os, "MPI_Init failed");
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(functions)));
}

MpiWorld::MpiWorld(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {
  functions_->comm_rank(functions_->world, &rank_);
  functions_->comm_size(functions_->world, &size_);
}

MpiWorld::~MpiWorld() {
  functions_->finalize();
}

std::string MpiWorld::host() const {
  std::array<char, HOST_NAME_MAX + 1> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

Result<> MpiWorld::barrier() {
  if (functions_->barrier(functions_->world) == 0) return {};
  return fail(Errc::os, "MPI_Barrier failed");
}

Result<> MpiWorld::run(const CollectiveCall& call) {
  void* const in_place = reinterpret_cast<void*>(1);  // MPI_IN_PLACE
  const Arguments with = {
      .input = call.input == nullptr ? in_place : call.input,
      .count = static_cast<int>(call.count),
      .type = variable_of(functions_->library, mpi_types, call.type),
      .reduction = variable_of(functions_->library, mpi_reductions, call.reduction)};
  if (call.count > INT_MAX || with.type == nullptr || with.reduction == nullptr)
    return fail(Errc::unsupported, "Open MPI lacks this type, reduction or number of elements");
  if (start(call, with) == 0) return {};
  return fail(Errc::os, "a call of Open MPI failed");
}

Result<void*> MpiWorld::allocate(size_t /*bytes*/) {
  return fail(Errc::unsupported, "Open MPI is measured with memory of the program only");
}

int MpiWorld::start(const CollectiveCall& call, const Arguments& with) {
  switch (call.operation) {
    case BenchOperation::all_reduce:
      return functions_->all_reduce(with.input, call.output, with.count, with.type, with.reduction,
                                    functions_->world);
    case BenchOperation::reduce_scatter:
      return functions_->reduce_scatter(with.input, call.output, with.count, with.type,
                                        with.reduction, functions_->world);
    case BenchOperation::all_gather:
      return functions_->all_gather(with.input, with.count, with.type, call.output, with.count,
                                    with.type, functions_->world);
    case BenchOperation::broadcast:
      // MPI has one buffer for it. Out of place, libdtrain's root copies its input, too.
      if (rank_ == 0 && call.input != nullptr)
        std::memcpy(call.output, call.input, call.count * bench_type_bytes(call.type));
      return functions_->broadcast(call.output, with.count, with.type, 0, functions_->world);
    case BenchOperation::all_to_all:
      return functions_->all_to_all(with.input, with.count, with.type, call.output, with.count,
                                    with.type, functions_->world);
    case BenchOperation::reduce: {
      // In place, MPI's other ranks give the buffer as their input.
      const void* input = rank_ > 0 && call.input == nullptr ? call.output : with.input;
      return functions_->reduce(input, call.output, with.count, with.type, with.reduction, 0,
                                functions_->world);
    }
    case BenchOperation::gather:
      return functions_->gather(with.input, with.count, with.type, call.output, with.count,
                                with.type, 0, functions_->world);
    case BenchOperation::scatter:
      return functions_->scatter(with.input, with.count, with.type, call.output, with.count,
                                 with.type, 0, functions_->world);
    case BenchOperation::latency:
      return ping(call, with);
    case BenchOperation::fusion:
      return reduce_tensors(call, with);
  }
  return -1;
}

/// MPI matches calls by their order, so its programs reduce tensors in one order on all ranks.
int MpiWorld::reduce_tensors(const CollectiveCall& call, const Arguments& given) {
  Arguments with = given;
  const size_t bytes = bench_type_bytes(call.type);
  for (const TensorPlan::Tensor& tensor : call.plan->tensors()) {
    CollectiveCall one = call;
    one.operation = BenchOperation::all_reduce;
    one.output = static_cast<std::byte*>(call.output) + tensor.begin * bytes;
    if (call.input != nullptr)
      with.input = static_cast<const std::byte*>(call.input) + tensor.begin * bytes;
    with.count = static_cast<int>(tensor.count);
    const int status = start(one, with);
    if (status != 0) return status;
  }
  return 0;
}

int MpiWorld::ping(const CollectiveCall& call, const Arguments& with) {
  constexpr int tag = 0;
  if (rank_ > 1) return 0;
  const int other = 1 - rank_;
  if (rank_ == 0) {
    const int sent =
        functions_->send(call.input, with.count, with.type, other, tag, functions_->world);
    if (sent != 0) return sent;
  }
  const int received = functions_->receive(call.output, with.count, with.type, other, tag,
                                           functions_->world, nullptr);
  if (received != 0 || rank_ == 0) return received;
  return functions_->send(call.output, with.count, with.type, other, tag, functions_->world);
}

bool mpi_has(std::string_view type, std::string_view reduction) {
  return std::ranges::count(mpi_types, type, &MpiName::name) > 0 &&
         std::ranges::count(mpi_reductions, reduction, &MpiName::name) > 0;
}

}  // namespace dt
