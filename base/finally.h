#pragma once

#include <utility>

namespace dt {

/// Runs its body at the end of its scope, also after an exception.
template <class Body>
class Finally {
 public:
  explicit Finally(Body body) : body_(std::move(body)) {}
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;
  ~Finally() { body_(); }

 private:
  Body body_;
};

}  // namespace dt
