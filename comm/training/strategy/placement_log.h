#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The sentences about where replicas and variables of a strategy are.
class PlacementLog {
 public:
  /// `prefix` names the process; empty: nothing is printed. Else each sentence is a line on
  /// standard error. It is written at once, so that those of several processes do not mix.
  explicit PlacementLog(std::string prefix = {}) : prefix_(std::move(prefix)) {}
  void add(const std::string& sentence);
  /// Returns all sentences, each on a line.
  const std::string& text() const { return text_; }

 private:
  std::string prefix_;
  std::string text_ = {};
};

}  // namespace dt
