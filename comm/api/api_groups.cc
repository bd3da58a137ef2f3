#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace dt {

namespace {

/// Gives the caller the new context, if there is one.
void hand_over(std::shared_ptr<Context> made, dtrain_context** group) {
  if (made) *group = new_context(std::move(made)).release();
}

/// Checks the list. Returns true if this rank is in it.
Result<bool> has_self(std::span<const int> ranks, const RankLayout& layout) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= layout.size) {
      return fail(Errc::input,
                  format("rank {} is not one of the ranks 0 to {}", ranks[i], layout.size - 1));
    }
    if (std::count(ranks.begin(), ranks.end(), ranks[i]) > 1)
      return fail(Errc::input, format("rank {} is in the list twice", ranks[i]));
  }
  return std::ranges::find(ranks, layout.rank) != ranks.end();
}

/// Checks what both functions need.
Result<std::shared_ptr<Context>> parent_of(dtrain_context* handle, dtrain_context** group) {
  if (group == nullptr) return fail(Errc::input, "the place for the new context is NULL");
  *group = nullptr;
  return usable(handle);
}

}  // namespace

}  // namespace dt

int dtrain_split(dtrain_context* context, dtrain_part part, dtrain_context** group,
                 const dtrain_op_options* options, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    const auto parent = TRY(dt::parent_of(context, group));
    const dt::CallOptions given = TRY(dt::read_call_options(options));
    auto made = TRY(dt::Context::split(*parent, {part.color, part.key}, given));
    dt::hand_over(std::move(made), group);
    return {};
  });
}

int dtrain_group(dtrain_context* context, dtrain_rank_list list, dtrain_context** group,
                 const dtrain_op_options* options, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    const auto parent = TRY(dt::parent_of(context, group));
    if (list.count < 0 || (list.ranks == nullptr && list.count > 0))
      return dt::fail(dt::Errc::input, "the list of ranks is NULL, or its length is negative");
    const std::span<const int> ranks(list.ranks, static_cast<size_t>(list.count));
    const bool member = TRY(dt::has_self(ranks, parent->layout()));
    if (!member) return {};
    const dt::CallOptions given = TRY(dt::read_call_options(options));
    auto made = TRY(dt::Context::group(*parent, ranks, given));
    dt::hand_over(std::move(made), group);
    return {};
  });
}
