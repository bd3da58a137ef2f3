#pragma once

#include "comm/include/dtrain/dtrain_strategy.hpp"
#include "comm/training/strategy/api_strategy.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <string>
#include <utility>

namespace dt {

/// The strategy of a test.
struct TestedStrategy {
  std::string name = "mirrored";
  int devices = 2;
  StrategyRequest request = {};
  Environment more = {};  ///< variables
};

/// Makes a strategy over CPU devices.
inline dtrain::Strategy make_strategy(const dtrain::Context& world, TestedStrategy tested) {
  if (!tested.request.name) tested.request.name = tested.name;
  Environment environment = tested.more;
  environment["DTRAIN_CPU_DEVICES"] = std::to_string(tested.devices);
  auto made = Strategy::create(world.get(), tested.request, environment);
  if (made) return dtrain::Strategy(new_handle(*std::move(made)).release());
  dtrain_error error = new_error();
  report(&error, made.error());
  throw dtrain::Error(error);
}

/// A strategy of one process.
struct OneProcess {
  explicit OneProcess(TestedStrategy tested = {})
      : strategy(make_strategy(world, std::move(tested))) {}
  dtrain::Context world = dtrain::init();
  dtrain::Strategy strategy;
};

/// Returns the text of the Error that `body` throws; empty: none.
template <class Body>
std::string error_text(const Body& body) {
  try {
    body();
  } catch (const dtrain::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace dt
