#include "comm/device/staging_device.h"

#include "base/format.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace dt {

namespace {

/// Sizes are rounded, so that later calls of nearly the same size can use the memory.
size_t rounded(size_t bytes) {
  constexpr size_t small_max = size_t{1} << 20;
  constexpr size_t small_min = size_t{4} << 10;
  if (bytes > small_max) return (bytes + small_max - 1) / small_max * small_max;
  return std::bit_ceil(std::max(bytes, small_min));
}

/// From so many small copies on, one kernel makes them.
constexpr std::ptrdiff_t many_copies = 16;
constexpr size_t small_copy_max = size_t{64} << 10;

bool is_small(const MemoryCopy& copy) {
  return copy.bytes <= small_copy_max;
}

/// Takes the small copies out of the list, if there are many.
CopyBatch take_small(std::vector<MemoryCopy>& copies) {
  CopyBatch batch;
  if (std::ranges::count_if(copies, is_small) < many_copies) return batch;
  for (const MemoryCopy& copy : copies)
    if (is_small(copy)) batch.pieces.push_back({copy.from, copy.to, copy.bytes});
  std::erase_if(copies, is_small);
  return batch;
}

}  // namespace

Result<std::shared_ptr<StagingDevice>> StagingDevice::open(std::unique_ptr<Device> device) {
  std::shared_ptr<StagingDevice> made(new StagingDevice());
  made->device_ = std::move(device);
  TRY(made->device_->load_kernels());
  made->inputs_ = TRY(made->device_->make_stream());
  made->results_ = TRY(made->device_->make_stream());
  return made;
}

Result<DeviceBuffer> StagingDevice::take_pinned(size_t bytes) {
  const size_t size = rounded(bytes);
  std::vector<DeviceBuffer> evicted;  // freed behind the lock
  {
    const std::lock_guard lock(mutex_);
    evicted.swap(evicted_);
    const auto found = std::ranges::find_if(
        kept_, [&](const DeviceBuffer& buffer) { return buffer.bytes() == size; });
    if (found != kept_.end()) {
      DeviceBuffer buffer = std::move(*found);
      kept_.erase(found);
      kept_bytes_ -= size;
      return buffer;
    }
  }
  evicted.clear();
  return device_->allocate_pinned(size);
}

void StagingDevice::keep_pinned(DeviceBuffer buffer) {
  const std::lock_guard lock(mutex_);
  if (buffer.bytes() == 0) return;
  if (buffer.bytes() > kept_bytes_max) return evicted_.push_back(std::move(buffer));
  while (!kept_.empty() &&
         (kept_.size() == kept_count_max || kept_bytes_ + buffer.bytes() > kept_bytes_max)) {
    kept_bytes_ -= kept_.front().bytes();
    evicted_.push_back(std::move(kept_.front()));
    kept_.erase(kept_.begin());
  }
  kept_bytes_ += buffer.bytes();
  kept_.push_back(std::move(buffer));
}

Result<> check_ranges(const std::vector<BufferRanges>& ranges, const Device& device) {
  const auto lies_here = [&](const std::byte* begin, size_t bytes, std::optional<size_t> room) {
    if (bytes == 0) return true;
    if (room) return bytes <= *room;
    const MemoryPlace place = device.place_of(begin + bytes - 1);
    return place.kind == MemoryPlace::Kind::device && place.device == device.index();
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    const BufferRanges& range = ranges[i];
    const bool input = lies_here(range.input, range.input_bytes, range.input_room);
    if (input && lies_here(range.output, range.output_bytes, range.output_room)) continue;
    const std::string of = ranges.size() == 1 ? "" : format(" of tensor {}", i + 1);
    return fail(Errc::input, format("the {}{} exceeds its memory of {}", input ? "output" : "input",
                                    of, device.name()));
  }
  return {};
}

Result<bool> is_reached(const DeviceEvent& event) {
  auto done = event.done();
  if (done) return done;
  // The events of a failed device are reached, too, but later.
  auto passed = event.synchronize(Time());
  if (!passed && passed.error().code == Errc::timeout) return false;
  return done;
}

Result<> copy_all(DeviceStream& stream, std::vector<MemoryCopy> copies) {
  const CopyBatch small = take_small(copies);
  if (!small.pieces.empty()) TRY(stream.copy_pieces(small));
  for (const MemoryCopy& copy : copies)
    TRY(stream.copy(copy));
  return {};
}

std::shared_ptr<QueuedResults> StagingDevice::expect_results() {
  return std::make_shared<QueuedResults>(
      std::shared_ptr<Device>(shared_from_this(), device_.get()));
}

Result<std::shared_ptr<DeviceEvent>> StagingDevice::take_event() {
  std::unique_ptr<DeviceEvent> event;
  {
    const std::lock_guard lock(mutex_);
    if (!kept_events_.empty()) {
      event = std::move(kept_events_.back());
      kept_events_.pop_back();
    }
  }
  if (!event) event = TRY(device_->make_event());
  const auto lent = std::make_shared<LentEvent>(shared_from_this(), std::move(event));
  return std::shared_ptr<DeviceEvent>(lent, lent->event.get());
}

/// The next call may record the event while a stream still waits for it. By the documentation of
/// cudaEventRecord(), cudaStreamWaitEvent() uses the point captured at its call, and later records
/// do not affect it. Only an event that is reached is kept, as the next call may ask before it
/// records.
void StagingDevice::keep_event(std::unique_ptr<DeviceEvent> event) {
  const Result<bool> reached = event->done();
  if (!reached || !*reached) return;
  const std::lock_guard lock(mutex_);
  if (kept_events_.size() < kept_events_max) kept_events_.push_back(std::move(event));
}

Result<DeviceBuffer> StagingDevice::allocate_result(size_t bytes) {
  const std::lock_guard lock(mutex_);
  return results_->allocate(bytes);
}

/// Returns the stream whose next work begins when the earlier work is done.
Result<DeviceStream*> StagingDevice::stream_behind(const EarlierWork& earlier) {
  if (!earlier.done) return inputs_.get();
  std::unique_ptr<DeviceStream>& late = late_inputs_[earlier.stream];
  if (!late) late = TRY(device_->make_stream());
  TRY(late->wait(*earlier.done));
  return late.get();
}

Result<> StagingDevice::copy_inputs(std::vector<MemoryCopy> copies, const EarlierWork& earlier,
                                    DeviceEvent& copied) {
  const std::lock_guard lock(mutex_);
  DeviceStream* const behind = TRY(stream_behind(earlier));
  DeviceStream& stream = *behind;
  Result<> queued = copy_all(stream, std::move(copies));
  // Also after a refusal: the copies before it run.
  const Result<> recorded = stream.record(copied);
  if (queued) queued = recorded;
  // A device that fails meanwhile may not record the event, but run a copy. Other late inputs may
  // wait for what the caller does later.
  if (!queued && (!earlier.done || !device_->status()))
    (void)stream.synchronize(Clock::now() + staged_work_max);
  return queued;
}

Result<> StagingDevice::copy_results(std::vector<MemoryCopy> copies, DeviceEvent& copied) {
  const std::lock_guard lock(mutex_);
  Result<> queued = copy_all(*results_, std::move(copies));
  const Result<> recorded = results_->record(copied);
  if (queued) queued = recorded;
  if (!queued) (void)results_->synchronize(Clock::now() + staged_work_max);
  return queued;
}

}  // namespace dt
