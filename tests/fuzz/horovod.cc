// The requests of a Horovod worker, or of an attacker, to the Horovod store. The first byte is the
// size of the pieces in which the rest arrives. In pieces, the store must send the same answers as
// in one, and keep its limits.

#include "rendezvous/horovod/horovod_store.h"
#include "tests/fuzz/fuzz.h"

#include <string_view>

namespace dt {
namespace {

/// Small limits, so that short inputs reach them.
constexpr HorovodLimits limits = {.keys = 8, .bytes = 64, .value_bytes = 32};

/// A connection with its buffers, as HorovodServer has it.
class Connection {
 public:
  explicit Connection(size_t out_bytes_max) : out_bytes_max_(out_bytes_max) {}

  void receive(ByteSpan bytes) {
    if (closed_) return;
    in_.insert(in_.end(), bytes.begin(), bytes.end());
    while (!closed_) {
      Bytes answers;
      const HorovodStore::Served served = store_.serve(in_, answers, out_bytes_max_);
      assert(served.used <= in_.size());
      assert(answers.size() <= out_bytes_max_ + answer_bytes_max);
      in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(served.used));
      closed_ = served.close;
      answered_.insert(answered_.end(), answers.begin(), answers.end());
      assert(store_.keys() <= limits.keys && store_.bytes() <= limits.bytes);
      if (answers.empty()) break;
    }
    // The store refuses an unfinished request as soon as it is too long.
    assert(closed_ || in_.size() < store_.request_bytes_max());
  }
  const Bytes& answered() const { return answered_; }
  uint64_t requests() const { return store_.requests(); }

 private:
  static constexpr size_t answer_bytes_max = 128 + limits.value_bytes;

  HorovodStore store_{limits};
  size_t out_bytes_max_;
  Bytes in_;
  Bytes answered_;
  bool closed_ = false;
};

/// Returns the number of answers, after asserting that each is whole.
uint64_t count_answers(std::string_view text) {
  constexpr std::string_view length_name = "\r\nContent-Length: ";
  uint64_t count = 0;
  for (; !text.empty(); ++count) {
    assert(text.starts_with("HTTP/1.1 "));
    const size_t head_end = text.find("\r\n\r\n");
    const size_t length_at = text.find(length_name);
    assert(head_end != std::string_view::npos && length_at < head_end);
    size_t length = 0;
    for (size_t at = length_at + length_name.size(); text[at] != '\r'; ++at)
      length = length * 10 + static_cast<size_t>(text[at] - '0');
    assert(head_end + 4 + length <= text.size());
    text.remove_prefix(head_end + 4 + length);
  }
  return count;
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  Reader input(bytes);
  const size_t piece_bytes = size_t{1} + input.number<uint8_t>();
  const ByteSpan sent = input.rest();
  Connection at_once(size_t{1} << 20);
  at_once.receive(sent);
  Connection in_pieces(1);
  for (ByteSpan rest = sent; !rest.empty();) {
    const ByteSpan piece = rest.first(std::min(piece_bytes, rest.size()));
    in_pieces.receive(piece);
    rest = rest.subspan(piece.size());
  }
  assert(at_once.answered() == in_pieces.answered());
  const uint64_t answers = count_answers(as_text(at_once.answered()));
  // Malformed input gets an answer, but does not count as a request.
  assert(answers == at_once.requests() || answers == at_once.requests() + 1);
}

}  // namespace dt
