#include "comm/group/collective_stop.h"

#include <utility>

namespace dt {

Bytes encode(const CollectiveStop& stop) {
  Writer writer;
  writer.number(stop.from).number(stop.why.code).number(int32_t{stop.why.blamed_rank});
  writer.text(stop.why.reason).text(stop.later);
  return writer.take();
}

Result<CollectiveStop> decode_stop(ByteSpan bytes) {
  Reader reader(bytes);
  CollectiveStop stop;
  stop.from = reader.number<uint64_t>();
  stop.why.code = reader.number<Errc>();
  stop.why.blamed_rank = reader.number<int32_t>();
  stop.why.reason = reader.text();
  stop.later = reader.text();
  TRY(reader.finish("stop"));
  if (stop.why.code < Errc::input || stop.why.code > Errc::not_runnable)
    return fail(Errc::protocol, "stop of no known kind");
  return stop;
}

void GroupStop::raise(CollectiveStop stop, Recipients recipients) {
  // Stops may arrive out of order. One with a smaller sequence replaces ours and is forwarded, too.
  if (includes(stop.from)) return;
  // The reasons are the same on all ranks, so they are cut here.
  stop.why.reason = stop.why.reason.substr(0, reason_bytes_max);
  stop.later = stop.later.substr(0, reason_bytes_max);
  peers_.send_all(EngineMessageType::stop, 0, encode(stop), recipients);
  stop_ = std::move(stop);
}

void GroupStop::raise_lost(uint64_t from, int rank) {
  raise(from, {Errc::peer_lost, peers_.job_rank(rank), peers_.gone_reason(rank)});
}

}  // namespace dt
