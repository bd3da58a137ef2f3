#include "cmd/bench/dtrain_world.h"

#include "cmd/bench/bench_type.h"
#include "comm/include/dtrain/dtrain_memory.h"

namespace dt {
namespace {

dtrain_error empty_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  return error;
}

/// A program that is measured needs no other kinds of failures.
tl::unexpected<Error> failure(int status, const dtrain_error& error) {
  return fail(status == DTRAIN_ERROR_INPUT ? Errc::input : Errc::os, error.text);
}

Result<> result_of(int status, const dtrain_error& error) {
  if (status == DTRAIN_OK) return {};
  return failure(status, error);
}

int transport_number(std::string_view name) {
  return name == "shm"   ? DTRAIN_TRANSPORT_SHM
         : name == "tcp" ? DTRAIN_TRANSPORT_TCP
                         : DTRAIN_TRANSPORT_AUTO;
}

}  // namespace

Result<std::unique_ptr<DtrainWorld>> DtrainWorld::join(std::string_view transport) {
  dtrain_init_options options = {};
  options.struct_size = sizeof options;
  options.transport = transport_number(transport);
  dtrain_error error = empty_error();
  dtrain_context* context = dtrain_init(&options, &error);
  if (context == nullptr) return failure(error.code, error);
  return std::make_unique<DtrainWorld>(context);
}

std::string DtrainWorld::algorithms() const {
  std::string text(dtrain_algorithms(context_.get(), nullptr, 0), '\0');
  // C++ strings have room for the NUL behind their end.
  dtrain_algorithms(context_.get(), text.data(), text.size() + 1);
  return text;
}

Result<> DtrainWorld::run(const CollectiveCall& call) {
  dtrain_error error = empty_error();
  return result_of(start(call, error), error);
}

Result<> DtrainWorld::barrier() {
  dtrain_error error = empty_error();
  return result_of(dtrain_barrier(context_.get(), nullptr, &error), error);
}

Result<void*> DtrainWorld::allocate(size_t bytes) {
  dtrain_error error = empty_error();
  void* memory = nullptr;
  TRY(result_of(dtrain_alloc(context_.get(), bytes, &memory, &error), error));
  return memory;
}

void DtrainWorld::free(void* memory) {
  dtrain_free(context_.get(), memory, nullptr);
}

int DtrainWorld::start(const CollectiveCall& call, dtrain_error& error) {
  const dtrain_buffers buffers = {call.input, call.output, call.count, call.type};
  switch (call.operation) {
    case BenchOperation::all_reduce:
      return dtrain_all_reduce(context_.get(), buffers, call.reduction, nullptr, &error);
    case BenchOperation::all_gather:
      return dtrain_all_gather(context_.get(), buffers, nullptr, &error);
    case BenchOperation::broadcast:
      return dtrain_broadcast(context_.get(), buffers, 0, nullptr, &error);
    case BenchOperation::reduce_scatter:
      return dtrain_reduce_scatter(context_.get(), buffers, call.reduction, nullptr, &error);
    case BenchOperation::all_to_all:
      return dtrain_all_to_all(context_.get(), buffers, nullptr, &error);
    case BenchOperation::reduce:
      return dtrain_reduce(context_.get(), buffers, call.reduction, 0, nullptr, &error);
    case BenchOperation::gather:
      return dtrain_gather(context_.get(), buffers, 0, nullptr, &error);
    case BenchOperation::scatter:
      return dtrain_scatter(context_.get(), buffers, 0, nullptr, &error);
    case BenchOperation::latency:
      return ping(call, error);
    case BenchOperation::fusion:
      return reduce_tensors(call, error);
  }
  return DTRAIN_ERROR_INPUT;
}

/// Starts all tensors, as a backward pass does, and waits for all.
int DtrainWorld::reduce_tensors(const CollectiveCall& call, dtrain_error& error) {
  const TensorPlan& plan = *call.plan;
  int status = DTRAIN_OK;
  for (size_t i = 0; i < plan.tensors().size() && status == DTRAIN_OK; ++i) {
    // Calls without a name match by their order, which must be one for all ranks.
    const size_t index = call.fused ? plan.order()[i] : i;
    dtrain_work* work = start_tensor(call, plan.tensors()[index], error);
    if (work == nullptr) status = error.code;
    if (work != nullptr) works_.push_back(work);
  }
  for (dtrain_work* work : works_) {
    if (status == DTRAIN_OK) status = dtrain_work_wait(work, -1, &error);
    dtrain_work_free(work);
  }
  works_.clear();
  return status;
}

dtrain_work* DtrainWorld::start_tensor(const CollectiveCall& call, const TensorPlan::Tensor& tensor,
                                       dtrain_error& error) {
  const size_t begin = tensor.begin * bench_type_bytes(call.type);
  const auto* input = static_cast<const std::byte*>(call.input);
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.name = call.fused ? tensor.name.c_str() : nullptr;
  const dtrain_buffers buffers = {input == nullptr ? nullptr : input + begin,
                                  static_cast<std::byte*>(call.output) + begin, tensor.count,
                                  call.type};
  return dtrain_all_reduce_async(context_.get(), buffers, call.reduction, &options, &error);
}

int DtrainWorld::ping(const CollectiveCall& call, dtrain_error& error) {
  const dtrain_buffers outgoing = {call.input, nullptr, call.count, call.type};
  const dtrain_buffers incoming = {nullptr, call.output, call.count, call.type};
  if (rank() > 1) return DTRAIN_OK;
  if (rank() == 0) {
    const int sent = dtrain_send(context_.get(), outgoing, 1, nullptr, &error);
    if (sent != DTRAIN_OK) return sent;
    return dtrain_recv(context_.get(), incoming, 1, nullptr, &error);
  }
  const int received = dtrain_recv(context_.get(), incoming, 0, nullptr, &error);
  if (received != DTRAIN_OK) return received;
  // It returns the message that arrived, so that rank 0 checks both directions.
  const dtrain_buffers returned = {call.output, nullptr, call.count, call.type};
  return dtrain_send(context_.get(), returned, 0, nullptr, &error);
}

}  // namespace dt
