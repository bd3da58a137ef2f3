#include "comm/ps/directory.h"

#include "comm/ps/rendezvous_wait.h"

namespace dt {

Result<Reply> RendezvousDirectory::ask(const Request& request, Time deadline) {
  return ask_rendezvous(*client_, request, deadline);
}

}  // namespace dt
