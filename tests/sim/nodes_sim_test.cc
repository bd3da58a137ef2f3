// Nodes of one job meet in any order. Seeds decide which one comes next, how often, with which
// claim, and which dies.

#include "base/format.h"
#include "launcher/connect/dialed_hosts.h"
#include "launcher/network/handshake_dial.h"
#include "rendezvous/secure/record_layer.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// A node as node 0 sees it: the first message of a real one, and no agent behind it.
struct FakeNode {
  int rank = 0;
  bool knows_token = true;
  int count = 0;  ///< its --nnodes
  std::optional<Result<Dialed>> dialed = {};
  std::unique_ptr<HandshakeDial> dial = {};
  std::unique_ptr<Stream> link = {};
  std::optional<RecordLayer> records = {};
  Bytes opened = {};
  std::optional<Dismissed> dismissed = {};
  std::string refusal() const { return dialed && !*dialed ? dialed->error().message : ""; }
  bool is_in() const { return link != nullptr; }
};

/// Node 0 with its port, and the nodes around it.
class Meeting {
 public:
  Meeting(uint64_t seed, int count) : random_(seed), count_(count), heard_(places()) {
    DialedHosts::Options options = {.program = "dtrain run", .patience = seconds(600)};
    options.where = [] { return DialedHosts::Where{.ips = {}, .port = 0}; };
    options.nodes = DialedHosts::Nodes{.token = token_,
                                       .job = "nodes/",
                                       .own = intro(0, count_),
                                       .may_return = true,
                                       .least = count_};
    hosts_ = DialedHosts::create(*loop_, log_, std::move(options)).value();
    for (size_t place = 0; place < places(); ++place)
      names_.push_back(format("node {}", place + 1));
    connections_.resize(places());
    for (size_t place = 0; place < places(); ++place)
      expect(place);
    REQUIRE(hosts_->start().has_value());
  }

