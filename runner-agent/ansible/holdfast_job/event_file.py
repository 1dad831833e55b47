"""events.jsonl, and callback.json that tells how writing it went. Nothing in here waits for anybody."""

import json
import os
import time

from holdfast_job.event_line import line_of

PLUGIN_CONTRACT = 1
_REPORT_BYTES = 512


class EventFile:
    """Whole lines only, numbered 1, 2, 3 … without a gap, whatever the disk says."""

    def __init__(self, events_path, report_path, ansible_version):
        self._report_path = report_path
        self._ansible_version = ansible_version
        self._pid = os.getpid()
        self._file = os.open(events_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        # Where the last whole line ends and how many there are, in one value, so that an interrupt finds both or none changed.
        self._state = os.fstat(self._file).st_size, 0
        self._goal = self._state[0]
        self._newline_first = False
        self._second = -1
        self._second_text = ""
        self.errors = 0
        self.dropped = 0
        self.finished = False
        self.report()

    @property
    def written(self):
        return self._state[1]

    def write(self, event):
        """Numbers the event and appends its line with one write. Returns its number, or None when the disk did not take it."""
        if self._goal != self._state[0]:
            self._settle()
        end, written = self._state
        event["order"] = written + 1
        line = line_of(event)
        if self._newline_first:
            line = b"\n" + line
        self._goal = end + len(line)
        try:
            complete = os.write(self._file, line) == len(line)
        except OSError:
            complete = False
        if complete:
            self._newline_first = False
            self._state = self._goal, written + 1
            return written + 1
        self._settle()
        self.dropped += 1
        self.report()
        return None

    def _settle(self):
        """After a write that failed, or that an interrupt kept from being counted: a whole line counts, a torn one is taken back."""
        end, written = self._state
        size = os.fstat(self._file).st_size
        if size == self._goal:
            self._newline_first = False
            self._state = size, written + 1
        elif size > end:
            try:
                os.ftruncate(self._file, end)
            except OSError:
                self._newline_first = True
                self._state = size, written
        self._goal = self._state[0]

    def now(self):
        """ISO 8601 UTC with milliseconds; the text of a second is made once."""
        moment = time.time()
        second = int(moment)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
        return self._second_text + "%03dZ" % ((moment - second) * 1000)

    def count_error(self):
        self.errors += 1
        self.report()

    def report(self):
        """Replaces callback.json; on a full disk it is written over, because its block is there already."""
        if self._report_path is None or os.getpid() != self._pid:
            return
        report = {
            "plugin": PLUGIN_CONTRACT,
            "ansible": self._ansible_version,
            "pid": self._pid,
            "events": self.written,
            "errors": self.errors,
            "dropped": self.dropped,
            "finished": self.finished,
        }
        data = json.dumps(report).encode().ljust(_REPORT_BYTES - 1) + b"\n"
        temporary = self._report_path + ".new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            _write_whole(temporary, flags | os.O_TRUNC, data)
            os.rename(temporary, self._report_path)
        except OSError:
            _try(os.unlink, temporary)
            _try(_write_whole, self._report_path, flags, data)


def _try(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        pass


def _write_whole(path, flags, data):
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError("short write")
    finally:
        os.close(descriptor)
