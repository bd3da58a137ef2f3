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
int hand_over(Context::SplitResult made, dtrain_context** group, dtrain_error* error) {
  if (!made.context) return report(error, made.context.error(), made.blamed_rank);
  if (*made.context)
    *group = std::make_unique<dtrain_context>(dtrain_context{*std::move(made.context)}).release();
  return report_success(error);
}

int split(const Context& parent, Context::Part part, const dtrain_op_options* given,
          dtrain_context** group, dtrain_error* error) {
  const auto body = [&]() -> Result<int> {
    const dtrain_op_options options = TRY(read_call_options(given));
    const CallArguments common{.name = options.name == nullptr ? "dtrain_split" : options.name,
                               .in_sequence = true,
                               .timeout = milliseconds(options.timeout_ms)};
    return hand_over(Context::split(parent, part, common), group, error);
  };
  const Result<int> status = guarded(body);
  return status ? *status : report(error, status.error());
}

int make_group(const Context& parent, std::span<const int> ranks, const dtrain_op_options* given,
               dtrain_context** group, dtrain_error* error) {
  const auto body = [&]() -> Result<int> {
    const dtrain_op_options options = TRY(read_call_options(given));
    const CallArguments common{.name = options.name == nullptr ? "" : options.name,
                               .timeout = milliseconds(options.timeout_ms)};
    return hand_over(Context::group(parent, ranks, common), group, error);
  };
  const Result<int> status = guarded(body);
  return status ? *status : report(error, status.error());
}

/// Returns this rank's place in the list; -1 if it is not there.
Result<int> place_in(std::span<const int> ranks, const RankLayout& layout) {
  int place = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= layout.size) {
      return fail(Errc::input,
                  format("rank {} is not one of the ranks 0 to {}", ranks[i], layout.size - 1));
    }
    if (std::count(ranks.begin(), ranks.end(), ranks[i]) > 1)
      return fail(Errc::input, format("rank {} is in the list twice", ranks[i]));
    if (ranks[i] == layout.rank) place = static_cast<int>(i);
  }
  return place;
}

/// Checks what both functions need.
Result<std::shared_ptr<Context>> parent_of(dtrain_context* handle, dtrain_context** group) {
  if (group == nullptr) return fail(Errc::input, "the place for the new context is NULL");
  *group = nullptr;
  return usable(handle == nullptr ? nullptr : &handle->context);
}

}  // namespace

}  // namespace dt

int dtrain_split(dtrain_context* context, dtrain_part part, dtrain_context** group,
                 const dtrain_op_options* options, dtrain_error* error) {
  const auto parent = dt::guarded([&] { return dt::parent_of(context, group); });
  if (!parent) return dt::report(error, parent.error());
  return dt::split(**parent, {part.color, part.key}, options, group, error);
}

int dtrain_group(dtrain_context* context, dtrain_rank_list list, dtrain_context** group,
                 const dtrain_op_options* options, dtrain_error* error) {
  const auto body = [&]() -> dt::Result<std::pair<std::shared_ptr<dt::Context>, int>> {
    auto parent = TRY(dt::parent_of(context, group));
    if (list.count < 0 || (list.ranks == nullptr && list.count > 0))
      return dt::fail(dt::Errc::input, "the list of ranks is NULL, or its length is negative");
    const std::span<const int> ranks(list.ranks, static_cast<size_t>(list.count));
    const int place = TRY(dt::place_in(ranks, parent->layout()));
    return std::pair(std::move(parent), place);
  };
  const auto found = dt::guarded(body);
  if (!found) return dt::report(error, found.error());
  const auto& [parent, place] = *found;
  if (place < 0) return dt::report_success(error);
  const std::span<const int> ranks(list.ranks, static_cast<size_t>(list.count));
  return dt::make_group(*parent, ranks, options, group, error);
}