  void run() {
    std::vector<int> missing;
    for (int rank = 1; rank < count_; ++rank)
      missing.push_back(rank);
    while (!missing.empty()) {
      const size_t at = random_.below(missing.size());
      const int rank = missing[at];
      if (random_.percent(25)) come_as_stranger();
      come(rank);
      missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(at));
      if (random_.percent(30)) come_as_twin(rank);
      if (random_.percent(20)) come_with_rank(count_ + random_.between(0, 3));
      if (random_.percent(30)) missing.push_back(die());
    }
    for (size_t place = 0; place < places(); ++place)
      CHECK(holder(place) != nullptr);
    dismiss();
  }

 private:
  size_t places() const { return static_cast<size_t>(count_ - 1); }
  static NodeIntro intro(int rank, int count) {
    return {.build = "1", .hostname = format("pod-{}", rank), .count = count, .command = {"true"}};
  }

  void expect(size_t place) {
    heard_[place] = 0;
    connections_[place] = hosts_->expect(
        {.name = names_[place]}, {.on_bytes =
                                      [this, place](ByteSpan bytes) {
                                        connections_[place]->arrived();
                                        return take(place, bytes);
                                      },
                                  .on_end = [this, place](const auto&) { lost_[place] = true; }});
    lost_.resize(places());
    lost_[place] = false;
  }

  size_t take(size_t place, ByteSpan bytes) {
    const auto frame = front_frame(bytes);
    REQUIRE(frame.has_value());
    if (!*frame) return 0;
    const auto said = decode<NodeIntro>((*frame)->payload);
    REQUIRE(said.has_value());
    names_[place] = hosts_->introduced(names_[place], *said);
    ++heard_[place];
    return frame_header_bytes + (*frame)->header.length;
  }

  FakeNode& begin(int rank, bool knows_token) {
    nodes_.push_back(
        std::make_unique<FakeNode>(FakeNode{.rank = rank, .knows_token = knows_token}));
    FakeNode& node = *nodes_.back();
    node.count = count_;
    const Claim claim = {.token = knows_token ? token_ : Token::random().value(),
                         .job = "nodes/",
                         .self = {std::string(node_role), rank},
                         .encrypt_data = true};
    node.dial = std::make_unique<HandshakeDial>(
        *loop_,
        HandshakeDial::Target{.address = {"127.0.0.1", hosts_->port()},
                              .peer = {std::string(launcher_role), 0},
                              .deadline = loop_->now() + seconds(60)},
        claim, [&node](Result<Dialed> dialed) { node.dialed = std::move(dialed); });
    run_until([&node] { return node.dialed.has_value(); });
    return node;
  }

  void come(int rank) {
    FakeNode& node = begin(rank, true);
    INFO(node.refusal());
    REQUIRE(node.dialed->has_value());
    node.records.emplace(std::move((*node.dialed)->session));
    node.link = Stream::open(*loop_, std::move((*node.dialed)->connection), Fd(),
                             {.on_bytes = [&node](ByteSpan bytes) { return hear(node, bytes); },
                              .on_end = [&node](const auto&) { node.link.reset(); },
                              .on_drained = {}})
                    .value();
    Bytes frame;
    append_message(frame, MessageType::node, {}, encode(intro(rank, node.count)));
    Bytes wire;
    node.records->seal(wire, frame);
    node.link->write(wire);
    const auto place = static_cast<size_t>(rank - 1);
    run_until([&] { return heard_[place] == 1; });
    CHECK(names_[place] == format("pod-{}", rank));
    CHECK(holder(place) == &node);
  }

  static size_t hear(FakeNode& node, ByteSpan bytes) {
    const auto used = node.records->open(bytes, node.opened);
    REQUIRE(used.has_value());
    const auto frame = front_frame(node.opened);
    REQUIRE(frame.has_value());
    if (*frame) node.dismissed = decode<Dismissed>((*frame)->payload).value();
    if (*frame) node.link->close_after_sending();
    return *used;
  }

  void come_as_stranger() {
    const FakeNode& node = begin(random_.between(0, count_), false);
    CHECK(node.refusal().find("does not know this job's token") != std::string::npos);
  }

  void come_as_twin(int rank) {
    CHECK(begin(rank, true).refusal().find(place_taken) != std::string::npos);
  }

  /// Before node 0 awaits the place again.
  void come_as_spare(int rank) {
    CHECK(begin(rank, true).refusal().find(place_later) != std::string::npos);
  }

  void come_with_rank(int rank) {
    CHECK(begin(rank, true).refusal().find("has no place") != std::string::npos);
  }

  FakeNode* holder(size_t place) {
    FakeNode* found = nullptr;
    for (const auto& node : nodes_) {
      if (!node->is_in() || node->rank != static_cast<int>(place) + 1) continue;
      CHECK(found == nullptr);
      found = node.get();
    }
    return found;
  }

  /// One that is there ends, and its place is free again. Returns its rank.
  int die() {
    std::vector<FakeNode*> there;
    for (const auto& node : nodes_)
      if (node->is_in()) there.push_back(node.get());
    FakeNode& node = *there[random_.below(there.size())];
    const auto place = static_cast<size_t>(node.rank - 1);
    node.link.reset();
    run_until([&] { return bool(lost_[place]); });
    if (random_.percent(50)) come_as_spare(node.rank);
    expect(place);
    return node.rank;
  }

  void dismiss() {
    const Dismissed message = {.status = random_.between(0, 255), .reason = "the end"};
    REQUIRE(hosts_->dismiss(message).has_value());
    for (size_t place = 0; place < places(); ++place) {
      const auto dismissed = std::ranges::count_if(nodes_, [&](const auto& node) {
        return node->rank == static_cast<int>(place) + 1 && node->dismissed == message;
      });
      CHECK(dismissed == 1);
    }
  }

  template <class Done>
  void run_until(Done done) {
    const Time deadline = Clock::now() + seconds(60);
    while (!done()) {
      REQUIRE(Clock::now() < deadline);
      REQUIRE(loop_->run_once(deadline).has_value());
    }
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Log log_{Log::Level::quiet, [](std::string_view) {}};
  Random random_;
  int count_;
  Token token_ = Token::random().value();
  std::vector<std::string> names_;
  std::vector<int> heard_;  ///< introductions of the node that has the place now
  std::vector<char> lost_;
  std::unique_ptr<DialedHosts> hosts_;
  std::vector<std::unique_ptr<AgentConnection>> connections_;
  std::vector<std::unique_ptr<FakeNode>> nodes_;
};

TEST_CASE("nodes get their places in any order, and each other one learns why it has none") {
  const Seeds seeds = chosen_seeds();
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    INFO("DTRAIN_SIM_SEED=", seed);
    Meeting(seed, 2 + static_cast<int>(seed % 5)).run();
  }
}

}  // namespace
}  // namespace dt
