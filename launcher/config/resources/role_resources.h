#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// How many GPUs of its host a task gets for itself.
struct GpuCount {
  int whole = 0;    ///< 0: none, unless it shares one
  int sharers = 1;  ///< above 1: so many tasks share one GPU

  bool shares() const { return sharers > 1; }
  bool needs_gpus() const { return whole > 0 || shares(); }
  /// Returns "2", or "0.5" for one of two tasks that share a GPU.
  std::string text() const;
  bool operator==(const GpuCount&) const = default;
};

/// Parses a whole number, or a fraction of which 1 is a multiple: "2", "0", "0.5". Returns none for
/// other texts.
std::optional<GpuCount> parse_gpu_count(std::string_view text);

/// The resources that each task of a role gets for itself.
struct RoleResources {
  int cpus = 0;                       ///< cores; 0: as --bind-to has it
  std::optional<GpuCount> gpus = {};  ///< none: as --gpu-bind has it
  uint64_t memory_bytes = 0;          ///< the most memory; 0: no limit

  bool are_given() const { return cpus > 0 || gpus || memory_bytes > 0; }
  /// Returns "cpus 4, gpus 0.5, memory 1024M", or nothing.
  std::string text() const;
  bool operator==(const RoleResources&) const = default;
};

/// The limits of one task.
inline constexpr int task_cpus_max = 65536;
inline constexpr int task_gpus_max = 1024;

/// Parses a size from 1 byte. Returns none for other texts.
std::optional<uint64_t> parse_memory(std::string_view text);
/// Returns "4G", "512M", "64K" or "100": the text of parse_memory.
std::string memory_text(uint64_t bytes);

// The valid values in words, for errors: "a whole number from 0, or …".
inline constexpr std::string_view cpus_wanted = "a number of cores, 1..65536";
inline constexpr std::string_view gpus_wanted =
    "a whole number of GPUs, 0..1024, or one of which 1 is a multiple, such as 0.5";
inline constexpr std::string_view memory_wanted = "a size from 1, such as 512M or 4G";

}  // namespace dt
