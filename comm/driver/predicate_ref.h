#pragma once

namespace dt {

/// A reference to a callable that takes nothing and returns bool, which must live longer. Unlike
/// std::function, it never allocates memory.
class PredicateRef {
 public:
  template <class Predicate>
  explicit PredicateRef(const Predicate& predicate)
      : predicate_(&predicate),
        call_([](const void* p) -> bool { return (*static_cast<const Predicate*>(p))(); }) {}

  bool operator()() const { return call_(predicate_); }

 private:
  const void* predicate_;
  bool (*call_)(const void*);
};

}  // namespace dt
