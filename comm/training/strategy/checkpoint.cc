#include "comm/training/strategy/checkpoint.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/training/strategy/variable.h"

#include <algorithm>
#include <utility>

namespace dt {
namespace {

constexpr std::string_view checkpoint_kind = "dtrain checkpoint ";
constexpr std::string_view checkpoint_head = "dtrain checkpoint 1\n";
/// The digests detect damage, not forgery, so their key is no secret.
constexpr std::string_view digest_key = "dtrain checkpoint";

std::string file_text(const std::string& path) {
  return shell_quote(printable(path));
}

/// Returns the bytes before the values.
Bytes entry_head(const CheckpointEntry& entry) {
  Writer writer;
  writer.text(entry.name).number(entry.type).number(entry.count);
  return writer.take();
}

tl::unexpected<Error> cannot_write(const std::string& path, const Error& why) {
  return fail(why.code,
              format("the checkpoint {} cannot be written: {}", file_text(path), why.message));
}

}  // namespace

CheckpointWriter::CheckpointWriter(AtomicFile file)
    : file_(std::move(file)), hmac_(as_bytes(digest_key)) {
}

Result<CheckpointWriter> CheckpointWriter::create(const std::string& path) {
  auto file = AtomicFile::create(path);
  if (!file) return cannot_write(path, file.error());
  CheckpointWriter writer(*std::move(file));
  TRY(writer.write(as_bytes(checkpoint_head)));
  return writer;
}

Result<> CheckpointWriter::write(ByteSpan bytes) const {
  const Result<> written = file_.write(bytes);
  if (!written) return cannot_write(file_.path(), written.error());
  return {};
}

Result<> CheckpointWriter::add(const CheckpointEntry& entry) {
  const Bytes head = entry_head(entry);
  const Digest digest = hmac_.digest({head, entry.value});
  TRY(write(head));
  TRY(write(entry.value));
  TRY(write(digest));
  digests_.insert(digests_.end(), digest.begin(), digest.end());
  ++entries_;
  return {};
}

Result<> CheckpointWriter::finish() {
  Writer end;
  end.text("").number(entries_).raw(hmac_.digest({digests_}));
  TRY(write(end.view()));
  const Result<> committed = file_.commit();
  if (!committed) return cannot_write(file_.path(), committed.error());
  return {};
}

Result<CheckpointFile> CheckpointFile::open(const std::string& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) {
    return fail(mapped.error().code, format("the checkpoint {} cannot be read: {}", file_text(path),
                                            mapped.error().message));
  }
  CheckpointFile file(*std::move(mapped));
  TRY(file.parse(path));
  return file;
}

Result<> CheckpointFile::parse(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::input, format("{} {}", file_text(path), why));
  };
  const std::string_view text = as_text(file_.bytes());
  if (!text.starts_with(checkpoint_head)) {
    if (checkpoint_head.starts_with(text)) return refuse("is a truncated checkpoint");
    return refuse(text.starts_with(checkpoint_kind) ? "is a checkpoint of another version of dtrain"
                                                    : "is no checkpoint of dtrain");
  }
  const Hmac hmac(as_bytes(digest_key));
  Reader reader(file_.bytes().subspan(checkpoint_head.size()));
  Bytes digests;
  while (true) {
    const auto name_bytes = reader.number<uint32_t>();
    if (name_bytes == 0) break;
    // A damaged length is refused before so much is copied.
    if (name_bytes > VariableTerms::name_bytes_max) return refuse("is a damaged checkpoint");
    CheckpointEntry entry = {.name = std::string(as_text(reader.raw(name_bytes)))};
    entry.type = reader.number<ElementType>();
    entry.count = reader.number<uint64_t>();
    const bool known = static_cast<size_t>(entry.type) < element_type_count;
    if (!known || entry.count > file_.bytes().size()) return refuse("is a damaged checkpoint");
    entry.value = reader.raw(entry.count * element_bytes(entry.type));
    const ByteSpan found = reader.raw(sizeof(Digest));
    if (found.empty()) return refuse("is a truncated checkpoint");
    if (!std::ranges::equal(hmac.digest({entry_head(entry), entry.value}), found))
      return refuse(format("is a damaged checkpoint, at variable \"{}\"", printable(entry.name)));
    digests.insert(digests.end(), found.begin(), found.end());
    entries_.push_back(std::move(entry));
  }
  const auto count = reader.number<uint32_t>();
  const ByteSpan found = reader.raw(sizeof(Digest));
  if (found.empty()) return refuse("is a truncated checkpoint");
  const bool whole = count == entries_.size() && std::ranges::equal(hmac.digest({digests}), found);
  return whole && reader.finish("checkpoint") ? Result<>()
                                              : Result<>(refuse("is a damaged checkpoint"));
}

}  // namespace dt
