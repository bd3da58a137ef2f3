#include "comm/engine/point_to_point.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/descriptor.h"
#include "comm/collective/reduce.h"
#include "comm/collective/terms.h"

#include <algorithm>

namespace dt {

namespace {

constexpr auto message_data = static_cast<uint8_t>(EngineMessageType::message_data);
constexpr size_t refusal_bytes_max = 2000;

template <class Items>
auto find_id(Items& items, uint32_t id) {
  return std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.id == id; });
}

/// The terms that describe opaque elements; default ones for a message of a type.
OperationTerms element_terms(const OperationRequest& request) {
  OperationTerms terms;
  if (!request.terms) return terms;
  terms.element = request.terms->element;
  terms.element_bytes = request.terms->element_bytes;
  return terms;
}

/// "float32[100]", "complex64[100]".
std::string elements_text(ElementType type, uint64_t count, const OperationTerms& terms) {
  return format("{}[{}]", element_text(type, terms), count / bytes_of_opaque(terms));
}

}  // namespace

PointToPoint::PointToPoint(Peers& peers) : peers_(peers) {
  for (int rank = 0; rank < peers.size(); ++rank)
    channels_.push_back({.peer = rank});
}

void PointToPoint::submit(Pending operation) {
  Channel& to = channel(operation->request.peer);
  if (to.left_groups.contains(operation->request.group)) return end(*operation, left_by(to));
  if (!to.active) active_.push_back(to.peer);
  to.active = true;
  earliest_ = std::min(earliest_, deadline(*operation));
  const bool send = operation->request.kind == OperationKind::send;
  if (!send) peers_.connect(to.peer);
  (send ? to.waiting : to.posted).push_back(std::move(operation));
}

bool PointToPoint::step(Time now) {
  bool moved = false;
  for (const int peer : active_)
    moved |= step_channel(channel(peer), now);
  std::erase_if(active_, [this](int peer) {
    channel(peer).active = busy(channel(peer));
    return !channel(peer).active;
  });
  if (active_.empty()) earliest_ = Time::max();
  if (earliest_ > now) return moved;
  earliest_ = Time::max();
  for (const int peer : active_)
    earliest_ = std::min(earliest_, next_deadline(channel(peer)));
  return moved;
}

/// Data to be discarded counts, too: its sender waits until this rank has read it.
bool PointToPoint::busy(const Channel& channel) {
  return !channel.waiting.empty() || !channel.offered.empty() || !channel.posted.empty() ||
         !channel.receiving.empty();
}

bool PointToPoint::step_channel(Channel& channel, Time now) {
  bool moved = finish_sends(channel);
  if (peers_.gone(channel.peer)) {
    const OperationFailure why{Errc::peer_lost, channel.peer, peers_.gone_reason(channel.peer)};
    return fail(channel, why) || moved;
  }
  moved |= match(channel);
  if (earliest_ <= now) {
    moved |= expire_sends(channel, now);
    moved |= expire_receives(channel, now);
  }
  moved |= make_offers(channel);
  return moved;
}

void PointToPoint::add_waits(std::vector<PendingWait>& waits) const {
  for (const int peer : active_) {
    const Channel& channel = channels_[static_cast<size_t>(peer)];
    for (const PendingWait& wait : {first_send(channel), first_receive(channel)})
      if (wait.operation != nullptr) waits.push_back(wait);
  }
}

PendingWait PointToPoint::first_send(const Channel& channel) const {
  if (channel.offered.empty())
    return {channel.waiting.empty() ? nullptr : channel.waiting.front().get()};
  const Offered& first = channel.offered.front();
  const MessageLink* link = peers_.link(channel.peer);
  return {first.operation.get(),
          uint64_t{first.accepted} - link->unsent_bytes(message_data, first.id)};
}

PendingWait PointToPoint::first_receive(const Channel& channel) {
  for (const Receiving& receiving : channel.receiving)
    if (receiving.operation) return {receiving.operation.get(), 1 + uint64_t{receiving.arrived}};
  return {channel.posted.empty() ? nullptr : channel.posted.front().get()};
}

