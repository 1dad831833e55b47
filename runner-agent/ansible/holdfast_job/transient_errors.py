"""Errors that say something about the host just now and nothing about the job. What fails so is tried again, however long.

supervisor.log says what is waited for.
"""

import errno
import os
import time

_TRANSIENT = ("EMFILE", "ENFILE", "ENOMEM", "EIO", "EACCES", "ESTALE", "ETIMEDOUT")
# When a program is started, EACCES is missing: a program that may not be run stays so until a person changes it.
TRANSIENT_AT_SPAWN = ("EAGAIN", "EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE", "ETIMEDOUT")
_TRY_AGAIN_AFTER = 0.5  # seconds


def is_transient(error, codes=_TRANSIENT):
    """True for an error that says nothing about the job."""
    numbers = [getattr(errno, name) for name in codes]
    return isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in numbers


def retry_transient(job, action, *arguments, codes=_TRANSIENT):
    """Calls a function again until it succeeds. An abort ends the waiting.

    What is waited for is said, and that it is over: the agent shows the last word as long as it is the waiting.
    """
    waits = False
    while True:
        try:
            result = action(*arguments)
        except (OSError, MemoryError) as error:
            if not is_transient(error, codes) or job.is_abort_asked():
                raise
            if not waits:
                say_waiting(error)
            waits = True
            time.sleep(_TRY_AGAIN_AFTER)
        else:
            if waits:
                say_going_on()
            return result


def say_waiting(error):
    """The line for supervisor.log."""
    name = os.path.basename(getattr(error, "filename", None) or "")
    complain("waiting: %s%s" % (name + ": " if name else "", getattr(error, "strerror", None) or type(error).__name__))


def say_going_on():
    complain("going on")


def complain(text):
    try:
        os.write(2, ("holdfast supervisor: " + text + "\n").encode("utf-8", "surrogateescape"))
    except OSError:
        pass
