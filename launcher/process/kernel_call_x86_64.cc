#include "launcher/process/kernel_call.h"

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

long kernel_clone_call(const CloneCall& call) {
  register long tid asm("r10") = call.tid;
  register long tls asm("r8") = 0;
  register ChildMain main asm("r12") = call.main;
  register void* argument asm("r13") = call.argument;
  long result = call.number;
  // The child continues after the call with our registers, but on its own, empty stack.
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
      : "D"(call.first), "S"(call.second), "d"(call.third), "r"(tid), "r"(tls), "r"(main),
        "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
}

}  // namespace dt
