#include "comm/training/strategy/worker_packs.h"

#include <map>
#include <utility>

namespace dt {

std::vector<std::vector<size_t>> pack_for_workers(const std::vector<PackedTensor>& tensors,
                                                  size_t bytes_per_pack) {
  struct Open {
    std::vector<size_t> tensors = {};
    size_t bytes = 0;
  };
  std::map<ElementType, Open> open;
  std::vector<std::vector<size_t>> packs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Open& pack = open[tensors[i].type];
    pack.tensors.push_back(i);
    pack.bytes += tensors[i].bytes();
    if (pack.bytes < bytes_per_pack) continue;
    packs.push_back(std::exchange(pack, {}).tensors);
  }
  for (auto& [type, pack] : open) {
    if (!pack.tensors.empty()) packs.push_back(std::move(pack.tensors));
  }
  return packs;
}

}  // namespace dt
