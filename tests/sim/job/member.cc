#include "tests/sim/job/member.h"

#include "rendezvous/secure/channel.h"

#include <cassert>
#include <optional>
#include <utility>

namespace dt {

namespace {

constexpr uint32_t set_request = 1;
constexpr uint32_t arrive_request = 2;
constexpr uint32_t barrier_request = 3;
constexpr uint32_t open_request = 4;
constexpr uint32_t wait_report = 5;
constexpr Duration join_timeout = seconds(300);

}  // namespace

class Member::Conversation {
 public:
  Conversation(Site& site, Cable::Nature nature, const Claim& claim,
               const std::function<void(Fd)>& dial, Handlers handlers)
      : generation_(claim.generation),
        handshake_(take(Handshake::dial(claim, {std::string(launcher_role), 0}))),
        handlers_(std::move(handlers)),
        cable_(site, nature,
               {.on_bytes = [this](ByteSpan bytes) { receive(bytes); },
                .on_end = [this] { lose("launcher lost"); }}) {
    dial(cable_.take_near_end());
    cable_.send(handshake_.take_output());
  }

  bool hears() const { return joined_ && !broken_; }
  Cable& cable() { return cable_; }
  Duration stall_after() const { return stall_after_; }
  void report(const WaitReport& waits) {
    if (hears()) ask(wait_report, waits);
  }

 private:
  void receive(ByteSpan bytes) {
    if (broken_) return;
    in_.insert(in_.end(), bytes.begin(), bytes.end());
    size_t used = 0;
    if (const Result<> read = channel_ ? Result<>() : shake_hands(&used); !read) {
      return lose(read.error().message);
    }
    while (channel_ && !broken_) {
      size_t taken = 0;
      const auto message = channel_->receive(ByteSpan(in_).subspan(used), &taken);
      used += taken;
      if (!message) return lose(message.error().message);
      if (!*message) break;
      hear(**message);
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(used));
  }

  Result<> shake_hands(size_t* used) {
    *used = TRY(handshake_.receive(in_));
    cable_.send(handshake_.take_output());
    if (handshake_.done()) channel_.emplace(handshake_.session(), generation_, answer_bytes_max);
    return {};
  }

  void hear(const MessageView& message) {
    switch (message.type) {
      case ChannelMessageType::welcome:
        return welcomed(take(decode_welcome(message.payload)));
      case ChannelMessageType::notice:
        for (const Notice& notice : take(decode_notices(message.payload)))
          heard(notice);
        return;
      case ChannelMessageType::reply:
        return replied(message.id, take(decode_reply(message.payload)));
      case ChannelMessageType::wait_query:
        if (handlers_.on_wait_query) handlers_.on_wait_query();
        return;
      default:
        return lose("an unknown message from the rendezvous");
    }
  }

  void welcomed(const Welcome& welcome) {
    joined_ = true;
    stall_after_ = welcome.engine.stall_after;
    for (const Notice& gone : welcome.gone)
      heard(gone);
    world_ = static_cast<int64_t>(welcome.table.tasks.size());
    ask(set_request, SetRequest{"listen/" + welcome.self.text(), to_bytes("10.0.0.1:34567"), {}});
    // The wait is sent at once, so that its reply comes before any news of tasks that have left.
    ask(arrive_request, AddRequest{"arrived", 1});
    ask(barrier_request, WaitRequest{"all", join_timeout});
  }

  /// A task that leaves before all have arrived never arrives.
  void heard(const Notice& notice) {
    handlers_.on_notice(notice);
    // A task that has died for good never arrives either.
    const bool left = notice.kind == Notice::Kind::left && handlers_.needs_all;
    const bool died = notice.kind == Notice::Kind::dead && !notice.returns && !handlers_.needs_all;
    if (!all_there_ && (left || died)) give_up(notice.task.text() + " has ended");
  }

  void replied(uint32_t request, const Reply& reply) {
    if (reply.error) return give_up(reply.error->message);
    // The last one may have died before it could open the barrier.
    if (request == arrive_request && reply.number >= world_)
      ask(open_request, SetRequest{"all", {}, {}});
    if (request != barrier_request) return;
    all_there_ = true;
    handlers_.on_barrier();
  }

  void ask(uint32_t id, const Request& request) {
    Bytes out;
    channel_->send(out, ChannelMessageType::request, id, encode(request));
    cable_.send(out);
  }

  /// It sends no more requests, but still receives notices.
  void give_up(const std::string& why) {
    if (!std::exchange(given_up_, true)) handlers_.on_failure(why);
  }
  void lose(const std::string& why) {
    broken_ = true;
    give_up(why);
  }

  /// Requires success: between two ends of this program nothing fails.
  template <class T>
  static T take(Result<T> result) {
    assert(result);
    return *std::move(result);
  }

  uint32_t generation_;
  Handshake handshake_;
  std::optional<Channel> channel_;
  Handlers handlers_;
  Cable cable_;
  Bytes in_;
  int64_t world_ = 0;
  Duration stall_after_ = {};
  bool all_there_ = false;
  bool joined_ = false;
  bool given_up_ = false;
  bool broken_ = false;
};

Member::Member(Site& site, Cable::Nature nature, Claim claim, const std::function<void(Fd)>& dial,
               Handlers handlers)
    : conversation_(
          std::make_unique<Conversation>(site, nature, claim, dial, std::move(handlers))) {
}

Member::~Member() = default;

void Member::report(const WaitReport& waits) {
  conversation_->report(waits);
}

Duration Member::stall_after() const {
  return conversation_->stall_after();
}

bool Member::hears() const {
  return conversation_->hears();
}

Cable& Member::cable() {
  return conversation_->cable();
}

}  // namespace dt
