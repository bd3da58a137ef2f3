// Packs tensors on a GPU: by one kernel of ours, by Horovod's scheme, and by a copy for each,
// beside R: one copy of as many bytes by the driver. They alternate, and each call has other memory
// than the one before. So the caches of the GPU hold none of it. Prints medians and quartiles. Ends
// with 77, and the reason, where no GPU is usable, and with 1 where a scheme has wrong bytes.
#include "gpu/cuda/open_cuda.h"
#include "tests/cuda/gpu_program.h"
#include "tests/gpu/or_stop.h"
#include "tests/gpu/other_schemes.cuh"
#include "tests/gpu/packed_bytes.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr int rounds = 51;

__global__ void __launch_bounds__(batched_threads)
    copy_batched_kernel(const __grid_constant__ BatchedCopies copies) {
  const uint64_t block = blockIdx.x % batched_blocks;
  copy_batched(copies, static_cast<int>(blockIdx.x / batched_blocks),
               {block * blockDim.x + threadIdx.x, uint64_t{batched_blocks} * blockDim.x});
}

void pack_as_horovod(cudaStream_t stream, const CopyBatch& batch) {
  for (size_t begin = 0; begin < batch.pieces.size(); begin += BatchedCopies::capacity) {
    const size_t count = std::min<size_t>(batch.pieces.size() - begin, BatchedCopies::capacity);
    BatchedCopies copies;
    for (size_t i = 0; i < count; ++i) {
      const CopyPiece& piece = batch.pieces[begin + i];
      copies.from[i] = piece.from;
      copies.to[i] = piece.to;
      copies.bytes[i] = piece.count;
    }
    copy_batched_kernel<<<static_cast<unsigned>(count) * batched_blocks, batched_threads, 0,
                          stream>>>(copies);
    check_cuda(cudaGetLastError(), "a launch");
  }
}

