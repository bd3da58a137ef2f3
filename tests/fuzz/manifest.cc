// The manifest of a tree, which a host receives. Any bytes decode to a manifest or to an error. A
// decoded one has a single encoding, and none of its paths and links leaves the tree.

#include "launcher/sync/manifest.h"

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>

namespace dt {
namespace {

bool stays_inside(const TreeEntry& entry) {
  const auto parts = split(entry.path, '/');
  return std::ranges::none_of(parts, [](std::string_view part) {
    return part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos;
  });
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  const Result<Manifest> manifest = decode_manifest(bytes);
  if (!manifest) return check_message(manifest.error());
  assert(std::ranges::equal(encode(*manifest), bytes));
  assert(manifest->total_bytes() <= Manifest::total_bytes_max);
  for (const TreeEntry& entry : manifest->entries) {
    assert(stays_inside(entry));
    assert(entry.kind != TreeEntry::Kind::link || !entry.target.starts_with('/'));
  }
}

}  // namespace dt
