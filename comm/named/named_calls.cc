#include "comm/named/named_calls.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <algorithm>

namespace dt {

void NamedCalls::add(Call call) {
  undecided_.emplace(hash_of_name(call->request.name), call);
  add_limit(*call);
  unannounced_.push_back(std::move(call));
}

void NamedCalls::add_late(const Call& call) {
  decide(hash_of_name(call->request.name));
  add_limit(*call);
}

void NamedCalls::add_limit(const Operation& call) {
  if (const Time end = deadline(call); end != Time::max()) limits_.emplace(end, &call);
}

bool NamedCalls::contains(uint64_t name) const {
  return undecided_.contains(name) || decided_.contains(name);
}

NamedCalls::Call NamedCalls::undecided(uint64_t name) const {
  const auto found = undecided_.find(name);
  return found == undecided_.end() ? nullptr : found->second;
}

NamedCalls::Call NamedCalls::take(uint64_t name) {
  const auto found = undecided_.find(name);
  Call call = std::move(found->second);
  limits_.erase({deadline(*call), call.get()});
  undecided_.erase(found);
  return call;
}

void NamedCalls::end(const Operation& call) {
  decided_.erase(hash_of_name(call.request.name));
  limits_.erase({deadline(call), &call});
}

void NamedCalls::clear() {
  undecided_.clear();
  decided_.clear();
  limits_.clear();
  drop_unannounced();
}

std::vector<NameArrival> NamedCalls::take_unannounced(Time now) {
  std::vector<NameArrival> arrivals = std::exchange(unannounced_late_, {});
  for (const Call& call : std::exchange(unannounced_, {})) {
    const OperationRequest& request = call->request;
    const Time end = deadline(*call);
    const bool limited = end != Time::max();
    NameArrival& arrival = arrivals.emplace_back(
        NameArrival{.descriptor = Descriptor::of(request),
                    .timeout = limited ? request.timeout : Duration::zero(),
                    .remaining = limited ? std::max(end - now, Duration::zero()) : Duration::zero(),
                    .blocks = request.blocks,
                    .part_of = ListPart::of(*call),
                    .priority = request.priority});
    if (!request.agreement) continue;
    arrival.wish = request.agreement->wish;
    arrival.of_unnamed = request.agreement->of_unnamed;
    arrival.before = request.agreement->before;
  }
  return arrivals;
}

void NamedCalls::drop_unannounced() {
  unannounced_.clear();
  unannounced_late_.clear();
}

size_t NamedCalls::entries() const {
  return undecided_.size() + decided_.size() + limits_.size() + unannounced_.size();
}

}  // namespace dt
