// Names the first device of this process: device_check probe. Compares it with the CPU, bit for
// bit: device_check check. Measures it: device_check speed. The device is a GPU, or with
// DTRAIN_CPU_DEVICES=1 the CPU. Ends with 77, and the reason, where there is none.
#include "base/format.h"
#include "gpu/devices/open_devices.h"
#include "gpu/kernels/copy_on_host.h"
#include "tests/gpu/or_stop.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

namespace dt {
namespace {

/// A deadline that only a hang reaches.
Time much_later() {
  return Clock::now() + seconds(60);
}

/// The device, and memory that is filled and read by it.
class CheckedDevice {
 public:
  explicit CheckedDevice(Device& device)
      : device_(device), stream_(or_stop(device.make_stream())) {}

  DeviceStream& stream() { return *stream_; }
  void wait() { or_stop(stream_->synchronize(much_later())); }
  DeviceBuffer upload(std::vector<std::byte>& bytes) {
    DeviceBuffer buffer = or_stop(device_.allocate(bytes.size()));
    or_stop(stream_->copy({buffer.at(), bytes.data(), bytes.size()}));
    wait();
    return buffer;
  }
  std::vector<std::byte> download(const DeviceBuffer& buffer) {
    std::vector<std::byte> bytes(buffer.bytes());
    or_stop(stream_->copy({bytes.data(), buffer.at(), bytes.size()}));
    wait();
    return bytes;
  }

 private:
  Device& device_;
  std::unique_ptr<DeviceStream> stream_;
};

std::vector<std::byte> random_bytes(size_t count) {
  static std::mt19937_64 random(1);
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i + 8 <= count; i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
  return bytes;
}

/// True when the element is a NaN: its bits differ between a GPU and the CPU.
bool is_nan(CopyFormat format, const std::byte* element) {
  const CopyBatch batch = {.from = format, .to = CopyFormat::float32};
  if (!check(batch)) {
    double value = 0;
    if (format == CopyFormat::float64) std::memcpy(&value, element, sizeof value);
    return std::isnan(value);
  }
  alignas(8) std::byte bytes[8] = {};
  std::memcpy(bytes, element, format_bytes(format));
  float value = 0;
  copy_on_host({.from = format,
                .to = CopyFormat::float32,
                .pieces = {{bytes, reinterpret_cast<std::byte*>(&value), 1}}});
  return std::isnan(value);
}

size_t differences(CopyFormat format, const std::vector<std::byte>& a,
                   const std::vector<std::byte>& b) {
  const size_t bytes = format_bytes(format);
  size_t different = 0;
  for (size_t at = 0; at < a.size(); at += bytes) {
    if (std::memcmp(&a[at], &b[at], bytes) == 0) continue;
    if (!is_nan(format, &a[at]) || !is_nan(format, &b[at])) ++different;
  }
  return different;
}

/// Prints the result of a comparison. Returns the number of differences.
size_t report(const std::string& what, size_t different) {
  if (different > 0) std::printf("%s: %zu elements differ\n", what.c_str(), different);
  return different;
}

/// Compares one reduction of `arrays` arrays that begin `shift` elements after aligned memory.
size_t check_reduction(CheckedDevice& device, ArrayReduction reduction, size_t arrays,
                       size_t shift) {
  const size_t bytes = element_bytes(reduction.type);
  std::vector<std::vector<std::byte>> host;
  std::vector<DeviceBuffer> memory;
  ArrayReduction on_host = reduction;
  for (size_t i = 0; i < arrays; ++i) {
    host.push_back(random_bytes((reduction.count + shift + 8) * bytes));
    if (reduction.type == ElementType::boolean) {
      for (std::byte& byte : host.back())
        byte &= std::byte{1};
    }
    // A GPU rounds the infinities of one array alone, which a CPU copies. So such an array has
    // none.
    if (reduction.type == ElementType::float8_e5m2 && arrays == 1) {
      for (std::byte& byte : host.back())
        byte &= ~std::byte{4};
    }
    memory.push_back(device.upload(host.back()));
  }
  for (size_t i = 0; i < arrays; ++i) {
    on_host.sources.push_back(host[i].data() + shift * bytes);
    reduction.sources.push_back(memory[i].at() + shift * bytes);
  }
  std::vector<std::byte> expected(reduction.count * bytes);
  const DeviceBuffer result = device.upload(expected);
  const DeviceBuffer also = device.upload(expected);
  on_host.into = expected.data();
  reduction.into = result.at();
  reduction.also = {also.at()};
  reduce_arrays(on_host);
  or_stop(device.stream().reduce(reduction));
  const CopyFormat format = copy_format(reduction.type);
  return differences(format, expected, device.download(result)) +
         differences(format, expected, device.download(also));
}

size_t check_reductions(CheckedDevice& device) {
  size_t different = 0;
  for (size_t type = 0; type < element_type_count; ++type) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      const auto element = static_cast<ElementType>(type);
      if (element == ElementType::boolean && op == ReduceOp::average) continue;
      for (const size_t arrays : {1, 2, 3, 8}) {
        for (const FoldOrder order : {FoldOrder::rank, FoldOrder::halves}) {
          const size_t shift = arrays == 3 ? 1 : 0;
          const ArrayReduction reduction = {.type = element,
                                            .op = op,
                                            .order = order,
                                            .count = 70001,
                                            .divisor = static_cast<int>(arrays)};
          different +=
              report(format("reduce type {} op {} arrays {}", type, static_cast<int>(op), arrays),
                     check_reduction(device, reduction, arrays, shift));
        }
      }
    }
  }
  return different;
}

