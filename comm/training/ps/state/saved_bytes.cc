#include "comm/training/ps/state/saved_bytes.h"

#include <algorithm>
#include <cassert>

namespace dt {

SavedBytes SavedBytes::in_memory(ByteSpan bytes) {
  return {.size = bytes.size(), .read = [bytes](uint64_t at, std::span<std::byte> into) {
            assert(at <= bytes.size() && into.size() <= bytes.size() - at);
            std::ranges::copy(bytes.subspan(at, into.size()), into.begin());
            return Result<>();
          }};
}

Result<> SavedReader::read(std::span<std::byte> into) {
  if (saved_.size < sizeof(Digest) || into.size() > left())
    return fail(Errc::protocol, "it is cut short");
  TRY(saved_.read(at_, into));
  at_ += into.size();
  return {};
}

Result<> SavedReader::check_digest() {
  assert(at_ == 0);
  constexpr size_t piece_bytes_max = size_t{256} << 10;
  Bytes piece(piece_bytes_max);
  Sha256 sum;
  bool whole = saved_.size >= sizeof(Digest);
  while (whole && left() > 0) {
    const std::span part = std::span(piece).first(std::min<uint64_t>(piece.size(), left()));
    TRY(read(part));
    sum.add(part);
  }
  Digest found = {};
  if (whole) {
    TRY(saved_.read(at_, found));
    whole = sum.finish() == found;
  }
  if (whole) return {};
  return fail(Errc::protocol, "its checksum does not fit: it is damaged or cut short");
}

}  // namespace dt
