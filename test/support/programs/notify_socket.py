"""Stands in for systemd's notification socket (sd_notify(3)): prints each message as one line, its parts joined by " | "."""
import array
import os
import socket
import sys

path = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(path)
os.chmod(path, 0o777)
print("listening", flush=True)
while True:
    data, ancillary, _flags, _address = receiver.recvmsg(4096, socket.CMSG_SPACE(64))
    # The sender of a barrier waits until the descriptor that it has sent is closed.
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
            for descriptor in descriptors:
                os.close(descriptor)
    text = data.decode().strip().replace("\n", " | ")
    if not text.startswith("BARRIER="):
        print(text, flush=True)
