#pragma once

// The headers that cost most in a test file: CMake precompiles them in unity builds. Each test
// still includes all that it needs, because other builds compile without this file.
#include "base/format.h"
#include "base/result.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>
