#include "launcher/sync/fetch/fetch_sender.h"

#include "launcher/protocol/message.h"

#include <cstddef>

namespace dt {

namespace {

/// Sends the files of one fetch, one after the other.
class FetchSender {
 public:
  FetchSender(const FetchSource& source, const FetchSink& sink)
      : source_(source), sink_(sink), piece_(stream_chunk_bytes) {}

  /// Counts a file that cannot be read as missing. Fails as the sink does.
  Result<> send(const FetchedFile& file, SomeEntries& unreadable);

 private:
  const FetchSource& source_;
  const FetchSink& sink_;
  Bytes piece_;
};

Result<> FetchSender::send(const FetchedFile& file, SomeEntries& unreadable) {
  if (!file.target.empty()) {
    TRY(sink_(SyncMessage::file, encode(file)));
    return sink_(SyncMessage::file_end, {});
  }
  Result<FetchReader> reader = source_.read(file.path);
  if (!reader) {
    unreadable.add(file.path, reader.error().message);
    return {};
  }
  TRY(sink_(SyncMessage::file, encode(file)));
  for (;;) {
    const Result<size_t> bytes = reader->read(piece_);
    if (!bytes) {
      // The other side drops a file without its end.
      unreadable.add(file.path, bytes.error().message);
      return {};
    }
    if (*bytes == 0) return sink_(SyncMessage::file_end, {});
    TRY(sink_(SyncMessage::file_bytes, ByteSpan(piece_).first(*bytes)));
  }
}

}  // namespace

Result<> send_fetched(const FetchSource& source, const std::vector<std::string>& patterns,
                      const FetchSink& sink) {
  FetchMatch match = TRY(source.match(patterns));
  FetchSender sender(source, sink);
  for (const FetchedFile& file : match.files)
    TRY(sender.send(file, match.missing.unreadable));
  return sink(SyncMessage::fetched, encode(match.missing));
}

}  // namespace dt
