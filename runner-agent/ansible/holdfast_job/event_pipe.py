"""The writing side of events for a playbook that runs as a user of its own: it may send lines, and change none that it has sent.

The supervisor reads them, numbers them and writes events.jsonl (event_relay.py). A line that begins with REPORT tells how writing goes.
"""

import json
import os
import signal

from holdfast_job.event_file import EventClock
from holdfast_job.event_line import line_of

REPORT = b"#"


class EventPipe(EventClock):
    """Replaces EventFile and has the same methods."""

    def __init__(self, path, ansible_version):
        super().__init__()
        # When no supervisor reads the pipe, opening it fails at once. It must not wait for one.
        self._pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(self._pipe, True)
        self._pid = os.getpid()
        self._ansible_version = ansible_version
        self._lines = 0
        self.errors = 0
        self.dropped = 0
        self.finished = False
        self.remark: "str | None" = None
        self.report()

    def write(self, event):
        """Sends the event. Returns its number, or None when nobody takes it any more."""
        event["order"] = number = self._lines + 1
        line = line_of(event)
        self._lines = number
        if self._send(line):
            return number
        self.dropped += 1
        return None

    def count_error(self):
        self.errors += 1
        self.report()

    def report(self):
        if os.getpid() != self._pid:
            return
        report = {
            "ansible": self._ansible_version,
            "pid": self._pid,
            "errors": self.errors,
            "dropped": self.dropped,
            "finished": self.finished,
            "remark": self.remark,
        }
        self._send(REPORT + json.dumps(report).encode() + b"\n")

    def _send(self, line):
        """All of the line or nothing: an abort in the middle must not leave half of it in front of the next one."""
        held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            while line:
                line = line[os.write(self._pipe, line) :]
            return True
        except OSError:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
