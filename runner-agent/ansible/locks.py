"""Asks the kernel about locks, which Node.js cannot do: `locks.py take` and `locks.py test`.

Run as `python3 -I -S locks.py <what>`. Both print a JSON list of words.

take: puts an exclusive lock (flock) on each of the descriptors 3, 4 and so on that the agent hands over, as many as the
second argument says, until one cannot be had. Such a lock belongs to the open file and not to a process: it stays when this
process ends, as long as the agent has the file open, and the kernel takes it back when the agent dies, however it dies.
Words: "taken", "held" (somebody else has it), or the name of the error.

test: reads a JSON list of paths from standard input and says of each whether a process holds a lock (lockf) on that file, in
whatever PID namespace it is. Words: "held", "free", or the name of the error.
"""

import errno
import fcntl
import json
import os
import sys


def _name_of(error):
    return errno.errorcode.get(error.errno, str(error.errno))


def _take(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return "taken"
    except OSError as error:
        return "held" if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else _name_of(error)


def _test(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return _name_of(error)
    try:
        os.lockf(descriptor, os.F_TEST, 0)
        return "free"
    except OSError as error:
        return "held" if error.errno in (errno.EAGAIN, errno.EACCES) else _name_of(error)
    finally:
        os.close(descriptor)


def main(arguments):
    words = []
    if arguments[1] == "take":
        for descriptor in range(3, 3 + int(arguments[2])):
            words.append(_take(descriptor))
            if words[-1] == "held":
                break
    else:
        words = [_test(path) for path in json.load(sys.stdin)]
    print(json.dumps(words))


main(sys.argv)
