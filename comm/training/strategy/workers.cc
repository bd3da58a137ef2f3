#include "comm/training/strategy/workers.h"

#include "base/crypto.h"
#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/collective/descriptor.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "comm/training/strategy/call_status.h"

#include <algorithm>
#include <cstring>
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

/// How another worker's watched work has ended.
enum Watched : uint8_t { has_ended = 1, has_failed = 2 };
/// How long the notice of a failure may take.
constexpr int notice_timeout_ms = 2000;
/// How long after NCCL's notice of a death that of the launcher may come.
constexpr int reason_timeout_ms = 5000;

}  // namespace

Result<std::unique_ptr<Workers>> Workers::join(dtrain_context* context, const WorkerRecord& own,
                                               int timeout_ms) {
  std::unique_ptr<Workers> made(new Workers(context));
  made->timeout_ms_ = timeout_ms;
  TRY(made->join_all(own));
  return made;
}

Result<> Workers::join_all(const WorkerRecord& own) {
  const auto size = static_cast<size_t>(dtrain_size(context_));
  WorkerRecord record = own;
  TRY(random_bytes(std::as_writable_bytes(std::span(record.id))));
  Bytes bytes = encode(record);
  bytes.resize(worker_record_bytes_max);
  std::vector<std::byte> all(bytes.size() * size);
  dtrain_error error = empty_c_error();
  const dtrain_op_options options = call_options();
  TRY(checked(dtrain_all_gather(context_, {bytes.data(), all.data(), bytes.size(), DTRAIN_UINT8},
                                &options, &error),
              error));
  WorkerRecords records;
  for (size_t i = 0; i < size; ++i) {
    WorkerRecord one = TRY(decode_worker_record(
        std::span<const std::byte>(all).subspan(i * bytes.size(), bytes.size())));
    records.emplace_back(std::move(one));
  }
  TRY(compare_records(records));
  doubts_ = doubtful_differences(records);
  reason_key_ = "dtrain.strategy/" + hex_text(records[0]->id);
  if (size == 1) return {};
  // All ranks call this, so they need no agreement first.
  return checked(dtrain_split(context_, {0, rank()}, &group_, &options, &error), error);
}

Workers::~Workers() {
  // A pending watch ends with the group.
  dtrain_finalize(group_);
}

dtrain_op_options Workers::call_options() const {
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.timeout_ms = timeout_ms_;
  return options;
}

Result<> Workers::checked(int status, const dtrain_error& error) {
  if (status == DTRAIN_OK) return {};
  Error ended = {errc_of(status), error.text, error.rank};
  if (group_ != nullptr) {
    const std::string reason = left_reason();
    if (!reason.empty()) ended.message = reason;
    ended_ = ended;
  }
  return tl::unexpected(std::move(ended));
}

std::string Workers::left_reason() const {
  dtrain_value* value = nullptr;
  if (dtrain_store_get(context_, reason_key_.c_str(), &value, nullptr, nullptr) != DTRAIN_OK)
    return {};
  const auto* const text = static_cast<const char*>(dtrain_value_data(value));
  std::string reason = text == nullptr ? std::string() : std::string(text);
  dtrain_value_free(value);
  return reason;
}

void Workers::abort(const Error& error) {
  if (ended_) return;
  ended_ = error;
  if (group_ == nullptr) return;
  const std::string reason = format("rank {}: {}", rank(), error.message);
  static_cast<void>(dtrain_store_set(context_, reason_key_.c_str(), {reason.data(), reason.size()},
                                     nullptr, nullptr));
  // Another worker may wait in that work, and not in a collective.
  if (watch_ != nullptr) send_watch(has_failed, notice_timeout_ms, nullptr);
  dtrain_finalize(std::exchange(group_, nullptr));
  watch_.reset();
}

Result<> Workers::status() const {
  if (!ended_) return {};
  return tl::unexpected(Error(*ended_).during("the strategy has ended"));
}

Result<> Workers::all_reduce(std::span<const WorkerTensor> tensors, ReduceOp op) {
  if (alone()) return {};
  TRY(status());
  CallArguments call{.kind = OperationKind::all_reduce,
                     .reduce = op,
                     .group = group_->context->group(),
                     .timeout = milliseconds(timeout_ms_)};
  std::vector<CallTensor> list;
  for (const WorkerTensor& tensor : tensors)
    list.push_back({tensor.type, tensor.count, tensor.at, tensor.at});
  if (list.size() == 1) {
    call.type = list[0].type;
    call.count = list[0].count;
    call.input = call.output = list[0].output;
  } else {
    call.tensors = list;
  }
  dtrain_error error = empty_c_error();
  // Not by Context::run(), which would copy from and to the memory of CPU devices. The host can
  // access it.
  const int status = report_call(&error, [&]() -> Result<> {
    TRY(usable(group_));
    return group_->context->driver().run(call);
  });
  return checked(status, error);
}

