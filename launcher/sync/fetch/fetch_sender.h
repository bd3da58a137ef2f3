#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/sync/fetch/fetch_source.h"
#include "launcher/sync/messages.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// Receives each message of a fetch.
using FetchSink = std::function<Result<>(SyncMessage type, ByteSpan payload)>;

/// Sends the files and links that match, then `fetched`. Files that cannot be read are skipped, and
/// `fetched` counts them. Fails with Errc::input as FetchSource::match() does, and as the sink
/// does.
Result<> send_fetched(const FetchSource& source, const std::vector<std::string>& patterns,
                      const FetchSink& sink);

}  // namespace dt