void pack_by_copies(cudaStream_t stream, const CopyBatch& batch) {
  for (const CopyPiece& piece : batch.pieces)
    check_cuda(cudaMemcpyAsync(piece.to, piece.from, piece.count, cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
}

/// Tensors that are packed together: their sizes in bytes.
struct Case {
  std::string name;
  std::vector<size_t> sizes;
};

std::vector<Case> cases() {
  std::vector<Case> made = {{"64 tensors of 1 B to 4 MB", {}},
                            {"4096 tensors of 4 KB", std::vector<size_t>(4096, 4096)},
                            {"161 tensors of 635 KB", std::vector<size_t>(161, 634'816)},
                            {"4 tensors of 256 MB", std::vector<size_t>(4, size_t{256} << 20)}};
  for (size_t i = 0; i < 64; ++i)
    made.front().sizes.push_back((size_t{1} << i % 23) + i % 3);
  return made;
}

/// One source and one destination for each call, as many as the caches of the GPU cannot hold.
class Packing {
 public:
  Packing(Device& device, const Case& chosen) {
    size_t bytes = 0;
    for (const size_t size : chosen.sizes)
      bytes += padded_bytes(size);
    int cache = 0;
    check_cuda(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device.index()),
               "cudaDeviceGetAttribute");
    const size_t copies = 1 + 4 * static_cast<size_t>(cache) / (2 * bytes);
    for (size_t copy = 0; copy < copies; ++copy) {
      const std::byte* from = sources_.emplace_back(or_stop(device.allocate(bytes))).at();
      std::byte* to = destinations_.emplace_back(or_stop(device.allocate(bytes))).at();
      const std::vector<std::byte> source = varied_bytes(bytes, copy);
      check_cuda(cudaMemcpy(sources_.back().at(), source.data(), bytes, cudaMemcpyHostToDevice),
                 "cudaMemcpy");
      if (copy == 0) expected_ = packed_bytes(source, chosen.sizes);
      CopyBatch& batch = batches_.emplace_back();
      for (const size_t size : chosen.sizes) {
        batch.pieces.push_back({from, to, size});
        from += padded_bytes(size);
        to += padded_bytes(size);
        packed_ += size;
      }
    }
    packed_ /= copies;
  }

  const CopyBatch& next() { return batches_[turn_++ % batches_.size()]; }
  /// Bytes of one call.
  size_t packed() const { return packed_; }
  void clear() {
    for (const DeviceBuffer& buffer : destinations_)
      check_cuda(cudaMemset(buffer.at(), 0, buffer.bytes()), "cudaMemset");
    // It may run later than this call, and streams of ours do not wait for it.
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  /// True when the first call has packed all tensors, and nothing else.
  bool is_right() const {
    std::vector<std::byte> bytes(destinations_.front().bytes());
    check_cuda(
        cudaMemcpy(bytes.data(), destinations_.front().at(), bytes.size(), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    return bytes == expected_;
  }
  void begin_anew() { turn_ = 0; }

 private:
  std::vector<DeviceBuffer> sources_ = {};
  std::vector<DeviceBuffer> destinations_ = {};
  std::vector<CopyBatch> batches_ = {};
  std::vector<std::byte> expected_ = {};  ///< of the first call
  size_t packed_ = 0;
  size_t turn_ = 0;
};

struct Scheme {
  const char* name;
  std::function<void(const CopyBatch&)> pack;
  std::vector<float> times_ms = {};

  double quartile_us(size_t quarter) const {
    return static_cast<double>(times_ms[times_ms.size() * quarter / 4]) * 1000;
  }
};

/// Copies as many bytes as the batch has, from and to where it begins.
void copy_at_once(cudaStream_t stream, const CopyBatch& batch, size_t bytes) {
  const CopyPiece& first = batch.pieces.front();
  check_cuda(cudaMemcpyAsync(first.to, first.from, bytes, cudaMemcpyDeviceToDevice, stream),
             "cudaMemcpyAsync");
}

/// Returns the time of a call on the GPU.
float time_of(cudaStream_t stream, const std::function<void()>& call) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
  check_cuda(cudaEventCreate(&end), "cudaEventCreate");
  check_cuda(cudaEventRecord(begin, stream), "cudaEventRecord");
  call();
  check_cuda(cudaEventRecord(end, stream), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize");
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  check_cuda(cudaEventDestroy(begin), "cudaEventDestroy");
  check_cuda(cudaEventDestroy(end), "cudaEventDestroy");
  return ms;
}

/// Returns how many schemes give wrong bytes.
int count_wrong(cudaStream_t stream, Packing& packing, const std::vector<Scheme>& schemes) {
  int wrong = 0;
  for (const Scheme& scheme : schemes) {
    packing.clear();
    packing.begin_anew();
    scheme.pack(packing.next());
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (packing.is_right()) continue;
    std::printf("%s gives wrong bytes\n", scheme.name);
    ++wrong;
  }
  return wrong;
}

/// Returns the number of schemes with wrong bytes.
int measure(Device& device, DeviceStream& ours, const Case& chosen) {
  Packing packing(device, chosen);
  auto* const stream = static_cast<cudaStream_t>(ours.native());
  std::vector<Scheme> schemes;
  schemes.push_back({"one kernel", [&](const auto& batch) { or_stop(ours.copy_pieces(batch)); }});
  schemes.push_back({"Horovod's", [&](const auto& batch) { pack_as_horovod(stream, batch); }});
  schemes.push_back({"a copy for each", [&](const auto& batch) { pack_by_copies(stream, batch); }});
  const int wrong = count_wrong(stream, packing, schemes);
  // It packs nothing, so its bytes are not compared.
  schemes.insert(schemes.begin(), {"R: one copy of as many bytes", [&](const auto& batch) {
                                     copy_at_once(stream, batch, packing.packed());
                                   }});
  for (int round = 0; round < rounds; ++round) {
    for (Scheme& scheme : schemes)
      scheme.times_ms.push_back(time_of(stream, [&] { scheme.pack(packing.next()); }));
  }
  for (Scheme& scheme : schemes)
    std::ranges::sort(scheme.times_ms);
  const double r_us = schemes.front().quartile_us(2);
  for (const Scheme& scheme : schemes) {
    const double us = scheme.quartile_us(2);
    std::printf("| %s | %s | %.1f (%.1f to %.1f) | %.0f | %.2f |\n", chosen.name.c_str(),
                scheme.name, us, scheme.quartile_us(1), scheme.quartile_us(3),
                2 * static_cast<double>(packing.packed()) / us / 1000, r_us / us);
  }
  return wrong;
}

int run() {
  find_gpu();
  const auto device = or_stop(open_cuda_device(0));
  const auto stream = or_stop(device->make_stream());
  std::printf(
      "| tensors | packed by | µs, median (quartiles) | GB/s read and written | of R |\n"
      "|---|---|---|---|---|\n");
  int wrong = 0;
  for (const Case& chosen : cases())
    wrong += measure(*device, *stream, chosen);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dt

int main() {
  return dt::run();
}