bool PointToPoint::make_offers(Channel& channel) {
  bool moved = false;
  while (!channel.waiting.empty() && channel.offered.size() < offers_max) {
    const OperationRequest& request = channel.waiting.front()->request;
    const uint32_t id = channel.next_id++;
    Writer writer;
    writer.number(request.type).number(uint64_t{request.count}).number(request.group);
    writer.number(hash_of_name(request.name));
    writer.text(std::string_view(request.name).substr(0, name_bytes_max));
    const OperationTerms terms = element_terms(request);
    writer.number(terms.element_bytes).text(terms.element);
    peers_.send(channel.peer, EngineMessageType::offer, id, writer.view());
    channel.offered.push_back({id, std::move(channel.waiting.front())});
    channel.waiting.pop_front();
    moved = true;
  }
  return moved;
}

bool PointToPoint::match(Channel& channel) {
  bool moved = false;
  if (channel.posted.empty()) return moved;
  channel.offers.erase_if([&](const Offer& offer) {
    const auto found =
        std::find_if(channel.posted.begin(), channel.posted.end(),
                     [&](const Pending& o) { return o->request.group == offer.group; });
    if (found == channel.posted.end()) return false;
    const Pending operation = *found;
    channel.posted.erase(found);
    match(channel, offer, operation);
    moved = true;
    return true;
  });
  return moved;
}

void PointToPoint::match(Channel& channel, const Offer& offer, const Pending& operation) {
  const OperationRequest& request = operation->request;
  if (offer.type != request.type || offer.count != request.count ||
      offer.terms != element_terms(request) || offer.name_hash != hash_of_name(request.name)) {
    const std::string text = mismatch_text(channel, offer, request);
    peers_.send(channel.peer, EngineMessageType::refuse, offer.id, as_bytes(text));
    end(*operation, {Errc::mismatch, channel.peer, text});
    return;
  }
  note_start(*operation);
  peers_.send(channel.peer, EngineMessageType::accept, offer.id, {});
  if (request.count == 0) {
    succeed(*operation);
  } else {
    channel.receiving.push_back({offer.id, operation, bytes_of(request)});
  }
}

std::string PointToPoint::mismatch_text(const Channel& channel, const Offer& offer,
                                        const OperationRequest& request) const {
  const OperationTerms terms = element_terms(request);
  if (offer.type != request.type || offer.count != request.count || offer.terms != terms) {
    return format("rank {} sent {}, rank {} receives {}", channel.peer,
                  elements_text(offer.type, offer.count, offer.terms), peers_.rank(),
                  elements_text(request.type, request.count, terms));
  }
  const NameDifference names = name_difference(offer.name, request.name.substr(0, name_bytes_max));
  return format("rank {} gave its send {}, rank {} its receive {}", channel.peer, names.one,
                peers_.rank(), names.other);
}

bool PointToPoint::finish_sends(Channel& channel) {
  return std::erase_if(channel.offered, [&](const Offered& offered) {
           if (!offered.accepted || peers_.link(channel.peer)->sending(message_data, offered.id))
             return false;
           succeed(*offered.operation);
           return true;
         }) > 0;
}

OperationFailure PointToPoint::late(const Channel& channel, const Operation& operation) const {
  const bool send = operation.request.kind == OperationKind::send;
  return {Errc::timeout, channel.peer,
          format("timed out after {}: {} has not {}", duration_text(operation.request.timeout),
                 peers_.name(channel.peer), send ? "received" : "sent")};
}

bool PointToPoint::expire_sends(Channel& channel, Time now) {
  const auto expired = [&](const Pending& o) {
    if (deadline(*o) > now) return false;
    end(*o, late(channel, *o));
    return true;
  };
  size_t ended = channel.waiting.erase_if(expired);
  ended += std::erase_if(channel.offered, [&](const Offered& offered) {
    if (!expired(offered.operation)) return false;
    peers_.link(channel.peer)->cancel_send(message_data, offered.id);
    const std::string why = "timed out after " + duration_text(offered.operation->request.timeout);
    peers_.send(channel.peer, EngineMessageType::cancel, offered.id, as_bytes(why));
    return true;
  });
  return ended > 0;
}

bool PointToPoint::expire_receives(Channel& channel, Time now) {
  const auto expired = [&](const Pending& o) {
    if (deadline(*o) > now) return false;
    end(*o, late(channel, *o));
    return true;
  };
  size_t ended = channel.posted.erase_if(expired);
  std::erase_if(channel.receiving, [&](Receiving& receiving) {
    if (!receiving.operation || !expired(receiving.operation)) return false;
    ++ended;
    // The sender may still be sending. All data that arrives after the timeout is discarded.
    receiving.operation = nullptr;
    receiving.arrived += peers_.link(channel.peer)->cancel_receive(message_data, receiving.id);
    return receiving.arrived == receiving.bytes;
  });
  return ended > 0;
}

