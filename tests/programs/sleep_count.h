#pragma once

#include <filesystem>
#include <fstream>
#include <string>

/// Returns how often the threads of a process have slept. Leaves out the thread with the number
/// `without`, if there is one.
inline long sleep_count(const std::string& pid, const std::string& without = "") {
  long sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + pid + "/task")) {
    if (task.path().filename() == without) continue;
    std::ifstream status(task.path() / "status");
    const std::string wanted = "voluntary_ctxt_switches:";
    for (std::string word; status >> word;) {
      long switches = 0;
      if (word == wanted && status >> switches) sum += switches;
    }
  }
  return sum;
}
