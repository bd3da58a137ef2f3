#include "launcher/kernel_call.h"

#include <sys/syscall.h>

namespace dt {

long kernel_call(long number, long first, long second, long third, long fourth) {
  register long last asm("r10") = fourth;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(first), "S"(second), "d"(third), "r"(last)
               : "rcx", "r11", "memory");
  return result;
}

namespace {

/// What clone(2) or clone3(2) are called with, in the order of the registers.
struct CloneCall {
  long number = 0;
  long first = 0;
  long second = 0;
  long third = 0;
  long fourth = 0;
  ChildMain main = nullptr;
  void* argument = nullptr;
};

long clone_by(const CloneCall& call) {
  register long fourth asm("r10") = call.fourth;
  register long tls asm("r8") = 0;
  register ChildMain main asm("r12") = call.main;
  register void* argument asm("r13") = call.argument;
  long result = call.number;
  // The child goes on behind the call with our registers, but on its own, empty stack.
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(call.first), "S"(call.second), "d"(call.third), "r"(fourth), "r"(tls), "r"(main),
        "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
}

}  // namespace

long kernel_clone(const CloneOrder& order) {
  return clone_by({.number = SYS_clone,
                   .first = static_cast<long>(order.flags),
                   .second = reinterpret_cast<long>(order.stack_top),
                   .third = reinterpret_cast<long>(order.pidfd),
                   .fourth = reinterpret_cast<long>(order.tid),
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
