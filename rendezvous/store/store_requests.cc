// The Store's reactions to each kind of request.

#include "base/format.h"
#include "base/text.h"
#include "rendezvous/store/store.h"

#include <utility>

namespace dt {

Store::Answer Store::on(const Asked& asked, SetRequest& request) {
  const bool ephemeral = request.lifetime == Lifetime::connection;
  TRY(put(request.key, std::move(request.value),
          ephemeral ? std::optional(asked.client) : std::nullopt));
  return Reply();
}

Store::Answer Store::on(const Asked&, const GetRequest& request) {
  TRY(check_key(request.key));
  const Bytes* value = find(request.key);
  return value == nullptr ? Reply() : Reply{.value = *value};
}

Store::Answer Store::on(const Asked& asked, const WaitRequest& request) {
  TRY(check_key(request.key));
  if (find(request.key) != nullptr) return Reply();
  TRY(check_may_wait(asked.client, request.key));
  waits_.add({.key = request.key,
              .client = asked.client,
              .request = asked.id,
              .deadline = asked.now + request.timeout});
  return std::nullopt;
}

Store::Answer Store::on(const Asked&, const AddRequest& request) {
  TRY(check_key(request.key));
  int64_t sum = 0;
  if (const Bytes* value = find(request.key)) {
    const auto number = parse_integer(as_text(*value));
    if (!number) {
      return fail(Errc::input, format("'{}' holds no decimal number to add to: '{}'",
                                      shown_key(request.key), printable(as_text(*value), 40)));
    }
    sum = *number;
  }
  if (__builtin_add_overflow(sum, request.amount, &sum)) {
    return fail(Errc::input, format("'{}' would overflow 64 bits", shown_key(request.key)));
  }
  TRY(replace(request.key, to_bytes(format("{}", sum))));
  return Reply{.number = sum};
}

Store::Answer Store::on(const Asked&, CompareAndSetRequest& request) {
  TRY(check_key(request.key));
  const Bytes* value = find(request.key);
  const bool as_expected =
      request.expected ? value != nullptr && *value == *request.expected : value == nullptr;
  if (as_expected) {
    TRY(replace(request.key, std::move(request.value)));
    return Reply{.number = 1};
  }
  return value == nullptr ? Reply() : Reply{.value = *value};
}

Store::Answer Store::on(const Asked&, const EraseRequest& request) {
  TRY(check_key(request.key));
  return Reply{.number = erase(request.key) ? 1 : 0};
}

Store::Answer Store::on(const Asked& asked, const CollectRequest& request) {
  // The empty prefix is valid: it matches every key.
  if (!request.prefix.empty()) TRY(check_key(request.prefix));
  const size_t present = count_keys(request.prefix);
  if (present >= request.count) return collected(request.prefix);
  TRY(check_may_wait(asked.client, request.prefix));
  collections_.add({request.prefix, request.count}, present,
                   {.key = {},
                    .client = asked.client,
                    .request = asked.id,
                    .deadline = asked.now + request.timeout});
  return std::nullopt;
}

/// The server has passed it on.
Store::Answer Store::on(const Asked& /*asked*/, const WaitReport& /*report*/) {
  return Reply();
}

}  // namespace dt
