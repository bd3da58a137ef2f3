#include "cmd/bench/dtrain_world.h"

#include "comm/dtrain_memory.h"

namespace dt {
namespace {

dtrain_error empty_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  return error;
}

Errc code_of(int status) {
  switch (status) {
    case DTRAIN_ERROR_INPUT:
      return Errc::input;
    case DTRAIN_ERROR_UNREACHABLE:
      return Errc::unreachable;
    case DTRAIN_ERROR_TIMEOUT:
      return Errc::timeout;
    case DTRAIN_ERROR_PEER_LOST:
      return Errc::peer_lost;
    default:
      return Errc::os;
  }
}

Result<> result_of(int status, const dtrain_error& error) {
  if (status == DTRAIN_OK) return {};
  return fail(code_of(status), error.text);
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
  if (context == nullptr) return fail(code_of(error.code), error.text);
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
      return dtrain_reduce(context_.get(), buffers, {call.reduction, 0}, nullptr, &error);
    case BenchOperation::gather:
      return dtrain_gather(context_.get(), buffers, 0, nullptr, &error);
    case BenchOperation::scatter:
      return dtrain_scatter(context_.get(), buffers, 0, nullptr, &error);
    case BenchOperation::latency:
      return ping(call, error);
  }
  return DTRAIN_ERROR_INPUT;
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
