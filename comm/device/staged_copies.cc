#include "comm/device/staged_copies.h"

#include "comm/collective/terms.h"

#include <numeric>
#include <utility>

namespace dt {

namespace {

/// Only a device that hangs, or an endless kernel of the caller, reaches it.
constexpr Duration device_work_max = seconds(600);

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

Result<std::shared_ptr<StreamHold>> StreamHold::begin(DeviceStream& stream) {
  auto hold = std::make_shared<StreamHold>();
  TRY(stream.run_on_host([hold] { hold->wait(); }));
  return hold;
}

void StreamHold::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return released_; });
}

void StreamHold::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

Result<std::unique_ptr<DeviceCopies>> StagedCopies::start(Terms terms) {
  std::unique_ptr<StagedCopies> made(new StagedCopies(std::move(terms)));
  TRY(made->prepare());
  return std::unique_ptr<DeviceCopies>(std::move(made));
}

Result<> StagedCopies::prepare() {
  const OperationRequest& played = terms_.played->request;
  Device& device = terms_.device->device();
  const StagingLayout layout = lay_out(terms_.ranges);
  memory_ = std::move(terms_.memory);
  if (memory_.bytes() < layout.bytes) memory_ = TRY(terms_.device->take_pinned(layout.bytes));
  auto input_copied = TRY(device.make_event());
  results_copied_ = TRY(device.make_event());
  input_copied_ = std::move(input_copied);
  if (has_own_result(played)) {
    own_result_ = played.result;
    own_element_bytes_ = element_bytes(played.type);
    if (played.terms) own_element_bytes_ *= bytes_of_opaque(*played.terms);
  }
  TRY(copy_inputs(layout));
  replace_buffers(layout);
  return {};
}

Result<> StagedCopies::copy_inputs(const StagingLayout& layout) {
  std::vector<MemoryCopy> inputs;
  for (size_t i = 0; i < terms_.ranges.size(); ++i) {
    const BufferRanges& ranges = terms_.ranges[i];
    const StagedPlaces& places = layout.places[i];
    if (ranges.input_bytes > 0)
      inputs.push_back({at(places.input), ranges.input, ranges.input_bytes});
    if (ranges.output_bytes > 0)
      results_.push_back({ranges.output, at(places.output), ranges.output_bytes});
  }
  if (terms_.stream == nullptr) return terms_.device->copy_inputs(inputs, *input_copied_);
  TRY(copy_all(*terms_.stream, inputs, *input_copied_));
  hold_ = TRY(StreamHold::begin(*terms_.stream));
  return {};
}

void StagedCopies::replace_buffers(const StagingLayout& layout) const {
  OperationRequest& played = terms_.played->request;
  if (played.tensors.empty()) {
    const BufferRanges& ranges = terms_.ranges.front();
    const bool in_place = played.input == played.output;
    played.output = ranges.output_bytes > 0 ? at(layout.places.front().output) : nullptr;
    played.input = ranges.input_bytes > 0 ? at(layout.places.front().input) : nullptr;
    if (in_place && played.input == nullptr) played.input = played.output;
    return;
  }
  for (size_t i = 0; i < terms_.ranges.size(); ++i) {
    if (terms_.ranges[i].input_bytes == 0) continue;
    played.tensors[i].input = at(layout.places[i].input);
    played.tensors[i].output = at(layout.places[i].output);
  }
}

StagedCopies::~StagedCopies() {
  release();
  finish();
  // A failed device may still run a copy.
  if (terms_.device->device().status()) terms_.device->keep_pinned(std::move(memory_));
}

Result<DeviceStep> StagedCopies::next() {
  if (submitted_) return DeviceStep::end();
  const bool copied = TRY(is_reached(*input_copied_));
  if (!copied) return DeviceStep::wait();
  submitted_ = true;
  return DeviceStep::play(terms_.played, true);
}

Result<> StagedCopies::make_result() {
  const std::vector<size_t>& counts = own_result_->counts;
  const size_t bytes =
      std::accumulate(counts.begin(), counts.end(), size_t{0}) * own_element_bytes_;
  if (bytes == 0) return {};
  auto memory = TRY(terms_.device->device().allocate(bytes));
  results_.push_back({memory.at(), own_result_->data.get(), bytes});
  const auto owner = std::make_shared<OwnedResult>(OwnedResult{terms_.device, std::move(memory)});
  own_result_->on_device = std::shared_ptr<std::byte>(owner, owner->memory.at());
  return {};
}

Result<> StagedCopies::start_results() {
  if (own_result_) TRY(make_result());
  return terms_.device->copy_results(results_, *results_copied_);
}

Result<bool> StagedCopies::results_copied() {
  return is_reached(*results_copied_);
}

void StagedCopies::release() {
  if (hold_) hold_->release();
}

void StagedCopies::finish() {
  if (!input_copied_) return;
  const Time deadline = Clock::now() + device_work_max;
  // Both count as reached when they were never recorded. A failure of the device is reported
  // elsewhere.
  (void)input_copied_->synchronize(deadline);
  (void)results_copied_->synchronize(deadline);
}

}  // namespace dt
