"""Writes known output and events at a known pace, in the place of ansible-playbook.

What it writes is made from a seed and written a second time into the truth folder, so that it can be compared with what
was stored, whatever happened on the way. The extra variable `load` says what to write (see load.ts).
"""

import json
import os
import random
import re
import sys
import time

_POOL_BYTES = 1 << 20


def main(arguments):
    load = _read_load(arguments)
    Emitter(load).run()
    return load["exit_code"]


def _read_load(arguments):
    for name, value in zip(arguments, arguments[1:]):
        if name == "-e" and value.startswith("@"):
            with open(value[1:], encoding="utf-8") as file:
                return _read_variables(file.read())["load"]
    raise SystemExit("no load in the extra variables")


# A text, or what YAML has and JSON does not.
_TEXT_OR_MARK = re.compile(r'("(?:\\.|[^"\\])*")|\? |!unsafe |^#.*$', re.MULTILINE)


def _read_variables(text):
    """The agent writes YAML that is JSON but for its comment, its marks and its question marks. There may be no YAML library."""
    return json.loads(_TEXT_OR_MARK.sub(lambda found: found.group(1) or "", text))


class Emitter:
    def __init__(self, load):
        self._load = load
        truth = os.path.join(load["folder"], load["name"])
        _append(_open(truth + ".starts"), b"started %d\n" % os.getpid())
        self._truth_output = _open(truth + ".output")
        self._truth_events = _open(truth + ".events")
        self._pace_file = truth + ".pace"
        self._gate = truth + ".gate-"
        self._waits = truth + ".waits-"
        self._events_file = _open(os.environ["HOLDFAST_EVENTS_FILE"])
        self._pool = _pool(load)
        self._written = 0

    def run(self):
        load = self._load
        self._report(False)
        begin = time.monotonic()
        latest = 0.0
        for number in range(1, load["steps"] + 1):
            if number in load["gates"]:
                waited = self._wait_for_gate(number)
                begin += waited
            if load["per_second"]:
                due = begin + number / load["per_second"]
                latest = max(latest, time.monotonic() - due)
                while time.monotonic() < due:
                    time.sleep(min(0.01, max(0.0, due - time.monotonic())))
            self._step(number)
        if load["steps"] + 1 in load["gates"]:
            begin += self._wait_for_gate(load["steps"] + 1)
        if load["unfinished"]:
            self._output(b"a last line without an end")
        with open(self._pace_file, "w") as file:
            json.dump({"seconds": time.monotonic() - begin, "latest": latest}, file)
        self._report(True)

    def _step(self, number):
        load = self._load
        for raw in load["raw"]:
            if raw["step"] == number:
                self._raw(raw)
        if load["output_bytes"]:
            stamp = b" at %d" % (time.time_ns() // 1000000) if load["stamped"] else b""
            self._output(b"step %d%s: " % (number, stamp) + self._take(load["output_bytes"]) + b"\n")
        if load["event_bytes"]:
            self._event(number)

    def _raw(self, raw):
        """Bytes of a file as they are, in one write each time."""
        with open(raw["path"], "rb") as file:
            data = file.read()
        for _ in range(raw["times"]):
            if raw["stream"] == "output":
                self._output(data)
            else:
                _append(self._events_file, data)
                _append(self._truth_events, data)

    def _event(self, number):
        filler = "x" * self._load["event_bytes"]
        line = {
            "order": number,
            "type": "runner_on_ok",
            "play": "synthetic",
            "task": "task %d" % (number % 40),
            "host": "host%d" % (number % 50),
            "duration": 0.001 * number,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
            "result": {"msg": "%d %s" % (number, filler)},
        }
        bytes_of_line = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        _append(self._events_file, bytes_of_line)
        _append(self._truth_events, bytes_of_line)

    def _output(self, data):
        _append(1, data)
        _append(self._truth_output, data)

    def _take(self, count):
        parts = []
        while count > 0:
            start = (self._written * 7919) % (_POOL_BYTES // 2)
            parts.append(self._pool[start : start + min(count, _POOL_BYTES // 2)])
            count -= len(parts[-1])
            self._written += 1
        return b"".join(parts)

    def _wait_for_gate(self, number):
        begin = time.monotonic()
        os.close(_open(self._waits + str(number)))
        while not os.path.exists(self._gate + str(number)):
            time.sleep(0.01)
        return time.monotonic() - begin

    def _report(self, finished):
        """What the event callback says about itself."""
        report = {
            "plugin": 1,
            "ansible": "synthetic",
            "pid": os.getpid(),
            "events": self._load["steps"] if self._load["event_bytes"] else 0,
            "errors": 0,
            "dropped": 0,
            "finished": finished,
        }
        path = os.environ["HOLDFAST_CALLBACK_FILE"]
        try:
            with open(path + ".new", "w") as file:
                json.dump(report, file)
            os.rename(path + ".new", path)
        except OSError:
            pass  # the disk is full: the report before this one stands


def _pool(load):
    chance = random.Random(load["seed"])
    if load["binary"]:
        # Everything but line ends: NUL bytes, escape sequences, broken UTF-8.
        return chance.randbytes(_POOL_BYTES).replace(b"\n", b"\0")
    letters = "abcdefghijklmnopqrstuvwxyz äöü 漢字 ".encode()
    start = chance.randrange(len(letters))
    return (letters * (_POOL_BYTES // len(letters) + 2))[start : start + _POOL_BYTES]


def _open(path):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _append(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
