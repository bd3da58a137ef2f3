// A parameter server under any sequence of requests, departures, restarts and checkpoints, and a
// replica under any inputs. The fuzzer's input is a list of steps. Each step has a letter for its
// kind and a byte for the worker. A request, a checkpoint and an input add a u16 length and their
// bytes. The number of an input is not among them: it is the next one.

#include "comm/training/ps/state/part_copy.h"
#include "comm/training/ps/state/server_state.h"
#include "tests/fuzz/fuzz.h"

#include <map>
#include <memory>
#include <set>

namespace dt {
namespace {

constexpr uint32_t workers = 3;
/// Small limits, so that short inputs reach them, and memory stays small.
constexpr PsLimits limits = {.variables = 4, .bytes = 4096, .requests_per_worker = 3};

class World {
 public:
  World()
      : state_({.workers = tasks(), .limits = limits}),
        replica_({.workers = tasks(), .limits = limits}, PartCopy::Role::replica) {
    const Bytes empty = state_.save().joined();
    follow(encode_parts(1, PsStart{limits.bytes, empty, nullptr}).joined());
    // Most requests need a variable.
    const DeclareRequest request{.variables = {{.name = "w", .shape = {2, 2}}},
                                 .shards = {{.shard = {.rows = 2}, .initial = {}}},
                                 .initializes = true};
    ask(0, encode(PsRequest(request)));
  }

  void ask(uint32_t worker, ByteSpan bytes) {
    if (gone_.contains(worker)) return;
    asked_[++last_] = worker;
    note_session(worker, bytes);
    const auto body = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
    state_.handle({worker, last_, body, *body, attempts_[worker] + 1});
    // The files do not exist.
    for (const PsFileRequest& request : state_.take_file_requests())
      state_.answer(request, fail(Errc::not_found, "/nowhere: there is no such file"));
    collect();
    size_t waiting = 0;
    for (const auto& [number, owner] : asked_)
      waiting += owner == worker ? 1 : 0;
    assert(waiting <= limits.requests_per_worker);
  }
  void gone(uint32_t worker, Notice::Kind kind) {
    gone_.insert(worker);
    state_.note({.kind = kind,
                 .task = {"worker", static_cast<int>(worker)},
                 .cause = "killed by SIGKILL",
                 .attempt = attempts_[worker] + 1});
    std::erase_if(asked_, [worker](const auto& entry) { return entry.second == worker; });
    collect();
  }
  /// The replica gets the next input.
  void follow_next(ByteSpan bytes) {
    Writer message;
    message.number(replica_.number() + 1).raw(bytes);
    follow(message.take());
  }
  /// A worker begins anew. A notice, or its first request, reports that.
  void restart(uint32_t worker) {
    gone_.erase(worker);
    const uint32_t attempt = ++attempts_[worker] + 1;
    std::erase_if(asked_, [worker](const auto& entry) { return entry.second == worker; });
    sessions_.erase(worker);
    assert(state_.sessions().check_attempt(worker, attempt));
    if (attempt % 2 == 1) return ask(worker, encode(PsRequest(StatusRequest{})));
    state_.note({Notice::Kind::restarted, {"worker", static_cast<int>(worker)}, "", attempt});
    collect();
  }
  void load(ByteSpan bytes) {
    const Result<> loaded = state_.load(SavedBytes::in_memory(bytes));
    if (!loaded) check_message(loaded.error());
    collect();
  }
  /// A checkpoint of any state can be loaded.
  void end() {
    const Bytes saved = state_.save().joined();
    assert(state_.load(SavedBytes::in_memory(saved)));
    assert(state_.save().joined() == saved);
    replica_.take_over();
    assert(replica_.take_deliveries().empty());
  }

 private:
  void follow(Bytes message) {
    const Result<> followed = replica_.follow(std::make_shared<const Bytes>(std::move(message)));
    if (!followed) check_message(followed.error());
  }
  /// Another client of a worker gets no replies to requests of the one before.
  void note_session(uint32_t worker, ByteSpan bytes) {
    const Result<PsRequest> decoded = decode_ps_request(bytes);
    const auto* const attach = decoded ? std::get_if<AttachRequest>(&*decoded) : nullptr;
    if (attach == nullptr || sessions_[worker] == attach->session) return;
    sessions_[worker] = attach->session;
    std::erase_if(
        asked_, [&](const auto& entry) { return entry.second == worker && entry.first != last_; });
  }
  static std::vector<PsWorker> tasks() {
    std::vector<PsWorker> all;
    for (uint32_t i = 0; i < workers; ++i)
      all.push_back({.id = {"worker", static_cast<int>(i)}, .host = "a", .takes_part = i < 2});
    return all;
  }
  void collect() {
    for (const PsDelivery& delivery : state_.take_deliveries()) {
      const auto asked = asked_.find(delivery.request);
      assert(asked != asked_.end() && asked->second == delivery.worker);
      asked_.erase(asked);
      const Bytes message = delivery.reply.joined();
      const PsReply reply = decode_ps_reply(message).value();
      if (reply.error) check_message(*reply.error);
    }
  }

  PsServerState state_;
  PartCopy replica_;
  std::map<uint32_t, uint64_t> sessions_;  ///< by worker
  uint32_t last_ = 0;
  std::map<uint32_t, uint32_t> asked_;  ///< requests without a reply: their workers
  std::set<uint32_t> gone_;
  std::map<uint32_t, uint32_t> attempts_;  ///< restarts, by worker
};

}  // namespace

void fuzz_one(ByteSpan bytes) {
  World world;
  Reader input(bytes);
  while (!input.rest().empty()) {
    const auto what = input.number<uint8_t>();
    const uint32_t worker = input.number<uint8_t>() % workers;
    if (what == 'k' || what == 'l') {
      world.gone(worker, what == 'k' ? Notice::Kind::dead : Notice::Kind::left);
      continue;
    }
    if (what == 'n') {
      world.restart(worker);
      continue;
    }
    const size_t length = std::min<size_t>(input.number<uint16_t>(), input.rest().size());
    if (what == 'c') {
      world.load(input.raw(length));
    } else if (what == 'f') {
      world.follow_next(input.raw(length));
    } else {
      world.ask(worker, input.raw(length));
    }
  }
  world.end();
}

}  // namespace dt
