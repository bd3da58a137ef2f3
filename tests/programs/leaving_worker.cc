// A worker that makes the first call of examples/linear_regression, as rank 0, and leaves.
#include <array>
#include <dtrain/dtrain.hpp>
#include <iostream>

int main() {
  try {
    dtrain::Context world = dtrain::init();
    std::array<double, 2> start = {1, 1};
    world.broadcast(start, 0);
    return 0;
  } catch (const dtrain::Error& error) {
    std::cerr << error.what() << std::endl;
    return 5;
  }
}
