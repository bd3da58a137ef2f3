#pragma once

#include "base/bytes.h"
#include "comm/peer/lazy_bytes.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dt {

/// Returns how many zeros come before an array at this offset of a message.
size_t padding_at(size_t offset);
void write_zeros(Writer& writer, size_t count);
/// Writes the length, zeros up to a multiple of 8 bytes, and the bytes. So numbers of a tensor can
/// be read in place.
void encode_aligned(Writer& writer, ByteSpan bytes);
/// `whole` is what the reader began with.
ByteSpan decode_aligned(Reader& reader, ByteSpan whole);

/// A part of a message.
struct MessagePart {
  ByteSpan bytes;
  LazyBytes* later = nullptr;  ///< computes the bytes; null: they are there

  /// Returns the bytes, which are there then.
  ByteSpan ready() const {
    if (later != nullptr) later->compute_until(bytes.data() + bytes.size());
    return bytes;
  }
};

/// A message to be sent: its bytes are those of all parts, one after the other. Small values lie in
/// `own`. Long arrays stay where they are, and an owner keeps each of them. An array without an
/// owner belongs to the caller of the function that made the message.
struct MessageParts {
  std::shared_ptr<const Bytes> own = {};
  std::vector<MessagePart> parts = {};  ///< none is empty
  std::vector<std::shared_ptr<const void>> owners = {};

  /// Returns a message of these bytes, which are not empty.
  static MessageParts of(Bytes bytes);
  size_t size() const;
  /// Returns a copy in one piece.
  Bytes joined() const;
};

/// Writes a message in parts.
class PartsWriter : public Writer {
 public:
  /// Shorter arrays are copied: a part costs a frame.
  static constexpr size_t borrowed_bytes_min = size_t{64} << 10;
  /// The parts of an array that is computed later: one is in the cache when it is sent.
  static constexpr size_t later_part_bytes = size_t{128} << 10;

  /// Writes what encode_aligned() writes.
  void borrow_aligned(ByteSpan bytes, std::shared_ptr<const void> owner = {});
  /// The same for an array that `later` computes.
  void borrow_later(ByteSpan bytes, std::shared_ptr<LazyBytes> later);
  MessageParts take_parts();

 private:
  struct Borrowed {
    size_t at = 0;  ///< between the own bytes
    ByteSpan bytes;
    LazyBytes* later = nullptr;
  };
  void begin_aligned(size_t size);
  void copy_aligned(ByteSpan bytes);

  std::vector<Borrowed> borrowed_;
  size_t borrowed_bytes_ = 0;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace dt
