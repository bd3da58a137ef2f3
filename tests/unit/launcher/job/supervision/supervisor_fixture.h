#pragma once

#include "launcher/job/supervision/supervisor.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <utility>

namespace dt {

/// A job of tasks that have started.
struct SupervisorFixture {
  /// `hosts` hosts with two workers each.
  static Plan plan_of(int hosts) {
    Plan plan;
    for (int h = 0; h < hosts; ++h) {
      plan.hosts.push_back({.host = {.name = "node" + std::to_string(h), .user = {}, .slots = 2}});
      for (int local = 0; local < 2; ++local) {
        const int rank = 2 * h + local;
        plan.add({.id = {"worker", rank}, .rank = rank, .local_rank = local, .agent = h});
      }
    }
    plan.world_size = 2 * hosts;
    return plan;
  }

  static Action signal_all(int number) {
    return {.kind = Action::Kind::signal, .signal = number, .notice = {}};
  }
  static Action dead(int rank, std::string cause) {
    return {.kind = Action::Kind::notify,
            .notice = {Notice::Kind::dead, {"worker", rank}, std::move(cause)}};
  }
  static Action left(int rank) {
    return {.kind = Action::Kind::notify, .notice = {Notice::Kind::left, {"worker", rank}, ""}};
  }
  static Action plain(Action::Kind kind) { return {.kind = kind, .notice = {}}; }
  inline static const Action pause = plain(Action::Kind::pause);
  inline static const Action suspend = plain(Action::Kind::suspend);
  inline static const Action resume = plain(Action::Kind::resume);
  inline static const Action finish = {.kind = Action::Kind::finish, .notice = {}};

  Time now = Time() + seconds(1000);
  Supervisor::Options options = {.grace = seconds(10), .start_deadline = now + seconds(30)};

  Supervisor start(int hosts = 1) {
    Supervisor supervisor(plan_of(hosts), options, now);
    for (size_t task = 0; task < static_cast<size_t>(2 * hosts); ++task) {
      CHECK(supervisor.started(task, 100 + static_cast<int64_t>(task), now).empty());
    }
    return supervisor;
  }
};

}  // namespace dt
