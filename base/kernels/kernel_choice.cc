#include "base/kernels/kernel_choice.h"

#include "base/format.h"
#include "base/kernels/cpu.h"
#include "base/text.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace dt {

namespace {

std::atomic<const KernelSet*>& chosen() {
  static std::atomic<const KernelSet*> set = usable_kernels().front();
  return set;
}

}  // namespace

const KernelSet& kernels() {
  return *chosen().load(std::memory_order_relaxed);
}

Result<> use_kernels(std::string_view name) {
  const auto usable = usable_kernels();
  const auto named = std::ranges::find(
      usable, name, [](const KernelSet* set) { return std::string_view(set->name); });
  if (named != usable.end()) {
    chosen().store(*named, std::memory_order_relaxed);
    return {};
  }
  std::string names;
  for (const KernelSet* set : usable)
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  return fail(Errc::input, format("there are no kernels '{}' for this CPU; it can run {}",
                                  printable(name), names));
}

}  // namespace dt
