#include "rendezvous/store/membership.h"

#include "base/format.h"
#include "base/text.h"

#include <cassert>
#include <utility>

namespace dt {

Membership::Membership(TaskTable table) : table_(std::move(table)) {
  for (const TaskEntry& task : table_.tasks) {
    Member member;
    member.host = task.host;
    members_.emplace(task.id, std::move(member));
  }
}

const Membership::Member* Membership::find(const TaskId& task) const {
  const auto at = members_.find(task);
  return at == members_.end() ? nullptr : &at->second;
}

Result<> Membership::join(const TaskId& task, ClientId client, int64_t pid, uint32_t attempt) {
  const auto at = members_.find(task);
  if (at == members_.end()) {
    return fail(Errc::refused, format("{} is not a task of this job, which has {}",
                                      printable(task.text()), roles_text()));
  }
  Member& member = at->second;
  if (attempt != member.attempt) {
    return fail(Errc::refused, format("{} is at attempt {}, so pid {} cannot join as its attempt "
                                      "{}",
                                      task.text(), member.attempt, pid, attempt));
  }
  if (member.state == State::joined && member.pid == pid) {
    return fail(Errc::refused, format("{} already joined, with the same pid {}; use the first "
                                      "context of dtrain_init",
                                      task.text(), pid));
  }
  if (member.state == State::joined) {
    return fail(Errc::refused, format("{} already joined (pid {}); second claim from pid {}",
                                      task.text(), member.pid, pid));
  }
  if (member.state != State::absent) {
    return fail(Errc::refused, format("{}, so pid {} cannot join as it", gone_text(task), pid));
  }
  member.state = State::joined;
  member.client = client;
  member.pid = pid;
  clients_.emplace(client, Client{task, attempt});
  return {};
}

void Membership::disconnect(ClientId client) {
  const auto at = clients_.find(client);
  if (at == clients_.end()) return;
  Member& member = members_.at(at->second.task);
  if (member.state == State::joined && member.client == client) member.state = State::absent;
  clients_.erase(at);
}

bool Membership::changes(const Member& member, const Notice& notice) {
  if (notice.kind == Notice::Kind::restarted)
    return member.state == State::dead && notice.attempt > member.attempt;
  if (member.state == State::dead)
    return notice.kind == Notice::Kind::dead && member.returns && !notice.returns;
  return member.state != State::left;
}

bool Membership::note(const Notice& notice) {
  const auto at = members_.find(notice.task);
  if (at == members_.end() || !changes(at->second, notice)) return false;
  Member& member = at->second;
  switch (notice.kind) {
    case Notice::Kind::dead:
      member.state = State::dead;
      break;
    case Notice::Kind::left:
      member.state = State::left;
      break;
    case Notice::Kind::restarted:
      member.state = State::absent;
      member.attempt = notice.attempt;
      break;
  }
  member.returns = notice.returns;
  member.cause = notice.cause;
  // A later client needs no attempts between the first and the last. So a task that starts again
  // without a limit fills no memory.
  if (notice.kind == Notice::Kind::restarted) {
    std::erase_if(gone_, [&notice](const Notice& old) {
      return old.task == notice.task && old.attempt > first_attempt;
    });
  }
  gone_.push_back(notice);
  return true;
}

Membership::State Membership::state(const TaskId& task) const {
  const Member* member = find(task);
  return member == nullptr ? State::unknown : member->state;
}

std::string Membership::gone_text(const TaskId& task) const {
  const Member* member = find(task);
  assert(member != nullptr);
  if (member->state == State::left) return format("{} has left", task_text(task));
  return format("{} died: {}", task_text(task), member->cause);
}

std::string Membership::task_text(const TaskId& task) const {
  const Member* member = find(task);
  if (member == nullptr) return printable(task.text());
  return format("{} (host {})", task.text(), member->host);
}

int64_t Membership::pid_of(const TaskId& task) const {
  const Member* member = find(task);
  return member != nullptr && member->state == State::joined ? member->pid : 0;
}

Result<> Membership::check_current(ClientId client) const {
  const Client& self = clients_.at(client);
  const uint32_t now = members_.at(self.task).attempt;
  if (self.attempt == now) return {};
  return fail(Errc::refused, format("attempt {} of {} has ended, and attempt {} has begun",
                                    self.attempt, self.task.text(), now));
}

std::string Membership::roles_text() const {
  std::map<std::string, int> counts;
  for (const auto& [task, member] : members_)
    ++counts[task.role];
  std::vector<std::string> roles;
  roles.reserve(counts.size());
  for (const auto& [role, count] : counts) {
    roles.push_back(count == 1 ? format("1 {}", role) : format("{} {}s", count, role));
  }
  return roles.empty() ? "none" : dt::join(roles, ", ");
}

}  // namespace dt
