#include "launcher/process/kernel_call.h"

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

long kernel_clone_call(const CloneCall& call) {
  register long called asm("x8") = call.number;
  register long result asm("x0") = call.first;
  register long second asm("x1") = call.second;
  register long third asm("x2") = call.third;
  register long tls asm("x3") = 0;
  register long tid asm("x4") = call.tid;
  register ChildMain main asm("x19") = call.main;
  register void* argument asm("x20") = call.argument;
  // The child continues after the call with our registers, but on its own, empty stack.
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
      : "r"(called), "r"(second), "r"(third), "r"(tls), "r"(tid), "r"(main), "r"(argument)
      : "memory", "cc");
  return result;
}

}  // namespace dt
