#include "launcher/kernel_call.h"

#include <sys/syscall.h>

namespace dt {

long kernel_call(long number, long first, long second, long third, long fourth) {
  register long called asm("x8") = number;
  register long result asm("x0") = first;
  register long x1 asm("x1") = second;
  register long x2 asm("x2") = third;
  register long x3 asm("x3") = fourth;
  asm volatile("svc #0" : "+r"(result) : "r"(called), "r"(x1), "r"(x2), "r"(x3) : "memory", "cc");
  return result;
}

namespace {

/// What clone(2) or clone3(2) are called with, in the order of the registers.
struct CloneCall {
  long number = 0;
  long first = 0;
  long second = 0;
  long third = 0;
  long fifth = 0;
  ChildMain main = nullptr;
  void* argument = nullptr;
};

long clone_by(const CloneCall& call) {
  register long called asm("x8") = call.number;
  register long result asm("x0") = call.first;
  register long second asm("x1") = call.second;
  register long third asm("x2") = call.third;
  register long tls asm("x3") = 0;
  register long fifth asm("x4") = call.fifth;
  register ChildMain main asm("x19") = call.main;
  register void* argument asm("x20") = call.argument;
  // The child goes on behind the call with our registers, but on its own, empty stack.
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "brk #0\n"
      "1:"
      : "+r"(result)
      : "r"(called), "r"(second), "r"(third), "r"(tls), "r"(fifth), "r"(main), "r"(argument)
      : "memory", "cc");
  return result;
}

}  // namespace

long kernel_clone(const CloneOrder& order) {
  return clone_by({.number = SYS_clone,
                   .first = static_cast<long>(order.flags),
                   .second = reinterpret_cast<long>(order.stack_top),
                   .third = reinterpret_cast<long>(order.pidfd),
                   .fifth = reinterpret_cast<long>(order.tid),
                   .main = order.main,
                   .argument = order.argument});
}

long kernel_clone3(const clone_args& how, ChildMain main, void* argument) {
  return clone_by({.number = SYS_clone3,
                   .first = reinterpret_cast<long>(&how),
                   .second = sizeof how,
                   .main = main,
                   .argument = argument});
}

}  // namespace dt