bool PointToPoint::fail(Channel& channel, const OperationFailure& why) {
  bool ended = !channel.waiting.empty() || !channel.offered.empty() || !channel.posted.empty();
  for (VectorQueue<Pending>* queue : {&channel.waiting, &channel.posted}) {
    for (const Pending& operation : *queue)
      end(*operation, why);
    queue->clear();
  }
  for (const Offered& offered : channel.offered) {
    peers_.link(channel.peer)->cancel_send(message_data, offered.id);
    end(*offered.operation, why);
  }
  channel.offered.clear();
  for (const Receiving& receiving : channel.receiving) {
    peers_.link(channel.peer)->cancel_receive(message_data, receiving.id);
    if (!receiving.operation) continue;
    end(*receiving.operation, why);
    ended = true;
  }
  channel.receiving.clear();
  return ended;
}

OperationFailure PointToPoint::left_by(const Channel& channel) const {
  return {Errc::peer_lost, channel.peer, peers_.name(channel.peer) + " has finalized the group"};
}

/// Fails all but the messages that were offered to the peer.
void PointToPoint::fail_group(Channel& channel, uint32_t group, const OperationFailure& why) {
  const auto ended = [&](const Pending& o) {
    if (o->request.group != group) return false;
    end(*o, why);
    return true;
  };
  channel.posted.erase_if(ended);
  channel.waiting.erase_if(ended);
  std::erase_if(channel.receiving, [&](Receiving& receiving) {
    if (!receiving.operation || !ended(receiving.operation)) return false;
    // The sender may still be sending. All data that arrives later is discarded.
    receiving.operation = nullptr;
    receiving.arrived += peers_.link(channel.peer)->cancel_receive(message_data, receiving.id);
    return receiving.arrived == receiving.bytes;
  });
}

void PointToPoint::leave_group(const GroupPeers& group, const OperationFailure& why) {
  const uint32_t number = group.number();
  left_groups_.insert(number);
  for (const int peer : group.job_ranks()) {
    Channel& channel = this->channel(peer);
    peers_.send(peer, EngineMessageType::left_group, number, {}, Recipients::connected);
    channel.left_groups.erase(number);
    channel.offers.erase_if([&](const Offer& o) { return o.group == number; });
    fail_group(channel, number, why);
    std::erase_if(channel.offered, [&](const Offered& offered) {
      if (offered.operation->request.group != number) return false;
      end(*offered.operation, why);
      peers_.link(peer)->cancel_send(message_data, offered.id);
      peers_.send(peer, EngineMessageType::cancel, offered.id, as_bytes(why.reason));
      return true;
    });
  }
}

void PointToPoint::fail_all(const OperationFailure& why) {
  for (const int peer : active_)
    fail(channel(peer), why);
}

Result<> PointToPoint::offer(const Message& message, ByteSpan payload) {
  Reader reader(payload);
  const auto type = reader.number<ElementType>();
  const auto count = reader.number<uint64_t>();
  const auto group = reader.number<uint32_t>();
  const auto name_hash = reader.number<uint64_t>();
  std::string name = reader.text();
  OperationTerms terms;
  terms.element_bytes = reader.number<uint32_t>();
  terms.element = reader.text();
  TRY(reader.finish("offer"));
  Channel& from = channel(message.from);
  const bool known_elements = terms.element.size() <= OperationTerms::element_name_bytes_max;
  if (!known(type) || !known_elements || name.size() > name_bytes_max ||
      from.offers.size() + from.receiving.size() >= offers_max)
    return dt::fail(Errc::protocol, "an offer of no known form, or one too many");
  const bool twice = find_id(from.receiving, message.stream) != from.receiving.end() ||
                     find_id(from.offers, message.stream) != from.offers.end();
  if (twice) return dt::fail(Errc::protocol, format("a second offer {}", message.stream));
  Offer offer{message.stream, type, count, group, name_hash, std::move(name), std::move(terms)};
  // The sender learns from left_group that this rank has left.
  if (!left_groups_.contains(group)) from.offers.push_back(std::move(offer));
  return {};
}