/// Compares a cast of all kinds of values, in pieces of many sizes.
size_t check_cast(CheckedDevice& device, CopyFormat from, CopyFormat to) {
  constexpr size_t count = 1 << 17;
  CopyBatch on_host = {.from = from, .to = to};
  if (from >= CopyFormat::float16) on_host.factor = 0.75;
  std::vector<std::byte> source = random_bytes(count * format_bytes(from));
  for (size_t i = 0; from == CopyFormat::float32 && i < count / 2; ++i) {
    const auto bits = static_cast<uint32_t>(i << 16);  // all values of 16 bits
    std::memcpy(&source[i * 4], &bits, sizeof bits);
  }
  std::vector<std::byte> expected(count * format_bytes(to));
  const DeviceBuffer in = device.upload(source);
  const DeviceBuffer out = device.upload(expected);
  CopyBatch batch = on_host;
  for (size_t at = 0, size = 1; at < count; at += size, size = size * 5 % 40009) {
    const size_t part = std::min(size, count - at);
    const size_t from_at = at * format_bytes(from);
    const size_t to_at = at * format_bytes(to);
    on_host.pieces.push_back({source.data() + from_at, expected.data() + to_at, part});
    batch.pieces.push_back({in.at() + from_at, out.at() + to_at, part});
  }
  copy_on_host(on_host);
  or_stop(device.stream().copy_pieces(batch));
  return differences(to, expected, device.download(out));
}

size_t check_casts(CheckedDevice& device) {
  size_t different = 0;
  for (size_t from = 0; from < copy_format_count; ++from) {
    for (size_t to = 0; to < copy_format_count; ++to) {
      const CopyBatch batch = {.from = static_cast<CopyFormat>(from),
                               .to = static_cast<CopyFormat>(to)};
      if (!check(batch)) continue;
      different += report(format("copy format {} to {}", from, to),
                          check_cast(device, batch.from, batch.to));
    }
  }
  return different;
}

/// Arrays of one size: random ones, which no call writes, and as many for results. The next call
/// has other ones than the last, so that no cache has them.
class SpeedArrays {
 public:
  static constexpr size_t count = 8;

  SpeedArrays(CheckedDevice& device, Device& memory) {
    const size_t room = memory.memory().free_bytes / (4 * count);
    bytes_ = std::min<size_t>(256 << 20, room) / 4096 * 4096;
    std::vector<std::byte> random = random_bytes(bytes_);
    // The exponents of both types lose their highest bit: no element and no sum is infinite.
    for (size_t i = 1; i < random.size(); i += 2)
      random[i] &= ~std::byte{0x40};
    for (size_t i = 0; i < count; ++i) {
      sources_.push_back(device.upload(random));
      results_.push_back(or_stop(memory.allocate(bytes_)));
      std::ranges::rotate(random, random.begin() + 4096);
    }
  }

  size_t bytes() const { return bytes_; }
  /// Begins a call.
  void next() { ++turn_; }
  std::byte* source(size_t i) const { return sources_[(turn_ + i) % count].at(); }
  std::byte* result(size_t i) const { return results_[(turn_ + i) % count].at(); }
  /// Returns the first sources, and the first result.
  ArrayReduction reduction(size_t arrays, ElementType type) const {
    ArrayReduction made = {.type = type, .count = bytes_ / element_bytes(type), .into = result(0)};
    for (size_t i = 0; i < arrays; ++i)
      made.sources.push_back(source(i));
    return made;
  }

 private:
  std::vector<DeviceBuffer> sources_ = {};
  std::vector<DeviceBuffer> results_ = {};
  size_t bytes_ = 0;
  size_t turn_ = 0;
};

/// Prints rows of a table: the time of calls, and the rate at which they read and write.
class SpeedTable {
 public:
  SpeedTable(CheckedDevice& device, SpeedArrays& arrays) : device_(device), arrays_(arrays) {
    std::printf("| call, arrays of %zu MiB | median (least to most) | read and written | of R |\n",
                arrays.bytes() >> 20);
    std::printf("|---|---|---|---|\n");
  }

