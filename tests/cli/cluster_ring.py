"""A task of a cluster that trusts TF_CONFIG alone: listens at its own address, calls all others, and
has to be called by all of them. Prints whom it heard, and with --serve stays then until it is told."""
import json
import os
import socket
import sys
import threading
import time

config = json.loads(os.environ["TF_CONFIG"])
own_type, own_index = config["task"]["type"], int(config["task"]["index"])
own_name = f"{own_type}:{own_index}"
places = {
    f"{role}:{index}": address.rsplit(":", 1)
    for role, addresses in config["cluster"].items()
    for index, address in enumerate(addresses)
}
deadline = time.monotonic() + 30


def call(name):
    host, port = places[name]
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=5) as peer:
                peer.sendall(own_name.encode() + b"\n")
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


dual = socket.has_dualstack_ipv6()
listener = socket.create_server(
    ("", int(places[own_name][1])),
    family=socket.AF_INET6 if dual else socket.AF_INET,
    dualstack_ipv6=dual,
    reuse_port=True,
)
listener.settimeout(30)

others = sorted(set(places) - {own_name})
callers = [threading.Thread(target=call, args=(name,)) for name in others]
for caller in callers:
    caller.start()
heard = set()
while len(heard) < len(others):
    connection, _ = listener.accept()
    with connection, connection.makefile() as words:
        heard.add(words.readline().strip())
for caller in callers:
    caller.join()
assert sorted(heard) == others, heard
print(own_name, "heard", *others, flush=True)
if "--serve" in sys.argv:
    while True:
        listener.accept()
