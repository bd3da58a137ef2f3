#include "tests/sim/job/simulated_dial.h"

#include "base/format.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

constexpr Duration before_next = milliseconds(100);

}  // namespace

SimulatedDial::SimulatedDial(Site& site, Dialing dialing, Handlers handlers)
    : site_(site), dialing_(dialing), handlers_(std::move(handlers)) {
}

void SimulatedDial::begin(const DialOrder& order, int host, Cable::Nature nature, Duration delay) {
  claim_ = order.claim_of({std::string(agent_role), host});
  nature_ = nature;
  timer_ = site_.loop.after(delay, [this] { dial(); });
}

void SimulatedDial::dial() {
  handlers_.on_event(format("dials {}", static_cast<int>(dialing_)));
  switch (dialing_) {
    case Dialing::never:
      return;
    case Dialing::well:
    case Dialing::twice:
      return dial_as_agent();
    case Dialing::breaks_off:
      converse(claim_,
               [this](Conversation& first) {
                 first.cable->hang_up();
                 timer_ = site_.loop.after(before_next, [this] { dial_as_agent(); });
               },
               {});
      return;
    case Dialing::wrong_token:
      Claim stranger = claim_;
      stranger.token.secret[0] ^= std::byte{1};
      converse(
          stranger,
          [this](Conversation&) { handlers_.on_broken_promise("a stranger counts as an agent"); },
          [this] { handlers_.on_event("the stranger is turned away"); });
      timer_ = site_.loop.after(before_next, [this] { dial_as_agent(); });
      return;
  }
}

void SimulatedDial::dial_as_agent() {
  agent_ = &converse(
      claim_,
      [this](Conversation&) {
        handlers_.start_agent();
        if (dialing_ == Dialing::twice)
          timer_ = site_.loop.after(before_next, [this] { dial_again(); });
      },
      handlers_.on_end);
}

void SimulatedDial::dial_again() {
  converse(
      claim_, [this](Conversation&) { handlers_.on_broken_promise("a second agent is accepted"); },
      [this] { handlers_.on_event("the second agent is turned away"); });
}

SimulatedDial::Conversation& SimulatedDial::converse(const Claim& claim,
                                                     std::function<void(Conversation&)> on_done,
                                                     std::function<void()> on_end) {
  Conversation& conversation = conversations_.emplace_back(
      Conversation{.handshake = Handshake::dial(claim, {std::string(launcher_role), 0}).value()});
  conversation.cable = std::make_unique<Cable>(
      site_, nature_,
      Cable::Handlers{.on_bytes = [this, &conversation, on_done = std::move(on_done)](
                                      ByteSpan bytes) { receive(conversation, bytes, on_done); },
                      .on_end =
                          [&conversation, on_end = std::move(on_end)] {
                            conversation.ended = true;
                            if (on_end) on_end();
                          }});
  if (held_) conversation.cable->hold();
  handlers_.dial(conversation.cable->take_near_end());
  conversation.cable->send(conversation.handshake.take_output());
  return conversation;
}

void SimulatedDial::receive(Conversation& conversation, ByteSpan bytes,
                            const std::function<void(Conversation&)>& on_done) {
  Bytes& in = conversation.in;
  in.insert(in.end(), bytes.begin(), bytes.end());
  Bytes opened;
  Result<size_t> used = 0;
  if (conversation.records) {
    used = conversation.records->open(in, opened);
  } else {
    used = conversation.handshake.receive(in);
    conversation.cable->send(conversation.handshake.take_output());
  }
  // A refusal. The other end closes the connection.
  if (!used) return handlers_.on_event(used.error().message);
  in.erase(in.begin(), in.begin() + static_cast<ptrdiff_t>(*used));
  if (!opened.empty()) handlers_.on_bytes(opened);
  if (conversation.records || !conversation.handshake.done()) return;
  conversation.records.emplace(conversation.handshake.session());
  on_done(conversation);
}

void SimulatedDial::hold() {
  held_ = true;
  for (const Conversation& conversation : conversations_)
    conversation.cable->hold();
}

void SimulatedDial::release() {
  held_ = false;
  for (const Conversation& conversation : conversations_)
    conversation.cable->release();
}

void SimulatedDial::send(ByteSpan bytes) {
  Bytes wire;
  agent_->records->seal(wire, bytes);
  agent_->cable->send(wire);
}

}  // namespace dt
