#include "launcher/sync/server/fetching.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/fetch/fetch_sender.h"
#include "launcher/sync/fetch/fetch_source.h"

#include <string_view>

namespace dt {

namespace {

/// Returns the first names, and a mark if there are more.
std::string shown_entries(const SomeEntries& entries) {
  constexpr size_t bytes_max = 8192;
  std::vector<std::string> names;
  for (const std::string& name : entries.shown) {
    if (names.size() < SomeEntries::shown_max) names.push_back(printable(name, bytes_max));
  }
  if (entries.count > names.size()) names.emplace_back("…");
  return join(names, ", ");
}

std::string counted_entries(uint64_t count, std::string_view noun) {
  return count == 1 ? format("1 {}", noun) : format("{} {}s", count, noun);
}

}  // namespace

Result<> Fetching::take(SyncMessage type, ByteSpan payload) {
  if (type == SyncMessage::fetched) {
    missing_ = TRY(decode<Fetched>(payload));
    if (target_) target_->drop();
    return {};
  }
  if (failure_) return {};
  auto done = put(type, payload);
  // A full disk here is no fault of the host.
  if (!done && done.error().code != Errc::protocol) {
    failure_ = done.error();
    return {};
  }
  return done;
}

Result<> Fetching::put(SyncMessage type, ByteSpan payload) {
  if (!target_) {
    FetchTarget opened = TRY(FetchTarget::open(wish_.order));
    target_.emplace(std::move(opened));
  }
  if (type == SyncMessage::file) skips_ = false;
  if (skips_) return {};
  auto done = put_piece(type, payload);
  if (done || done.error().code != Errc::refused) return done;
  skips_ = true;
  refused_.add(target_->path(), done.error().message);
  return {};
}

Result<> Fetching::put_piece(SyncMessage type, ByteSpan payload) {
  if (type == SyncMessage::file) {
    const FetchedFile file = TRY(decode_fetched_file(payload));
    return target_->begin(file);
  }
  if (type == SyncMessage::file_bytes) return target_->write(payload);
  const auto named = target_->commit();
  return named ? Result<>() : tl::unexpected(named.error());
}

Result<> Fetching::copy_from(const std::string& root) {
  host_ = "this machine";
  const FetchSource source = TRY(FetchSource::open(root));
  return send_fetched(source, wish_.patterns,
                      [this](SyncMessage type, ByteSpan payload) { return take(type, payload); });
}

std::vector<std::string> Fetching::warnings() const {
  std::vector<std::string> warnings;
  if (failure_) warnings.push_back(failure_->message);
  if (target_ && !target_->warning().empty()) warnings.push_back(target_->warning());
  if (missing_.unreadable.count > 0)
    warnings.push_back(format("--fetch: {} of {} cannot be read: {}",
                              counted_entries(missing_.unreadable.count, "file"), host_,
                              shown_entries(missing_.unreadable)));
  if (missing_.left_out.count > 0)
    warnings.push_back(format(
        "--fetch leaves out {} of {}, since only files and links that stay "
        "in the tree come back: {}",
        counted_entries(missing_.left_out.count, "name"), host_, shown_entries(missing_.left_out)));
  if (refused_.count > 0)
    warnings.push_back(format("--fetch leaves out {} of {}, since {} no place in {}: {}",
                              counted_entries(refused_.count, "name"), host_,
                              refused_.count == 1 ? "it has" : "they have",
                              shell_quote(printable(wish_.order.folder)), shown_entries(refused_)));
  if (!missing_.unmatched.empty()) {
    std::vector<std::string> shown;
    for (const std::string& pattern : missing_.unmatched)
      shown.push_back(shell_quote(printable(pattern)));
    warnings.push_back(format("--fetch {}: no file of rank 0's tree matches", join(shown, ", ")));
  }
  return warnings;
}

}  // namespace dt
