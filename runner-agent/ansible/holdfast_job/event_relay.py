"""Takes the events of a playbook that runs as a user of its own from its pipe, and writes events.jsonl.

Whatever comes may come from the playbook itself instead of the callback. So only lines of the right shape and length are kept, each gets its
number here, and what was written stays.
"""

import json
import os
import select

from holdfast_job.event_file import EventFile, shown_remark
from holdfast_job.event_line import LINE_BYTES
from holdfast_job.event_pipe import REPORT

_READ_BYTES = 256 * 1024
_ORDER = b'{"order":'
_MAX_DIGITS = 12
_REPORT_BYTES = 4096


class EventRelay:
    """Copies events from the pipe into the file. It never raises because of what comes, and it never waits."""

    def __init__(self, pipe, events_path, report_path, handover=None):
        """`handover`: reads the pipe so that another supervisor can go on (handover.py)."""
        self._pipe = pipe
        self._handover = handover
        self._written = b""
        self._paths = events_path, report_path
        self._rest = b""
        self._is_skipping = False
        self._file = None
        self._told_dropped = 0
        self._has_news = False

    def take(self):
        """One piece of the pipe. False when there is nothing in it now.

        Raises OSError when the file cannot be opened now; nothing was taken from the pipe then.
        """
        if self._file is None:
            if not self._is_readable():
                return False
            self._events()
        try:
            piece = self._handover.take() if self._handover is not None else os.read(self._pipe, _READ_BYTES)
        except BlockingIOError:
            return False
        self._use(piece)
        return True

    def resume(self):
        """Goes on after a killed supervisor. Lines of its last piece that are in the file already are not written again."""
        known, piece = self._handover.resume()
        file_state = None
        if known is not None:
            self._rest, self._is_skipping, self._told_dropped, file_state = known
        if file_state is None and not piece:
            return
        events = self._events()
        events.restore(file_state)
        with open(self._paths[0], "rb") as file:
            file.seek(0 if file_state is None else file_state[0][0])
            self._written = file.read()
        if piece:
            self._use(piece)
        self._written = b""
        events.report()

    def _use(self, piece):
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if self._is_skipping:
                self._is_skipping = False  # the end of a line that was too long
            else:
                self._take_line(line + b"\n")
        if len(self._rest) >= LINE_BYTES:
            if not self._is_skipping:
                self._drop()
            self._rest, self._is_skipping = b"", True
        self._report()
        if self._handover is not None:
            file_state = None if self._file is None else self._file.state()
            self._handover.done((self._rest, self._is_skipping, self._told_dropped, file_state))

    def _is_readable(self):
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        return bool(poll.poll(0))

    def finish(self):
        """Takes what is in the pipe now. It is bounded, because a process that cannot be ended may go on sending."""
        for _ in range(8):
            if not self.take():
                break
        if self._rest and not self._is_skipping:
            self._drop()
        self._rest = b""
        self._has_news = self._file is not None
        self._report()

    def _take_line(self, line):
        if line.startswith(REPORT):
            self._take_report(line[len(REPORT) :])
            return
        events = self._events()
        digits, comma, rest = line[len(_ORDER) :].partition(b",")
        if not line.startswith(_ORDER) or not comma or not digits.isdigit() or len(digits) > _MAX_DIGITS:
            self._drop()
            return
        numbered = b'%s%d,%s' % (_ORDER, events.next_order(), rest)
        if len(numbered) > LINE_BYTES:
            self._drop()
        elif self._written.startswith(numbered):
            self._written = self._written[len(numbered) :]
            events.adopt(numbered)
        else:
            events.append(numbered)

    def _take_report(self, text):
        events = self._events()
        try:
            report = json.loads(text) if len(text) <= _REPORT_BYTES else {}
            errors, dropped = min(int(report["errors"]), 1 << 31), min(int(report["dropped"]), 1 << 31)
            events.errors = max(events.errors, errors)
            events.dropped += max(0, dropped - self._told_dropped)
            self._told_dropped = max(self._told_dropped, dropped)
            events.finished = report["finished"] is True
            events.remark = shown_remark(report.get("remark"))
            events.ansible_version = str(report["ansible"])[:200]
            events.callback_pid = min(max(0, int(report["pid"])), 1 << 31)
        except Exception:
            events.errors += 1
        self._has_news = True

    def _drop(self):
        self._events().dropped += 1
        self._has_news = True

    def _report(self):
        """Writes the report once for all lines of a piece, so that many lines do not cause many writes."""
        if self._has_news:
            self._has_news = False
            self._file.report()

    def _events(self):
        """Opens the file with the first line of the callback. The report of the file shows that the callback was there."""
        if self._file is None:
            self._file = EventFile(*self._paths, "")
        return self._file
