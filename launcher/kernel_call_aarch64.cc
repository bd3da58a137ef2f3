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

long kernel_clone(const CloneOrder& order) {
  register long called asm("x8") = SYS_clone;
  register unsigned long result asm("x0") = order.flags;
  register void* stack asm("x1") = order.stack_top;
  register int* pidfd asm("x2") = order.pidfd;
  register long tls asm("x3") = 0;
  register int* tid asm("x4") = order.tid;
  register ChildMain main asm("x19") = order.main;
  register void* argument asm("x20") = order.argument;
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
      : "r"(called), "r"(stack), "r"(pidfd), "r"(tls), "r"(tid), "r"(main), "r"(argument)
      : "memory", "cc");
  return static_cast<long>(result);
}

}  // namespace dt
