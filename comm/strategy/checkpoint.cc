#include "comm/strategy/checkpoint.h"

#include "base/format.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
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

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string path, std::string draft, Fd file)
    : path_(std::move(path)),
      draft_(std::move(draft)),
      file_(std::move(file)),
      hmac_(as_bytes(digest_key)) {
}

Result<CheckpointWriter> CheckpointWriter::create(const std::string& path) {
  const std::string suffix = TRY(random_name(4));
  const std::string draft = path + ".unfinished-" + suffix;
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) {
    return fail(Errc::os, format("the checkpoint {} cannot be written: {}", file_text(path),
                                 errno_text(errno)));
  }
  CheckpointWriter writer(path, draft, std::move(file));
  TRY(writer.write(as_bytes(checkpoint_head)));
  return writer;
}

CheckpointWriter::~CheckpointWriter() {
  if (file_) ::unlink(draft_.c_str());
}

tl::unexpected<Error> CheckpointWriter::failed(const std::string& why) const {
  return fail(Errc::os, format("the checkpoint {} cannot be written: {}", file_text(path_), why));
}

Result<> CheckpointWriter::write(ByteSpan bytes) const {
  const Result<> written = write_all(file_.get(), bytes);
  if (!written) return failed(written.error().message);
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
  if (::fsync(file_.get()) != 0) return failed(errno_text(errno));
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) return failed(errno_text(errno));
  file_.reset();
  // The name is on the disk when its folder is.
  const Fd folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return failed(errno_text(errno));
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
    CheckpointEntry entry = {.name = reader.text()};
    if (entry.name.empty()) break;
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
