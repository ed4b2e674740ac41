"""Clients that ask and never read: deaf_clients.py PORT COUNT TARGET. When all have asked, prints the
port of each, as a line of JSON. Ends with stdin.

Their segments and receive buffers are those of a client behind a real network. Without that, what the kernel buffers
for each connection of the loopback device, with segments of 64 KiB, is megabytes, and hides what the gateway does.
"""

import json
import socket
import sys

SEGMENT_BYTES = 1448
RECEIVE_BYTES = 4096

port, count, target = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
clients = []
for _ in range(count):
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    client.connect(("127.0.0.1", port))
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    clients.append(client)
print(json.dumps([client.getsockname()[1] for client in clients]), flush=True)
sys.stdin.read()
