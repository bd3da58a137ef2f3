#include "launcher/agent/agent_binary.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/file.h"

#include <cassert>
#include <optional>

namespace dt {

namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest)
    text += format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace

struct AgentBinary::Content {
  std::optional<MappedFile> file;
  Bytes copied;
  std::string sha256;
};

Result<AgentBinary> AgentBinary::own() {
  auto file = MappedFile::open("/proc/self/exe");
  if (!file) {
    return fail(Errc::os, "cannot read dtrain's own executable: " + file.error().message);
  }
  AgentBinary binary;
  binary.content_ = std::make_shared<Content>(Content{.file = *std::move(file)});
  return binary;
}

AgentBinary AgentBinary::of(ByteSpan bytes) {
  AgentBinary binary;
  binary.content_ = std::make_shared<Content>(
      Content{.file = {}, .copied = Bytes(bytes.begin(), bytes.end()), .sha256 = {}});
  return binary;
}

ByteSpan AgentBinary::bytes() const {
  if (!content_) return {};
  return content_->file ? content_->file->bytes() : ByteSpan(content_->copied);
}

const std::string& AgentBinary::sha256() const {
  assert(content_);
  if (content_->sha256.empty()) content_->sha256 = hex(dt::sha256(bytes()));
  return content_->sha256;
}

}  // namespace dt
