"""Asks a rendezvous (HOST:PORT) for a key as one of Horovod's workers would; prints what comes back."""
import socket
import sys

host, port = sys.argv[1].rsplit(":", 1)
link = socket.create_connection((host, int(port)), timeout=30)
link.sendall(b"GET /global/0 HTTP/1.1\r\n\r\n")
try:
    answer = link.recv(100)
except ConnectionResetError:
    answer = b""
print(answer)
