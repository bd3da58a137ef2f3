// The frames between launcher and agents, and between rendezvous and clients. Any bytes decode to
// messages or to an error. A decoded message, encoded and decoded again, is equal.

#include "launcher/protocol/host_resources.h"
#include "launcher/protocol/message.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/store/wire.h"
#include "tests/fuzz/fuzz.h"

namespace dt {
namespace {

template <class Message>
void check(const Result<Message>& message, Result<Message> (*decode_again)(ByteSpan)) {
  if (!message) return check_message(message.error());
  const Result<Message> again = decode_again(encode(*message));
  assert(again && *again == *message);
}

void decode_all(ByteSpan payload) {
  check(decode<Hello>(payload), decode<Hello>);
  check(decode<ResourcesWanted>(payload), decode<ResourcesWanted>);
  check(decode<HostResources>(payload), decode<HostResources>);
  check(decode<Prepare>(payload), decode<Prepare>);
  check(decode<Prepared>(payload), decode<Prepared>);
  check(decode<Launch>(payload), decode<Launch>);
  check(decode<SignalAll>(payload), decode<SignalAll>);
  check(decode<Started>(payload), decode<Started>);
  check(decode<StartFailed>(payload), decode<StartFailed>);
  check(decode<Exited>(payload), decode<Exited>);
  check(decode<Finish>(payload), decode<Finish>);
  check(decode<Finished>(payload), decode<Finished>);
  static_cast<void>(decode_credit(payload));
  check<Request>(decode_request(payload), decode_request);
  check<Reply>(decode_reply(payload), decode_reply);
  check<Welcome>(decode_welcome(payload), decode_welcome);
  check<Notice>(decode_notice(payload), decode_notice);
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  decode_all(bytes);
  MessageAssembler assembler;
  while (true) {
    const auto frame = front_frame(bytes);
    if (!frame) return check_message(frame.error());
    if (!*frame) return;
    bytes = bytes.subspan(frame_header_bytes + (*frame)->payload.size());
    static_cast<void>(StreamId::parse((*frame)->header.stream));
    const auto message = assembler.add(**frame);
    if (!message) return check_message(message.error());
    if (*message) decode_all((*message)->payload);
  }
}

}  // namespace dt
