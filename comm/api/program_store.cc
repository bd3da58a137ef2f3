#include "comm/api/program_store.h"

#include "base/format.h"
#include "base/text.h"
#include "rendezvous/store/wire.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// How long the launcher may take to reply that a wait has timed out.
constexpr Duration last_reply = seconds(1);

Time later(Time time, Duration by) {
  return by > Time::max() - time ? Time::max() : time + by;
}

Bytes copy_of(ByteSpan bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string doing(std::string_view verb, std::string_view key) {
  return format("{} '{}'", verb, printable(key));
}

}  // namespace

ProgramStore::ProgramStore(Driver& driver, Duration timeout, std::string_view prefix)
    : driver_(driver),
      prefix_(prefix),
      deadline_(timeout == Duration::zero() ? Time::max() : later(driver.running_time(), timeout)) {
}

Result<std::string> ProgramStore::stored_key(std::string_view key) const {
  if (key.size() > program_key_bytes_max) {
    return fail(Errc::input, format("key '{}' has {} bytes, at most {} are allowed",
                                    printable(key, 40), key.size(), program_key_bytes_max));
  }
  if (key.empty()) return fail(Errc::input, "a key must not be empty");
  return std::string(prefix_).append(key);
}

/// The store's own errors name the key. `what` names it in errors of this side.
Result<Reply> ProgramStore::ask(const Request& request, std::string_view what, Time deadline) {
  Result<Reply> reply = driver_.ask(request, deadline);
  if (!reply) return tl::unexpected(std::move(reply).error().during(what));
  if (reply->error) return tl::unexpected(*std::move(reply->error));
  return reply;
}

Result<> ProgramStore::set(std::string_view key, ByteSpan value, Lifetime lifetime) {
  // Checked here, too: a value that the store would refuse need not be sent.
  TRY(check_value(key, value));
  std::string stored = TRY(stored_key(key));
  const SetRequest request{std::move(stored), copy_of(value), lifetime};
  TRY(ask(request, doing("set", key), deadline_));
  return {};
}

Result<std::optional<Bytes>> ProgramStore::get(std::string_view key) {
  std::string stored = TRY(stored_key(key));
  const GetRequest request{std::move(stored)};
  Reply reply = TRY(ask(request, doing("get", key), deadline_));
  return std::move(reply.value);
}

Result<Bytes> ProgramStore::wait(std::string_view key) {
  const std::string stored = TRY(stored_key(key));
  const std::string what = doing("wait for", key);
  const Time last = later(deadline_, last_reply);
  while (true) {
    Reply got = TRY(ask(GetRequest{stored}, what, last));
    if (got.value) return *std::move(got.value);
    const Time now = driver_.running_time();
    const Duration left = std::clamp(deadline_ - now, Duration::zero(), timeout_max);
    const Result<Reply> waited = ask(WaitRequest{stored, left}, what, last);
    // The store's clock also runs while this process is stopped: an early timeout is retried.
    const bool early =
        !waited && waited.error().code == Errc::timeout && driver_.running_time() < deadline_;
    if (!waited && !early) return tl::unexpected(waited.error());
  }
}

Result<int64_t> ProgramStore::add(std::string_view key, int64_t amount) {
  std::string stored = TRY(stored_key(key));
  const AddRequest request{std::move(stored), amount};
  const Reply reply = TRY(ask(request, doing("add to", key), deadline_));
  return reply.number;
}

Result<ProgramStore::Exchange> ProgramStore::compare_and_set(std::string_view key,
                                                             std::optional<ByteSpan> expected,
                                                             ByteSpan desired) {
  TRY(check_value(key, desired));
  std::string stored = TRY(stored_key(key));
  CompareAndSetRequest request{std::move(stored), std::nullopt, copy_of(desired)};
  if (expected) {
    TRY(check_value(key, *expected));
    request.expected = copy_of(*expected);
  }
  Reply reply = TRY(ask(request, doing("compare and set", key), deadline_));
  return Exchange{reply.number != 0, std::move(reply.value)};
}

Result<bool> ProgramStore::erase(std::string_view key) {
  std::string stored = TRY(stored_key(key));
  const EraseRequest request{std::move(stored)};
  const Reply reply = TRY(ask(request, doing("erase", key), deadline_));
  return reply.number != 0;
}

}  // namespace dt
