#include "comm/engine/group_call.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/collective_stop.h"
#include "comm/collective/descriptor.h"

#include <algorithm>

namespace dt {

namespace {

constexpr size_t members_named_max = 16;

/// "[0, 2, 5]", "[0, 1, … 30 more]".
std::string list_text(const std::vector<int>& members) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(members.size(), members_named_max); ++i)
    text += format("{}{}", i == 0 ? "" : ", ", members[i]);
  if (members.size() > members_named_max)
    text += format(", … {} more", members.size() - members_named_max);
  return text + "]";
}

}  // namespace

GroupCall GroupCall::of(const std::vector<int>& members, const std::string& name) {
  Writer writer;
  for (const int rank : members)
    writer.number(rank);
  writer.text(name);
  GroupCall call{.digest = hash_of_name(as_text(writer.view())), .text = list_text(members)};
  if (!name.empty()) call.text += " and " + quoted_name(name);
  return call;
}

Bytes encode(const GroupCall& call) {
  Writer writer;
  writer.number(call.id).number(call.number).number(call.made).number(call.digest).text(call.text);
  return writer.take();
}

Result<GroupCall> decode_group_call(ByteSpan bytes) {
  Reader reader(bytes);
  GroupCall call;
  call.id = reader.number<uint32_t>();
  call.number = reader.number<uint32_t>();
  call.made = reader.number<uint32_t>();
  call.digest = reader.number<uint64_t>();
  call.text = printable(reader.text(), reason_bytes_max);
  TRY(reader.finish("call of a group"));
  return call;
}

Bytes encode(const GroupCallEnd& end) {
  Writer writer;
  writer.number(end.id).number(end.why.code).number(int32_t{end.why.blamed_rank});
  writer.text(end.why.reason.substr(0, reason_bytes_max));
  return writer.take();
}

Result<GroupCallEnd> decode_group_call_end(ByteSpan bytes) {
  Reader reader(bytes);
  GroupCallEnd end{.id = reader.number<uint32_t>()};
  end.why.code = reader.number<Errc>();
  end.why.blamed_rank = reader.number<int32_t>();
  end.why.reason = printable(reader.text(), reason_bytes_max);
  TRY(reader.finish("end of a call of a group"));
  if (end.why.code < Errc::input || end.why.code > Errc::out_of_memory)
    return fail(Errc::protocol, "the end of a call of a group is of no known kind");
  return end;
}

Bytes encode(const MadeGroup& made) {
  Writer writer;
  writer.number(made.id).number(made.number);
  return writer.take();
}

Result<MadeGroup> decode_made_group(ByteSpan bytes) {
  Reader reader(bytes);
  const MadeGroup made{.id = reader.number<uint32_t>(), .number = reader.number<uint32_t>()};
  TRY(reader.finish("number of a new group"));
  return made;
}

}  // namespace dt
