#include "comm/group/collective_stop.h"

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

}  // namespace dt
