#include "comm/training/ps/state/messages.h"

#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace dt {
namespace {

const Bytes& rows() {
  static const Bytes bytes = bytes_of<int64_t>({1, 2});
  return bytes;
}

std::vector<PsRequest> one_of_each() {
  const PsDecision decision{.round = 3, .workers = {0, 2}};
  const VariableSpec variable{.name = "w",
                              .type = ElementType::float64,
                              .shape = {3, 1},
                              .optimizer = {.kind = OptimizerKind::ftrl, .l1 = 0.5}};
  return {
      DeclareRequest{.first_variable = 4,
                     .variables = {variable},
                     .shards = {{.shard = {.number = 1, .variable = 4, .first_row = 1, .rows = 2},
                                 .initial = rows()}},
                     .initializes = true},
      PushRequest{.decision = decision,
                  .kind = PsMode::Kind::sync,
                  .round = 3,
                  .seen_step = 9,
                  .learning_rate = 0.5,
                  .scale = 2,
                  .gradients = {{.shard = 1, .sparse = true, .rows = rows(), .values = rows()}},
                  .pulls = {{.shard = 1}}},
      CommitRequest{.mode = {.number = 1, .kind = PsMode::Kind::sync, .count = 2}, .round = 3},
      PullRequest{.decision = decision, .pulls = {{.shard = 1, .sparse = true, .rows = rows()}}},
      ModeRequest{.kind = PsMode::Kind::bounded, .count = 5},
      SaveRequest{.decision = decision, .path = "/tmp/a"},
      LoadRequest{.path = "/tmp/a", .check_only = true},
      BarrierRequest{},
      StatusRequest{},
      LeaveRequest{},
      AttachRequest{.part = 1, .copies = 2, .session = 77},
  };
}

TEST_CASE("a request is decoded as it was encoded") {
  for (const PsRequest& request : one_of_each()) {
    const Bytes bytes = encode(request);
    const Result<PsRequest> decoded = decode_ps_request(bytes);
    REQUIRE(decoded);
    CHECK(decoded->index() == request.index());
    CHECK(encode(*decoded) == bytes);
  }
}

TEST_CASE("no beginning of a request is one, and nothing may follow it") {
  for (const PsRequest& request : one_of_each()) {
    Bytes bytes = encode(request);
    for (size_t length = 0; length < bytes.size(); ++length)
      CHECK_FALSE(decode_ps_request(ByteSpan(bytes).first(length)));
    bytes.emplace_back();
    CHECK_FALSE(decode_ps_request(bytes));
  }
}

TEST_CASE("the numbers of tensors are aligned in their message") {
  const Bytes bytes = encode(one_of_each()[1]);
  const PsRequest decoded = decode_ps_request(bytes).value();
  const auto& gradient = std::get<PushRequest>(decoded).gradients[0];
  CHECK(reinterpret_cast<uintptr_t>(gradient.values.data()) % 8 == 0);
  CHECK(reinterpret_cast<uintptr_t>(gradient.rows.data()) % 8 == 0);
}

TEST_CASE("a push with a learning rate that is no number is refused") {
  for (const double rate : {-1.0, std::numeric_limits<double>::infinity()})
    CHECK_FALSE(decode_ps_request(encode(PsRequest(PushRequest{.learning_rate = rate}))));
}

TEST_CASE("a reply is decoded as it was encoded") {
  PsReply reply{.error = Error{Errc::mismatch, "no"},
                .verdict = PsVerdict::stale,
                .mode = {.number = 2, .kind = PsMode::Kind::sync, .count = 1},
                .decision = {.round = 1, .workers = {7}},
                .step = 12,
                .status = PsStatus{.variables = 1, .bytes = 8, .pushes = {1, 2}, .stale = {0, 3}},
                .values = {rows(), {}}};
  const Bytes bytes = encode(reply);
  const Result<PsReply> decoded = decode_ps_reply(bytes);
  REQUIRE(decoded);
  CHECK(decoded->error == reply.error);
  CHECK(decoded->status == reply.status);
  CHECK(decoded->decision == reply.decision);
  CHECK(encode(*decoded) == bytes);
  for (size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode_ps_reply(ByteSpan(bytes).first(length)));
}

TEST_CASE("the beginning of a reply shows which value its next byte belongs to") {
  const Bytes first(20, std::byte{1});
  const Bytes second(3, std::byte{2});
  const PsReply reply{.decision = {.round = 4, .workers = {1, 2}}, .values = {first, {}, second}};
  const Bytes whole = encode(reply);
  const PsReply decoded = decode_ps_reply(whole).value();
  const auto place_of = [&](size_t at) -> std::optional<PsReplyPlace> {
    for (size_t i = 0; i < decoded.values.size(); ++i) {
      const auto begin = static_cast<size_t>(decoded.values[i].data() - whole.data());
      if (at >= begin && at < begin + decoded.values[i].size())
        return PsReplyPlace{i, at - begin, decoded.values[i].size()};
    }
    return std::nullopt;
  };
  size_t found = 0;
  for (size_t at = 0; at <= whole.size(); ++at) {
    const auto place = place_behind(ByteSpan(whole).first(at));
    CHECK(place == place_of(at));
    if (place) ++found;
  }
  CHECK(found == 23);
}

TEST_CASE("long gradients and values are no copies in the parts of a message") {
  const Bytes values(PartsWriter::borrowed_bytes_min);
  const MessageParts push =
      encode_parts(PsRequest(PushRequest{.gradients = {{.shard = 1, .values = values}}}));
  REQUIRE(push.parts.size() == 3);
  CHECK(push.parts[1].bytes.data() == values.data());
  const auto owner = std::make_shared<const Bytes>(values);
  const MessageParts reply = encode_parts(PsReply{.values = {*owner}, .owners = {owner}});
  REQUIRE(reply.parts.size() == 2);
  CHECK(reply.parts[1].bytes.data() == owner->data());
  CHECK(owner.use_count() == 2);
}

}  // namespace
}  // namespace dt
