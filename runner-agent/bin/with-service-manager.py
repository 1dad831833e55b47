#!/usr/bin/env python3
"""Starts the runner agent in place of itself, with a line to systemd that the agent can write to.

systemd listens on a socket of a kind that Node.js cannot open (datagrams between processes). It hears only the main
process of a unit with `NotifyAccess=main`, so no helper process can speak for the agent, and no playbook either. So
this program opens the socket and then becomes the agent: it keeps its process id and passes the open socket on.

Usage: with-service-manager.py PROGRAM [ARGUMENT ...]
"""
import os
import socket
import struct
import sys

# How long a notice may wait for systemd to read the ones before it: the agent does nothing else meanwhile.
SEND_LIMIT_SECONDS = 2


def open_notify_socket(address):
    """Returns the descriptor of a socket that is connected with systemd's. Programs that are started inherit it."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # A leading @ stands for a name that is no file.
    line.connect("\0" + address[1:] if address.startswith("@") else address)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_LIMIT_SECONDS, 0))
    line.set_inheritable(True)
    return line.detach()


def main(words):
    if not words:
        sys.exit(__doc__)
    environment = dict(os.environ)
    address = environment.get("NOTIFY_SOCKET")
    if address:
        environment["HOLDFAST_NOTIFY_FD"] = str(open_notify_socket(address))
    try:
        os.execvpe(words[0], words, environment)
    except OSError as error:
        sys.exit("cannot start %s: %s" % (words[0], error.strerror))


main(sys.argv[1:])