Result<> PointToPoint::accept(const Message& message) {
  Channel& to = channel(message.from);
  const auto found = find_id(to.offered, message.stream);
  if (found == to.offered.end()) return {};  // it timed out meanwhile
  if (found->accepted) return dt::fail(Errc::protocol, "a second accept");
  found->accepted = true;
  note_start(*found->operation);
  const OperationRequest& request = found->operation->request;
  if (request.count > 0) {
    peers_.link(to.peer)->send_data(
        message_data, message.stream,
        {static_cast<const std::byte*>(request.input), bytes_of(request)});
  }
  return {};
}

Result<> PointToPoint::refuse(const Message& message, ByteSpan payload) {
  Channel& to = channel(message.from);
  const auto found = find_id(to.offered, message.stream);
  if (found == to.offered.end()) return {};
  if (found->accepted) return dt::fail(Errc::protocol, "refuse after accept");
  end(*found->operation, {Errc::mismatch, to.peer, printable(as_text(payload), refusal_bytes_max)});
  to.offered.erase(found);
  return {};
}

Result<> PointToPoint::cancel(const Message& message, ByteSpan payload) {
  Channel& from = channel(message.from);
  from.offers.erase_if([&](const Offer& o) { return o.id == message.stream; });
  const auto found = find_id(from.receiving, message.stream);
  if (found == from.receiving.end()) return {};
  if (found->operation) {
    end(*found->operation,
        {Errc::timeout, from.peer,
         format("{} aborted its send: {}", peers_.name(from.peer), printable(as_text(payload)))});
  }
  from.receiving.erase(found);
  return {};
}

Result<> PointToPoint::left_group(const Message& message) {
  const uint32_t group = message.stream;
  if (group == 0 || group >= GroupPeers::groups_max)
    return dt::fail(Errc::protocol, format("a departure from group {}", group));
  if (left_groups_.contains(group)) return {};
  Channel& from = channel(message.from);
  from.left_groups.insert(group);
  const OperationFailure why = left_by(from);
  fail_group(from, group, why);
  finish_sends(from);
  std::erase_if(from.offered, [&](const Offered& offered) {
    if (offered.operation->request.group != group) return false;
    end(*offered.operation, why);
    if (!offered.accepted) return true;
    // The peer discards the data, and waits for the rest of it.
    peers_.link(from.peer)->cancel_send(message_data, offered.id);
    peers_.send(from.peer, EngineMessageType::cancel, offered.id, as_bytes(why.reason));
    return true;
  });
  return {};
}

Result<PayloadTarget> PointToPoint::place(const Message& message) {
  Channel& from = channel(message.from);
  const auto found = find_id(from.receiving, message.stream);
  if (found == from.receiving.end())
    return dt::fail(Errc::protocol,
                    format("data of message {}, which was not accepted", message.stream));
  Receiving& receiving = *found;
  if (message.length > receiving.bytes - receiving.arrived)
    return dt::fail(Errc::protocol, format("data frame of {} bytes does not fit", message.length));
  if (receiving.operation) {
    auto* into = static_cast<std::byte*>(receiving.operation->request.output);
    return PayloadTarget{PayloadTarget::Action::take, {into + receiving.arrived, message.length}};
  }
  receiving.arrived += message.length;
  if (receiving.arrived == receiving.bytes) from.receiving.erase(found);
  return PayloadTarget{PayloadTarget::Action::discard};
}

Result<> PointToPoint::arrived(const Message& message) {
  Channel& from = channel(message.from);
  const auto found = find_id(from.receiving, message.stream);
  if (found == from.receiving.end()) return {};
  Receiving& receiving = *found;
  receiving.arrived += message.length;
  if (receiving.arrived < receiving.bytes) return {};
  succeed(*receiving.operation);
  from.receiving.erase(found);
  return {};
}

Time PointToPoint::next_deadline(const Channel& channel) {
  Time next = Time::max();
  for (const Pending& operation : channel.waiting)
    next = std::min(next, deadline(*operation));
  for (const Pending& operation : channel.posted)
    next = std::min(next, deadline(*operation));
  for (const Offered& offered : channel.offered)
    next = std::min(next, deadline(*offered.operation));
  for (const Receiving& receiving : channel.receiving)
    if (receiving.operation) next = std::min(next, deadline(*receiving.operation));
  return next;
}

bool PointToPoint::idle() const {
  return std::none_of(active_.begin(), active_.end(),
                      [this](int peer) { return busy(channels_[static_cast<size_t>(peer)]); });
}

}  // namespace dt
