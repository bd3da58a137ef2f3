#include "base/kernels/copy.h"
#include "base/kernels/cpu.h"
#include "base/kernels/reducer.h"

#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <cstring>
#include <string>

namespace dt {
namespace {

/// Memory in huge pages, so that no miss of a TLB is measured.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : mapped_bytes_(bytes + huge),
        mapped_(::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0)) {
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(mapped_);
    begin_ += (huge - reinterpret_cast<uintptr_t>(begin_) % huge) % huge;
    ::madvise(begin_, bytes, MADV_HUGEPAGE);
    std::memset(begin_, 0, bytes);
  }
  ~Pages() { ::munmap(mapped_, mapped_bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* at() const { return begin_; }

 private:
  static constexpr size_t huge = size_t{2} << 20;
  size_t mapped_bytes_;
  void* mapped_;
  std::byte* begin_;
};

constexpr int64_t sizes[] = {4, 16 << 10, 256 << 10, 8 << 20, 256 << 20};

/// GB/s count each array once, as in BENCHMARKS.md.
void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void reduce_arrays(benchmark::State& state, const Reducer& reducer, ElementType type) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Pages a(bytes);
  const Pages b(bytes);
  for (auto _ : state)
    reducer.reduce(a.at(), b.at(), bytes / element_bytes(type));
  count_bytes(state);
}

/// Both destinations are sources: the all-reduce of two ranks that share their buffers.
void combine_both(benchmark::State& state, const KernelSet* set) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Pages a(bytes);
  const Pages b(bytes);
  const Reducer reducer(ElementType::float32, ReduceOp::sum, *set);
  for (auto _ : state)
    reducer.combine({a.at(), b.at()}, a.at(), b.at(), bytes / 4);
  count_bytes(state);
}

void reduce_eight(benchmark::State& state, const KernelSet* set, ElementType type) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Pages all(bytes * 8);
  const std::byte* sources[8];
  for (size_t i = 0; i < 8; ++i)
    sources[i] = all.at() + i * bytes;
  const Reducer reducer(type, ReduceOp::sum, *set);
  for (auto _ : state)
    reducer.reduce_many({all.at()}, sources, bytes / element_bytes(type));
  count_bytes(state);
}

using Copy = void (*)(std::byte* to, const std::byte* from, size_t bytes);

void copy_by_library(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

/// `offset` is the distance of the destination from the beginning of a page, as the source's is 0.
void copy_arrays(benchmark::State& state, Copy copy, size_t offset) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Pages to(bytes + offset);
  const Pages from(bytes);
  for (auto _ : state) {
    copy(to.at() + offset, from.at(), bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

/// One slot stays in a cache, and fills a large array piece by piece.
void copy_slot(benchmark::State& state, Copy copy) {
  constexpr size_t slot_bytes = 64 << 10;
  const auto bytes = static_cast<size_t>(state.range(0));
  const Pages to(bytes);
  const Pages slot(slot_bytes);
  for (auto _ : state) {
    for (size_t at = 0; at < bytes; at += slot_bytes)
      copy(to.at() + at, slot.at(), slot_bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void add(const std::string& name, const auto& function) {
  benchmark::internal::Benchmark* added = benchmark::RegisterBenchmark(name.c_str(), function);
  for (const int64_t size : sizes)
    added->Arg(size);
}

void add_kernels(const KernelSet* set) {
  struct Case {
    const char* name;
    ElementType type;
    ReduceOp op;
  };
  const Case cases[] = {{"float32 sum", ElementType::float32, ReduceOp::sum},
                        {"float32 min", ElementType::float32, ReduceOp::min},
                        {"float64 sum", ElementType::float64, ReduceOp::sum},
                        {"float16 sum", ElementType::float16, ReduceOp::sum},
                        {"bfloat16 sum", ElementType::bfloat16, ReduceOp::sum},
                        {"int8 sum", ElementType::int8, ReduceOp::sum},
                        {"int64 product", ElementType::int64, ReduceOp::product}};
  const std::string prefix = std::string(set->name) + " ";
  for (const Case& c : cases) {
    add(prefix + "a+=b " + c.name, [c, set](benchmark::State& state) {
      reduce_arrays(state, Reducer(c.type, c.op, *set), c.type);
    });
  }
  add(prefix + "a=b=a+b float32", [set](benchmark::State& state) { combine_both(state, set); });
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const std::string name = type == ElementType::float32 ? "float32" : "bfloat16";
    benchmark::RegisterBenchmark((prefix + "a=sum of 8 " + name).c_str(),
                                 [=](benchmark::State& state) { reduce_eight(state, set, type); })
        ->Arg(16 << 10)
        ->Arg(1 << 20)
        ->Arg(64 << 20);
  }
}

void add_copies(const std::string& how, Copy copy) {
  add("copy " + how, [copy](benchmark::State& state) { copy_arrays(state, copy, 0); });
  add("copy to offset 1 " + how, [copy](benchmark::State& state) { copy_arrays(state, copy, 1); });
  benchmark::RegisterBenchmark(("copy of a slot " + how).c_str(),
                               [copy](benchmark::State& state) { copy_slot(state, copy); })
      ->Arg(1 << 20)
      ->Arg(256 << 20);
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  for (const dt::KernelSet* set : dt::usable_kernels())
    dt::add_kernels(set);
  dt::add_copies("memcpy", dt::copy_by_library);
  dt::add_copies("loop", dt::copy_array);
  dt::add_copies("past caches", dt::copy_past_caches);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