  /// Measures a call that reads and writes so many bytes. The first row is R, a copy.
  template <class Call>
  void row(const std::string& what, size_t bytes, const Call& call) {
    constexpr int batches = 12;
    constexpr int calls = 16;
    std::vector<double> times_us;
    for (int batch = 0; batch < batches; ++batch) {
      const Time begin = Clock::now();
      for (int i = 0; i < calls; ++i) {
        arrays_.next();
        or_stop(call());
      }
      device_.wait();
      const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
      if (batch > 0) times_us.push_back(taken.count() / calls);
    }
    std::ranges::sort(times_us);
    const double median_us = times_us[times_us.size() / 2];
    const double rate = static_cast<double>(bytes) / median_us / 1000;
    if (copy_rate_ == 0) copy_rate_ = rate;
    std::printf("| %s | %.1f µs (%.1f to %.1f) | %.0f GB/s | %.3f |\n", what.c_str(), median_us,
                times_us.front(), times_us.back(), rate, rate / copy_rate_);
  }

 private:
  CheckedDevice& device_;
  SpeedArrays& arrays_;
  double copy_rate_ = 0;
};

void measure_reductions(DeviceStream& stream, const SpeedArrays& memory, SpeedTable& table) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const char* const name = type == ElementType::float32 ? "float32" : "bfloat16";
    for (size_t arrays = 2; arrays <= SpeedArrays::count; ++arrays)
      table.row(format("reduce {} {}", arrays, name), (arrays + 1) * memory.bytes(),
                [&] { return stream.reduce(memory.reduction(arrays, type)); });
  }
}

/// Results in as many places as there are arrays.
void measure_results(DeviceStream& stream, const SpeedArrays& memory, SpeedTable& table) {
  for (const size_t arrays : {2, 4, 8}) {
    const size_t moved = 2 * arrays * memory.bytes();
    table.row(format("all_reduce of {} arrays in one kernel", arrays), moved, [&] {
      ArrayReduction reduction = memory.reduction(arrays, ElementType::float32);
      for (size_t i = 1; i < arrays; ++i)
        reduction.also.push_back(memory.result(i));
      return stream.reduce(reduction);
    });
    table.row(format("the same by a kernel and {} copies", arrays - 1), moved, [&]() -> Result<> {
      TRY(stream.reduce(memory.reduction(arrays, ElementType::float32)));
      for (size_t i = 1; i < arrays; ++i)
        TRY(stream.copy({memory.result(i), memory.result(0), memory.bytes()}));
      return {};
    });
  }
}

void measure_casts(DeviceStream& stream, SpeedArrays& memory, SpeedTable& table) {
  for (const size_t pieces : {1, 64, 1000, 4000}) {
    const size_t count = memory.bytes() / 4 / pieces / 64 * 64;
    std::vector<CopyBatch> batches;
    for (size_t i = 0; i < SpeedArrays::count; ++i, memory.next()) {
      batches.push_back({.from = CopyFormat::float32, .to = CopyFormat::bfloat16, .factor = 0.5});
      for (size_t piece = 0; piece < pieces; ++piece)
        batches.back().pieces.push_back(
            {memory.source(0) + piece * count * 4, memory.result(0) + piece * count * 2, count});
    }
    size_t turn = 0;
    table.row(format("pack {} tensors to bfloat16", pieces), 6 * count * pieces,
              [&] { return stream.copy_pieces(batches[turn++ % batches.size()]); });
  }
}

void measure_all(CheckedDevice& device, Device& memory) {
  SpeedArrays arrays(device, memory);
  DeviceStream& stream = device.stream();
  SpeedTable table(device, arrays);
  table.row("R: a copy", 2 * arrays.bytes(),
            [&] { return stream.copy({arrays.result(0), arrays.source(0), arrays.bytes()}); });
  measure_reductions(stream, arrays, table);
  measure_results(stream, arrays, table);
  measure_casts(stream, arrays, table);
}

int run(const std::string& part) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  DeviceList devices = or_stop(open_devices(parse_environment(variables)));
  if (part == "probe") {
    std::printf("%s\n", devices.front()->name().c_str());
    return 0;
  }
  CheckedDevice device(*devices.front());
  if (part == "speed") {
    measure_all(device, *devices.front());
    return 0;
  }
  const size_t different = check_reductions(device) + check_casts(device);
  std::printf("%s: %zu elements differ from the CPU\n", devices.front()->name().c_str(), different);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  const std::string part = count == 2 ? words[1] : "";
  if (part == "probe" || part == "check" || part == "speed") return dt::run(part);
  std::fprintf(stderr, "usage: device_check probe|check|speed\n");
  return 2;
}
