#include "comm/training/strategy/workers.h"

#include "base/crypto.h"
#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/api/program_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace dt {
namespace {

std::string hex_text(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes)
    text += format("{:02x}", byte);
  return text;
}

constexpr size_t shared_text_bytes = 1024;

}  // namespace

Workers::Workers(dtrain_context* context)
    : context_(context),
      rank_(context->context->layout().rank),
      size_(context->context->layout().size) {
}

Result<std::unique_ptr<Workers>> Workers::join(dtrain_context* context, const WorkerRecord& own,
                                               int timeout_ms) {
  std::unique_ptr<Workers> made(new Workers(context));
  made->timeout_ = milliseconds(timeout_ms);
  TRY(made->join_all(own));
  return made;
}

Result<> Workers::join_all(const WorkerRecord& own) {
  const auto size = static_cast<size_t>(size_);
  WorkerRecord record = own;
  TRY(random_bytes(std::as_writable_bytes(std::span(record.id))));
  Bytes bytes = encode(record);
  bytes.resize(worker_record_bytes_max);
  Bytes all(bytes.size() * size);
  TRY(all_gather(bytes, all));
  WorkerRecords records;
  for (size_t i = 0; i < size; ++i) {
    WorkerRecord one =
        TRY(decode_worker_record(ByteSpan(all).subspan(i * bytes.size(), bytes.size())));
    records.emplace_back(std::move(one));
  }
  TRY(compare_records(records));
  doubts_ = doubtful_differences(records);
  on_devices_ = std::ranges::any_of(records, [](const std::optional<WorkerRecord>& one) {
    return !one->on_host || one->communication == Communication::nccl;
  });
  reason_key_ = "dtrain.strategy/" + hex_text(records[0]->id);
  if (size == 1) return {};
  // All ranks call this, so they need no agreement first.
  auto group = TRY(in_group([&](Context& all_ranks) {
    return Context::split(all_ranks, {.key = rank_}, {.timeout = timeout_});
  }));
  group_ = new_context(std::move(group));
  return {};
}

template <class Body>
auto Workers::in_group(const Body& body) -> decltype(body(std::declval<Context&>())) {
  auto result = guarded([&]() -> decltype(body(std::declval<Context&>())) {
    const auto context = TRY(usable(group()));
    return body(*context);
  });
  if (result || group_ == nullptr || ended_) return result;
  if (std::string reason = left_reason(); !reason.empty())
    result.error().message = std::move(reason);
  ended_ = result.error();
  return result;
}

OperationRequest Workers::call_of(OperationKind kind) const {
  return {.kind = kind, .type = ElementType::uint8, .timeout = timeout_};
}

Result<> Workers::run(OperationRequest call) {
  return in_group([&](Context& group) {
    call.group = group.group();
    // The host can access memory of CPU devices, so the engine need not copy it.
    return on_devices_ ? group.run(std::move(call)) : group.driver().run(std::move(call));
  });
}

Result<> Workers::all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
  OperationRequest call = call_of(OperationKind::all_gather);
  call.count = own.size();
  call.input = own.data();
  call.output = all.data();
  return run(call);
}

std::string Workers::left_reason() const {
  const auto left = guarded([&]() -> Result<std::optional<Bytes>> {
    const auto context = TRY(usable(context_));
    return ProgramStore(context->driver(), Duration::zero()).get(reason_key_);
  });
  return left && *left ? std::string(as_text(**left)) : std::string();
}

void Workers::abort(const Error& error) {
  if (ended_) return;
  ended_ = error;
  if (group_ == nullptr) return;
  const std::string reason = format("rank {}: {}", rank_, error.message);
  static_cast<void>(in_group([&](Context& group) {
    return ProgramStore(group.driver(), Duration::zero()).set(reason_key_, to_bytes(reason));
  }));
  group_.reset();
}

Result<> Workers::status() const {
  if (!ended_) return {};
  return tl::unexpected(Error(*ended_).during("the strategy has ended"));
}

Result<> Workers::all_reduce(std::span<const WorkerTensor> tensors, ReduceOp op) {
  if (alone()) return {};
  TRY(status());
  OperationRequest call = call_of(OperationKind::all_reduce);
  call.reduce = op;
  std::vector<TensorOfList> list;
  for (const WorkerTensor& tensor : tensors)
    list.push_back({tensor.type, tensor.count, tensor.at, tensor.at});
  if (list.size() == 1) {
    call.type = list[0].type;
    call.count = list[0].count;
    call.input = call.output = list[0].output;
  } else {
    call.tensors = list;
  }
  return run(call);
}

Result<> Workers::connect_by_nccl(std::byte* number) {
  if (alone()) return {};
  TRY(in_group([&](Context& group) -> Result<> {
    group.require_nccl(reason_key_);
    return {};
  }));
  // Calls are staged until NCCL has connected all devices: up to the same call of all workers.
  const WorkerTensor one = {ElementType::int32, 1, number};
  while (!group()->context->uses_nccl())
    TRY(all_reduce({&one, 1}, ReduceOp::min));
  return {};
}

Result<Steps> Workers::registered_steps(const std::string& name, Group ranks,
                                        const CollectiveShape& shape) const {
  const auto context = TRY(usable(context_));
  return context->driver().with_engine(
      [&](Engine& engine) { return engine.registered_steps(name, ranks, shape); });
}

Result<> Workers::broadcast(std::span<std::byte> bytes) {
  if (alone()) return {};
  TRY(status());
  OperationRequest call = call_of(OperationKind::broadcast);
  call.count = bytes.size();
  call.input = call.output = bytes.data();
  return run(call);
}

Result<> Workers::share(const Result<>& outcome) {
  if (alone()) return outcome;
  std::array<std::byte, shared_text_bytes> bytes = {};
  if (!outcome) {
    bytes[0] = static_cast<std::byte>(static_cast<int>(outcome.error().code) + 1);
    const std::string& text = outcome.error().message;
    std::memcpy(&bytes[1], text.data(), std::min(text.size(), bytes.size() - 2));
  }
  TRY(broadcast(bytes));
  if (rank() == 0) return outcome;
  const int code = static_cast<int>(bytes[0]);
  if (code == 0) return {};
  return fail(static_cast<Errc>(code - 1),
              "rank 0: " + std::string(reinterpret_cast<const char*>(&bytes[1])));
}

Result<> Workers::compare(const std::string& description) {
  if (alone()) return {};
  TRY(status());
  std::vector<char> own(shared_text_bytes);
  std::memcpy(own.data(), description.data(), std::min(description.size(), own.size() - 1));
  std::vector<char> all(own.size() * static_cast<size_t>(size()));
  TRY(all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all))));
  for (size_t i = 1; i < static_cast<size_t>(size()); ++i) {
    const char* const other = &all[i * own.size()];
    if (std::strcmp(all.data(), other) == 0) continue;
    return fail(Errc::mismatch, format("rank {} has {}, but rank 0 {}", i, other, all.data()),
                static_cast<int>(i));
  }
  return {};
}

}  // namespace dt
