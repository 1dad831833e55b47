"""events.jsonl, and callback.json, which says how the writing went. Nothing in here waits."""

import json
import os
import time

from holdfast_job.event_line import line_of

PLUGIN_CONTRACT = 1
_REPORT_BYTES = 512
_MAX_REMARK = 500


class _State:
    """How far events.jsonl is. It is replaced as one value, so that an interrupt finds either the old or the new one."""

    __slots__ = ("end", "lines", "events", "is_torn")

    def __init__(self, end, lines, events, is_torn):
        self.end = end
        self.lines = lines
        self.events = events
        self.is_torn = is_torn


class EventClock:
    """Tells the time as events say it; the text of a second is made once."""

    def __init__(self):
        self._second = -1
        self._second_text = ""

    def now(self):
        """ISO 8601 UTC with milliseconds."""
        moment = time.time()
        second = int(moment)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
        return self._second_text + "%03dZ" % ((moment - second) * 1000)


class EventFile(EventClock):
    """Appends only, for what was written may have been read already: a line that a full disk has torn stays as it is.

    The number of an event is the number of its line, and a torn line is one too. So numbers have no gap and nobody counts twice.
    """

    def __init__(self, events_path, report_path, ansible_version):
        super().__init__()
        self._report_path = None if report_path is None else _path_by_open_folder(report_path)
        self._pid = self.callback_pid = os.getpid()
        self.ansible_version = ansible_version
        self._file = os.open(events_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._state = _State(os.fstat(self._file).st_size, 0, 0, False)
        self._goal = self._state.end
        self.errors = 0
        self.dropped = 0
        self.finished = False
        self.remark: "str | None" = None
        self.report()

    def state(self):
        """What another process needs to go on with the file, as plain values."""
        at = self._state
        told = (self.errors, self.dropped, self.finished, self.remark, self.ansible_version, self.callback_pid)
        return (at.end, at.lines, at.events, at.is_torn), told

    def restore(self, state):
        """Goes on from a state of before, or from the beginning. What the file has beyond that is to be adopted."""
        where, told = state or ((0, 0, 0, False), None)
        self._state = _State(*where)
        self._goal = self._state.end
        if told is not None:
            self.errors, self.dropped, self.finished, self.remark, self.ansible_version, self.callback_pid = told

    def adopt(self, line):
        """Like `append`, for a line that is in the file already. Returns its number."""
        at = self._state
        self._goal = goal = at.end + len(line)
        self._state = _State(goal, at.lines + 1, at.events + 1, False)
        return at.lines + 1

    def write(self, event):
        """Numbers the event and appends its line with one write. Returns its number, or None when the disk did not take it."""
        event["order"] = self.next_order()
        return self.append(line_of(event))

    def next_order(self):
        """The number of the next event."""
        if self._goal != self._state.end:
            self._find_out()
        return self._state.lines + 1

    def append(self, line):
        """Like `write`, for a line that has its number already."""
        before = self._state
        number = before.lines + 1
        if before.is_torn:
            line = b"\n" + line
        self._goal = goal = before.end + len(line)
        try:
            is_whole = os.write(self._file, line) == len(line)
        except OSError:
            is_whole = False
        if is_whole:
            self._state = _State(goal, number, before.events + 1, False)
            return number
        self._find_out()
        if self._state.events > before.events:
            return number
        self.dropped += 1
        self.report()
        return None

    def _find_out(self):
        """Finds out how much of a line is in the file, after a write that failed or was interrupted before it was counted."""
        state, size = self._state, os.fstat(self._file).st_size
        reached = size - state.end - (1 if state.is_torn else 0)
        missing = self._goal - size
        if missing <= 1:  # at most its newline is missing
            self._state = _State(size, state.lines + 1, state.events + 1, missing == 1)
        elif reached > 0:
            self._state = _State(size, state.lines + 1, state.events, True)
        elif size > state.end:
            self._state = _State(size, state.lines, state.events, False)  # only the newline that ends the torn line
        self._goal = self._state.end

    def count_error(self):
        self.errors += 1
        self.report()

    def report(self):
        """Replaces callback.json. On a full disk it is written in place, because its block is there already."""
        if self._report_path is None or os.getpid() != self._pid:
            return
        report = {
            "plugin": PLUGIN_CONTRACT,
            "ansible": self.ansible_version,
            "pid": self.callback_pid,
            "events": self._state.events,
            "errors": self.errors,
            "dropped": self.dropped,
            "finished": self.finished,
            "remark": self.remark,
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


def shown_remark(remark):
    """What a report says about the run, as one line; None when it says nothing. A playbook may have written it, too."""
    if not isinstance(remark, str):
        return None
    printable = "".join(letter if letter.isprintable() else " " for letter in remark)
    return " ".join(printable.split())[:_MAX_REMARK] or None


def _path_by_open_folder(path):
    """The same file by its folder, which stays open: so it is found wherever the folder is moved on its file system."""
    folder, _, name = path.rpartition("/")
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return path
    return "/proc/self/fd/%d/%s" % (descriptor, name)


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