Result<> Workers::agree(const std::string& call) {
  if (alone()) return {};
  // The minimum of a number and of its complement are those of one number only if all are equal.
  const uint64_t hash = hash_of_name(call);
  std::array<uint64_t, 2> numbers = {hash, ~hash};
  const WorkerTensor all = {ElementType::uint64, numbers.size(),
                            reinterpret_cast<std::byte*>(numbers.data())};
  TRY(all_reduce({&all, 1}, ReduceOp::min));
  if (numbers[0] == ~numbers[1]) return {};
  TRY(compare(call));
  return fail(Errc::mismatch, "the workers make different calls: " + call);
}

Result<> Workers::begin_watch() {
  TRY(status());
  const int next = (rank() + 1) % size();
  dtrain_error error = empty_c_error();
  watch_.reset(
      dtrain_recv_async(group_, {nullptr, &watched_, 1, DTRAIN_UINT8}, next, nullptr, &error));
  return checked(watch_ == nullptr ? error.code : DTRAIN_OK, error);
}

Result<> Workers::check_watch() {
  dtrain_error error = empty_c_error();
  return watched(dtrain_work_wait(watch_.get(), 0, &error), error);
}

Result<> Workers::await_reason() {
  dtrain_error error = empty_c_error();
  return watched(dtrain_work_wait(watch_.get(), reason_timeout_ms, &error), error);
}

Result<> Workers::watched(int status, const dtrain_error& error) {
  if (status == DTRAIN_PENDING) return {};
  TRY(checked(status, error));
  if (watched_ != has_failed) return {};
  send_watch(has_failed, notice_timeout_ms, nullptr);
  const std::string reason = left_reason();
  ended_ = Error{Errc::peer_lost, reason.empty() ? "another worker has failed" : reason};
  return tl::unexpected(*ended_);
}

int Workers::send_watch(uint8_t how, int timeout_ms, dtrain_error* error) const {
  const int previous = (rank() + size() - 1) % size();
  dtrain_op_options options = call_options();
  options.timeout_ms = timeout_ms;
  return dtrain_send(group_, {&how, nullptr, 1, DTRAIN_UINT8}, previous, &options, error);
}

Result<> Workers::end_watch() {
  dtrain_error error = empty_c_error();
  TRY(checked(send_watch(has_ended, timeout_ms_, &error), error));
  const int status = dtrain_work_wait(watch_.get(), timeout_ms_ > 0 ? timeout_ms_ : -1, &error);
  TRY(watched(status, error));
  if (status == DTRAIN_PENDING) {
    ended_ = Error{Errc::timeout,
                   format("rank {} has not ended its work in time", (rank() + 1) % size())};
    return tl::unexpected(*ended_);
  }
  watch_.reset();
  return {};
}

Result<Steps> Workers::registered_steps(const std::string& name, Group ranks,
                                        const CollectiveShape& shape) const {
  const auto context = TRY(usable(context_));
  return context->driver().registered_steps(name, ranks, shape);
}

Result<> Workers::broadcast(std::span<std::byte> bytes) {
  if (alone()) return {};
  TRY(status());
  dtrain_error error = empty_c_error();
  const dtrain_op_options options = call_options();
  return checked(dtrain_broadcast(group_, {nullptr, bytes.data(), bytes.size(), DTRAIN_UINT8}, 0,
                                  &options, &error),
                 error);
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
  dtrain_error error = empty_c_error();
  const dtrain_op_options options = call_options();
  TRY(checked(dtrain_all_gather(group_, {own.data(), all.data(), own.size(), DTRAIN_UINT8},
                                &options, &error),
              error));
  for (size_t i = 1; i < static_cast<size_t>(size()); ++i) {
    const char* const other = &all[i * own.size()];
    if (std::strcmp(all.data(), other) == 0) continue;
    return fail(Errc::mismatch, format("rank {} has {}, but rank 0 {}", i, other, all.data()),
                static_cast<int>(i));
  }
  return {};
}

}  // namespace dt
