#include "comm/device/staged_copies.h"

#include "comm/collective/terms.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dt {

namespace {

/// The memory of a result, which ends before its device.
struct OwnedResult {
  std::shared_ptr<StagingDevice> device;
  DeviceBuffer memory;
};

bool has_own_result(const OperationRequest& request) {
  return request.result && (has_own_counts(request.kind) || reduces(request.kind)) &&
         request.tensors.empty();
}

}  // namespace

Result<std::unique_ptr<DeviceCopies>> StagedCopies::start(Terms terms) {
  std::unique_ptr<StagedCopies> made(new StagedCopies(std::move(terms)));
  TRY(made->prepare());
  return std::unique_ptr<DeviceCopies>(std::move(made));
}

Result<> StagedCopies::prepare() {
  const OperationRequest& executed = terms_.executed->request;
  TRY(check_ranges(terms_.ranges, terms_.device->device()));
  const StagingLayout layout = lay_out(terms_.ranges);
  memory_ = std::move(terms_.memory);
  if (memory_.bytes() < layout.bytes) memory_ = TRY(terms_.device->take_pinned(layout.bytes));
  results_copied_ = TRY(terms_.device->take_event());
  if (has_own_result(executed)) {
    own_result_ = executed.result;
    own_element_bytes_ = element_bytes(executed.type);
    if (executed.terms) own_element_bytes_ *= bytes_of_opaque(*executed.terms);
  }
  for (StagedChunk& staged : cut(terms_.executed, terms_.ranges, layout, memory_.at())) {
    auto copied = TRY(terms_.device->take_event());
    chunks_.push_back({std::move(staged), std::move(copied)});
  }
  return copy_inputs();
}

Result<> StagedCopies::copy_inputs() {
  for (const Chunk& chunk : chunks_)
    TRY(terms_.device->copy_inputs(chunk.staged.inputs, terms_.earlier, *chunk.input_copied));
  return {};
}

StagedCopies::~StagedCopies() {
  release();
  finish();
  // A failed device may still run a copy.
  if (terms_.device->device().status()) terms_.device->keep_pinned(std::move(memory_));
}

Result<DeviceStep> StagedCopies::next() {
  if (submitted_ == chunks_.size()) return DeviceStep::end();
  if (results_ < submitted_) TRY(copy_result());
  const Chunk& chunk = chunks_[submitted_];
  const bool copied = TRY(is_reached(*chunk.input_copied));
  if (!copied) return DeviceStep::wait();
  ++submitted_;
  limit_time(chunk.staged.executed->request);
  return DeviceStep::run(chunk.staged.executed, submitted_ == chunks_.size());
}

/// The time limit of the call begins with its first chunk.
void StagedCopies::limit_time(OperationRequest& request) {
  if (request.timeout == Duration::zero()) return;
  const Time now = Clock::now();
  if (!deadline_)
    deadline_ = request.timeout < Time::max() - now ? now + request.timeout : Time::max();
  if (*deadline_ != Time::max()) request.timeout = std::max(Duration(1), *deadline_ - now);
}

/// Starts to copy the results of the first chunk that has ended, and whose results are not copied.
Result<> StagedCopies::copy_result() {
  const StagedChunk& chunk = chunks_[results_++].staged;
  TRY(terms_.device->copy_results(chunk.results, *results_copied_));
  if (terms_.results && results_ == chunks_.size()) terms_.results->queue(results_copied_);
  return {};
}

Result<> StagedCopies::make_result() {
  const std::vector<size_t>& counts = own_result_->counts;
  const size_t bytes =
      std::accumulate(counts.begin(), counts.end(), size_t{0}) * own_element_bytes_;
  if (bytes == 0) return {};
  auto memory = TRY(terms_.device->allocate_result(bytes));
  chunks_.back().staged.results.push_back({memory.at(), own_result_->data.get(), bytes});
  const auto owner = std::make_shared<OwnedResult>(OwnedResult{terms_.device, std::move(memory)});
  own_result_->on_device = std::shared_ptr<std::byte>(owner, owner->memory.at());
  return {};
}

Result<> StagedCopies::start_results() {
  if (own_result_) TRY(make_result());
  return copy_result();
}

Result<bool> StagedCopies::results_copied() {
  return is_reached(*results_copied_);
}

void StagedCopies::release() {
  if (terms_.results) terms_.results->release();
}

void StagedCopies::finish() {
  const Time deadline = Clock::now() + staged_work_max;
  // They count as reached when they were never recorded. A failure of the device is reported
  // elsewhere.
  for (const Chunk& chunk : chunks_)
    (void)chunk.input_copied->synchronize(deadline);
  if (results_copied_) (void)results_copied_->synchronize(deadline);
}

}  // namespace dt
