#include "comm/training/ps/state/server_state.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <utility>

namespace dt {

namespace {

// A checkpoint is the magic, the length of the head, the head, the arrays, and the digest of all.
constexpr std::string_view checkpoint_magic = "dtrain parameters 2";
constexpr size_t magic_bytes = sizeof(uint32_t) + checkpoint_magic.size();

/// Reads the magic and the head.
Result<Bytes> read_head(SavedReader& reader) {
  std::array<std::byte, magic_bytes + sizeof(uint64_t)> start = {};
  const bool read = reader.read(start).has_value();
  Reader fields(start);
  if (!read || fields.text() != checkpoint_magic)
    return fail(Errc::protocol, "it is no checkpoint of this version of dtrain");
  const auto length = fields.number<uint64_t>();
  if (length > std::min(saved_head_bytes_max, reader.left()))
    return fail(Errc::protocol, "its checksum does not fit: it is damaged or cut short");
  Bytes head(length);
  TRY(reader.read(head));
  return head;
}

}  // namespace

PsServerState::PsServerState(Options options)
    : options_(std::move(options)),
      coordinator_(options_.workers),
      store_(options_.limits),
      sessions_(options_.workers, options_.limits.requests_per_worker) {
}

/// Drops what waits of the worker: its requests get no reply.
void PsServerState::drop_requests(uint32_t worker) {
  std::erase_if(declares_, [worker](const auto& entry) { return entry.asked.worker == worker; });
  std::erase_if(file_requests_, [worker](const auto& file) { return file.worker == worker; });
}

void PsServerState::restarted(uint32_t worker, uint32_t attempt) {
  sessions_.restart(worker, attempt);
  drop_requests(worker);
  coordinator_.restarted(worker);
  answer_waits();
}

void PsServerState::note(const Notice& notice) {
  const std::optional<uint32_t> known = sessions_.find(notice.task);
  if (!known) return;
  const uint32_t worker = *known;
  if (notice.attempt > sessions_.attempt(worker)) restarted(worker, notice.attempt);
  if (notice.kind == Notice::Kind::restarted || !sessions_.end(worker, notice)) return;
  std::erase_if(declares_, [worker](const auto& entry) { return entry.asked.worker == worker; });
  if (notice.kind == Notice::Kind::left) {
    coordinator_.left(worker, sessions_.ending(worker));
  } else {
    coordinator_.gone(worker, sessions_.ending(worker), notice.returns);
  }
  answer_waits();
  answer_declares();
}

bool PsServerState::all_gone() const {
  for (uint32_t worker = 0; worker < sessions_.size(); ++worker)
    if (coordinator_.takes_part(worker) && !sessions_.gone(worker)) return false;
  return true;
}

void PsServerState::refuse(uint32_t worker, uint32_t request, std::string why) {
  sessions_.add_request(worker);
  reply_error({worker, request}, {Errc::refused, std::move(why)});
}

/// A repeated request of this kind can be carried out again.
bool PsServerState::only_reads(const PsRequest& request) const {
  if (const auto* const pull = std::get_if<PullRequest>(&request))
    return !store_.awaits(pull->decision);
  return std::holds_alternative<StatusRequest>(request);
}

bool PsServerState::handle(const PsIncoming& asked) {
  // It may ask before the notice of its restart arrives.
  const bool begins = asked.attempt > sessions_.attempt(asked.worker);
  if (begins) restarted(asked.worker, asked.attempt);
  if (const Result<> current = sessions_.check_current(asked.worker, asked.attempt); !current) {
    PsReply refused{.error = current.error()};
    deliver(asked, asked.attempt, refused, {});
    return false;
  }
  if (sessions_.repeats(asked.worker, asked.request)) {
    // Without an answer, the reply is still to come.
    if (const PsReply* const answer = sessions_.answer(asked.worker)) repeat(asked, *answer);
    return false;
  }
  const Result<PsRequest> decoded = decode_ps_request(asked.body);
  const auto* const attach = decoded ? std::get_if<AttachRequest>(&*decoded) : nullptr;
  if (attach != nullptr && sessions_.begin(asked.worker, attach->session)) {
    // A client never gets replies to requests of another one.
    drop_requests(asked.worker);
    coordinator_.connected(asked.worker);
  }
  bool changes = false;
  const auto answer = [&]() -> Verdict {
    sessions_.add_request(asked.worker);
    TRY(sessions_.check_requests(asked.worker));
    if (!decoded) return tl::unexpected(decoded.error());
    changes = !only_reads(*decoded);
    if (changes && attach == nullptr) sessions_.begin_change(asked.worker, asked.request);
    return std::visit([&](const auto& which) { return on(asked, which); }, *decoded);
  };
  Verdict verdict = answer();
  if (!verdict) {
    reply_error(asked, std::move(verdict).error());
  } else if (std::optional<PsReply>& now = *verdict) {
    reply(asked, *std::move(now));
  }
  answer_waits();
  return changes || begins;
}

/// Answers a repeated request, whose effect has already happened, with the current values.
void PsServerState::repeat(const Asked& asked, PsReply answer) {
  sessions_.add_request(asked.worker);
  const Result<PsRequest> decoded = decode_ps_request(asked.body);
  const auto* const push = decoded ? std::get_if<PushRequest>(&*decoded) : nullptr;
  const auto* const pull = decoded ? std::get_if<PullRequest>(&*decoded) : nullptr;
  std::span<const ShardPull> pulls;
  if (push != nullptr && answer.verdict == PsVerdict::done) pulls = push->pulls;
  if (pull != nullptr) pulls = pull->pulls;
  if (!answer.error && store_.check(pulls)) store_.pull(pulls, answer);
  const uint64_t step = answer.step;
  reply(asked, std::move(answer), step);
}

void PsServerState::reply(const Asked& asked, PsReply reply, std::optional<uint64_t> step) {
  if (!sessions_.take_reply(asked.worker)) return;
  deliver(asked, sessions_.attempt(asked.worker), reply, step);
  sessions_.keep_answer(asked.worker, asked.request, std::move(reply));
}

void PsServerState::deliver(const Asked& asked, uint32_t attempt, PsReply& reply,
                            std::optional<uint64_t> step) {
  if (coordinates()) {
    reply.mode = coordinator_.mode();
    reply.decision = coordinator_.decision();
  }
  reply.step = step.value_or(this->step());
  if (!silent_) deliveries_.push_back({asked.worker, asked.request, encode_parts(reply), attempt});
}

void PsServerState::reply_error(const Asked& asked, Error error) {
  reply(asked, {.error = std::move(error)});
}

/// Replies to the commits and barriers that have ended. Server 0 has all pushes of a round that it
/// has decided.
void PsServerState::answer_waits() {
  if (coordinates()) {
    [[maybe_unused]] const Result<> applied = store_.apply(coordinator_.decision());
    assert(applied);
  }
  for (StepCoordinator::Answer& answer : coordinator_.take_answers()) {
    reply({answer.caller.worker, answer.caller.request},
          {.error = std::move(answer.error), .verdict = answer.verdict});
  }
}

/// Replies to the declarations whose variables have values, or will get none.
void PsServerState::answer_declares() {
  const auto first = std::ranges::find(options_.workers, true, &PsWorker::takes_part);
  const auto chief = static_cast<uint32_t>(first - options_.workers.begin());
  for (WaitingDeclare& waiting : std::exchange(declares_, {})) {
    const Result<> same =
        store_.declared(waiting.request)
            ? store_.declare(sessions_.name(waiting.asked.worker), waiting.request)
            : Result<>();
    if (!same) {
      reply_error(waiting.asked, same.error());
    } else if (store_.initialized(waiting.request)) {
      reply(waiting.asked, {});
    } else if (chief < sessions_.size() && sessions_.gone(chief)) {
      reply_error(waiting.asked,
                  {Errc::peer_lost, format("the variables have no initial values: {} {}",
                                           sessions_.name(chief), sessions_.ending(chief))});
    } else {
      declares_.push_back(std::move(waiting));
    }
  }
}

Result<> PsServerState::require_coordinator() const {
  if (coordinates()) return {};
  return fail(Errc::protocol, "only server 0 decides about steps");
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const DeclareRequest& request) {
  // The first rank's declaration counts; the others are compared with it.
  if (request.initializes || store_.declared(request))
    TRY(store_.declare(sessions_.name(asked.worker), request));
  declares_.push_back({asked, request});
  answer_declares();
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const PushRequest& request) {
  TRY(store_.apply(request.decision));
  if (coordinator_.waits(asked.worker))
    return fail(Errc::protocol, "a worker pushes while it waits for its last commit");
  if (request.kind == PsMode::Kind::sync) {
    if (coordinates() && coordinator_.stale_push(asked.worker, request.round))
      return PsReply{.verdict = PsVerdict::stale};
    TRY(store_.hold(asked.worker, request, asked.owner));
    return PsReply{.verdict = PsVerdict::held};
  }
  PsReply values;
  if (silent_) {
    TRY(store_.push(request));
  } else {
    TRY(store_.push_and_pull(request, asked.owner, values));
  }
  if (coordinates()) coordinator_.applied_push(asked.worker, request.seen_step);
  reply(asked, std::move(values));
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const CommitRequest& request) {
  TRY(require_coordinator());
  const bool sync = request.mode.kind == PsMode::Kind::sync;
  const bool stale = request.round < coordinator_.decision().round;
  if (sync && !stale && !store_.holds(asked.worker, request.round))
    return fail(Errc::protocol, "a commit comes without its push");
  coordinator_.commit({asked.worker, asked.request}, request);
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const PullRequest& request) {
  TRY(store_.apply(request.decision));
  TRY(store_.check(request.pulls));
  PsReply values;
  if (!silent_) store_.pull(request.pulls, values);
  return values;
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const ModeRequest& request) {
  TRY(require_coordinator());
  TRY(coordinator_.set_mode(request.kind, request.count));
  return PsReply{};
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const SaveRequest& request) {
  TRY(store_.apply(request.decision));
  file_requests_.push_back(
      {.worker = asked.worker, .request = asked.request, .save = true, .path = request.path});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const LoadRequest& request) {
  file_requests_.push_back({.worker = asked.worker,
                            .request = asked.request,
                            .check_only = request.check_only,
                            .path = request.path});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const BarrierRequest& /*request*/) {
  TRY(require_coordinator());
  coordinator_.barrier({asked.worker, asked.request});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const StatusRequest& /*request*/) {
  PsStatus status{.variables = store_.variables(), .bytes = store_.bytes()};
  coordinator_.count_into(status);
  return PsReply{.status = std::move(status)};
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const LeaveRequest& /*request*/) {
  coordinator_.left(asked.worker, "has closed its connection");
  return PsReply{};
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const AttachRequest& /*request*/) {
  return PsReply{};
}

std::vector<PsDelivery> PsServerState::take_deliveries() {
  return std::exchange(deliveries_, {});
}

std::vector<PsFileRequest> PsServerState::take_file_requests() {
  return std::exchange(file_requests_, {});
}

void PsServerState::answer(const PsFileRequest& request, const Result<>& result,
                           std::optional<uint64_t> step) {
  std::erase_if(file_requests_, [&](const PsFileRequest& file) {
    return file.worker == request.worker && file.request == request.request;
  });
  const Asked asked{request.worker, request.request};
  if (!result) return reply_error(asked, result.error());
  reply(asked, {}, step);
  answer_declares();
}

uint64_t PsServerState::step() const {
  return coordinates() ? coordinator_.step() : store_.step();
}

MessageParts PsServerState::save() const {
  Writer head;
  head.number(options_.server).number(options_.servers).number(step());
  store_.save(head);
  Writer start;
  start.text(checkpoint_magic).number(uint64_t{head.view().size()}).raw(head.view());
  MessageParts saved = MessageParts::of(start.take());
  for (const ByteSpan array : store_.arrays())
    if (!array.empty()) saved.parts.push_back({array});
  Sha256 sum;
  for (const MessagePart& part : saved.parts)
    sum.add(part.bytes);
  const auto digest = std::make_shared<const Digest>(sum.finish());
  saved.parts.push_back({*digest});
  saved.owners.push_back(digest);
  return saved;
}

/// The head of a checkpoint that fits to this server.
struct PsServerState::Saved {
  uint64_t step = 0;
  SavedStore store = {};
};

/// Reads the head, and leaves the arrays.
Result<PsServerState::Saved> PsServerState::check_head(SavedReader& reader) const {
  const Bytes head = TRY(read_head(reader));
  Reader fields(head);
  const auto server = fields.number<uint32_t>();
  const auto servers = fields.number<uint32_t>();
  if (server != options_.server || servers != options_.servers) {
    return fail(Errc::mismatch,
                format("it is of parameter server {} of {}, and this one is {} of {}", server,
                       servers, options_.server, options_.servers));
  }
  Saved saved{.step = fields.number<uint64_t>()};
  saved.store = TRY(store_.check(fields, reader.left()));
  return saved;
}

Result<uint64_t> PsServerState::check(const SavedBytes& saved) const {
  SavedReader start(saved);
  TRY(read_head(start));
  TRY(SavedReader(saved).check_digest());
  SavedReader reader(saved);
  const Saved head = TRY(check_head(reader));
  return head.step;
}

Result<> PsServerState::load(const SavedBytes& saved) {
  TRY(check(saved));
  SavedReader reader(saved);
  const Saved head = TRY(check_head(reader));
  TRY(store_.load(head.store, [&](std::span<std::byte> array) { return reader.read(array); }));
  coordinator_.set_step(head.step);
  answer_declares();
  return {};
}

}  // namespace dt
