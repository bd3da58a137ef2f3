#include "comm/schedule/host_map.h"

#include <algorithm>
#include <map>

namespace dt {

HostMap::HostMap(std::span<const int> labels) {
  std::map<int, int> numbers;
  places_.reserve(labels.size());
  for (size_t rank = 0; rank < labels.size(); ++rank) {
    const auto [number, is_new] = numbers.try_emplace(labels[rank], hosts());
    if (is_new) ranks_.emplace_back();
    in_order_ = in_order_ && number->second == hosts() - 1;
    std::vector<int>& local = ranks_[static_cast<size_t>(number->second)];
    places_.push_back({number->second, static_cast<int>(local.size())});
    local.push_back(static_cast<int>(rank));
  }
  for (const std::vector<int>& local : ranks_) {
    const auto size = static_cast<int>(local.size());
    fewest_ = fewest_ == 0 ? size : std::min(fewest_, size);
  }
}

bool HostMap::is_nested() const {
  return hosts() > 1 && places_.size() > ranks_.size();
}

}  // namespace dt
