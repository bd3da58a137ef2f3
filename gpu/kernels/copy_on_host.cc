#include "gpu/kernels/copy_on_host.h"

#include "base/kernels/cpu.h"
#include "gpu/kernels/copy_formats.cuh"

#include <cassert>

namespace dt {

namespace {

struct HostVisit {
  const CopyBatch& batch;

  template <class From, class To>
  bool operator()() const {
    const CopyStep<From, To> step{static_cast<Computed<From>>(batch.factor)};
    for (const CopyPiece& piece : batch.pieces) {
      for (size_t i = 0; i < piece.count; ++i)
        step.one(piece.to + i * sizeof(To), piece.from + i * sizeof(From));
    }
    return true;
  }
  bool none() const { return false; }
};

}  // namespace

void copy_on_host(const CopyBatch& batch) {
  if (is_skipped(batch.skip, {})) return;
  const DefaultRounding rounding;
  const bool known = visit_copy_types(batch.from, batch.to, HostVisit{batch});
  assert(known);
  static_cast<void>(known);
}

}  // namespace dt
