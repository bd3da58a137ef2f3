"""Runs a command with the rendezvous server of the horovodrun package: horovod_server.py RANKS COMMAND…"""
import os
import subprocess
import sys

from horovod.runner.common.util.hosts import SlotInfo
from horovod.runner.http.http_server import RendezvousServer

ranks = int(sys.argv[1])
server = RendezvousServer()
port = server.start()
server.init([SlotInfo("node", i, i, 0, ranks, ranks, 1) for i in range(ranks)])
environment = dict(os.environ, HOROVOD_GLOO_RENDEZVOUS_ADDR="127.0.0.1", HOROVOD_GLOO_RENDEZVOUS_PORT=str(port))
sys.exit(subprocess.run(sys.argv[2:], env=environment, check=False).returncode)
