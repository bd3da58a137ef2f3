#include "launcher/process/kernel_call.h"

#include <sys/syscall.h>

namespace dt {

long kernel_clone(const CloneOrder& order) {
  return kernel_clone_call({.number = SYS_clone,
                            .first = static_cast<long>(order.flags),
                            .second = reinterpret_cast<long>(order.stack_top),
                            .third = reinterpret_cast<long>(order.pidfd),
                            .tid = reinterpret_cast<long>(order.tid),
                            .main = order.main,
                            .argument = order.argument});
}

long kernel_clone3(const clone_args& how, ChildMain main, void* argument) {
  return kernel_clone_call({.number = SYS_clone3,
                            .first = reinterpret_cast<long>(&how),
                            .second = sizeof how,
                            .main = main,
                            .argument = argument});
}

}  // namespace dt
