"""Turning one event into one line of strict JSON of bounded length, whatever a module has put into its result.

Nearly all events take the quick way: one pass of the C encoder. Only what that refuses, or what comes out too long or too deep,
is copied into plain values here and cut until it fits. Secrets are hidden before anything is cut, so that no cut leaves half of one.
"""

import hashlib
import json
import math
import re
from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time

from holdfast_job.event_secrets import hide, hide_list, hide_scalar, may_be_in

LINE_BYTES = 256 * 1024
MAX_DEPTH = 100
_MAX_NODES = 50000
_MAX_INTEGER_BITS = 4096
_MAX_KEY = 1000
_MAX_FIELD = 4000
_MAX_NOTES = 50
_MAX_PATH = 200
_STRING_STEPS = tuple(LINE_BYTES >> shift for shift in range(1, 11))
_ITEM_STEPS = (2000, 1000, 300, 100, 30, 10)
_LAST_RESORT_CHARS = 16 * 1024
_OWN_FIELDS = frozenset(("order", "type", "duration", "time", "play_uuid", "task_uuid"))

_SURROGATE = re.compile(r"\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(ud[89a-f][0-9a-f]{2})|.)")


def plain(value):
    """Replaces values that JSON cannot express. Values of the vault are never opened."""
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value).decode("utf-8", "replace")
        if getattr(value, "__ENCRYPTED__", False) or hasattr(value, "_ciphertext"):
            return "(encrypted with ansible-vault)"
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (set, frozenset, tuple)):
            return list(value)
        if isinstance(value, (datetime, date, time)):
            return value.isoformat()
        return str(value)
    except Exception:
        return "(a value of type %s)" % type(value).__name__


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=plain).encode


def line_of(event):
    """The line of an event as bytes, with its newline: at most LINE_BYTES, no deeper than MAX_DEPTH. Only `result` is cut."""
    too_long = _is_surely_too_long(event.get("result"))
    if not too_long:
        try:
            text = _encode(event)
            if len(text) < LINE_BYTES and not _is_too_deep(event, text) and not may_be_in(text):
                return _bytes(text)
            too_long = len(text) >= LINE_BYTES
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass
    return _bytes(_fit(event, too_long))


def _bytes(text):
    if "\\ud" in text:
        text = _SURROGATE.sub(_replace_lone_surrogate, text)
    return text.encode("ascii") + b"\n"


def _replace_lone_surrogate(found):
    """Replaces halves of characters (lone surrogates): databases and other languages refuse them."""
    return "\\ufffd" if found.group(1) else found.group(0)


def _is_surely_too_long(result):
    """Decides without encoding, so that a result of 50 MB does not become a text of 100 MB first."""
    return result is not None and sum(len(part) for part in result.values() if isinstance(part, (str, list))) > LINE_BYTES


def _is_too_deep(event, text):
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth, level = 0, [event]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            part
            for container in level
            for part in (container.values() if isinstance(container, dict) else container)
            if isinstance(part, (dict, list, tuple))
        ]
    return depth > MAX_DEPTH


def _fit(event, too_long):
    """The text of an event whose result must be made plain, shown without secrets, and shorter where it is too long."""
    fields = {
        key: value if key in _OWN_FIELDS else _bounded_field(value) for key, value in event.items() if key != "result"
    }
    if "result" not in event:
        return _encode(fields)
    result = event["result"]
    if not too_long:
        text = _encode(dict(fields, result=_Copy(result).with_notes()))
        if len(text) < LINE_BYTES:
            return text
    for shorter in _ever_shorter(result):
        text = _encode(dict(fields, result=shorter))
        if len(text) < LINE_BYTES:
            return text
    raise ValueError("an event does not fit into a line")


def _bounded_field(value):
    if isinstance(value, (dict, list, tuple)):
        value = _Copy({"field": value}).value["field"]
        text = _encode(value)
        return value if len(text) <= _MAX_FIELD else text[:_MAX_FIELD]
    return hide(value)[:_MAX_FIELD] if isinstance(value, str) else hide_scalar(_plain_scalar(value))


def _ever_shorter(result):
    """Shortens in steps: repeated parts go first, then the middle of the longest strings, then of long lists, then nearly all."""
    copy = _Copy(*_without_repetitions(result))
    for longest in _STRING_STEPS:
        if copy.shorten_strings(longest):
            yield copy.with_notes()
    for most in _ITEM_STEPS:
        copy.shorten_containers(most)
        yield copy.with_notes()
    beginning = _encode(copy.value)[:_LAST_RESORT_CHARS]
    yield {"_cut": [{"path": "", "kept": "the beginning of the JSON text"}], "_beginning": beginning}


def _without_repetitions(result):
    """Item results have events of their own; `stdout_lines` repeats `stdout`."""
    kept, notes = {}, []
    for key, value in result.items():
        if isinstance(value, list) and (key == "results" or str(key).endswith("_lines") and str(key)[:-6] in result):
            notes.append({"path": hide(str(key)), "items": len(value)})
        else:
            kept[key] = value
    return kept, notes


def _plain_scalar(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_INTEGER_BITS else "(a number of %d bits)" % value.bit_length()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return plain(value)


def _plain_key(key):
    if key is None or isinstance(key, bool):
        return _encode(key)
    text = hide(str(_plain_scalar(key)))
    if len(text) <= _MAX_KEY:
        return text
    return text[:_MAX_KEY] + " sha256:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _new_key(key, target):
    """Names that differ only in a secret stay apart."""
    return key if key not in target else "%s (%d)" % (key, len(target) + 1)


class _LongString:
    """A string that may have to be cut, and where it stands in the copy."""

    __slots__ = ("container", "key", "path", "text", "encoded", "_identity")

    def __init__(self, container, key, path, text):
        self.container = container
        self.key = key
        self.path = path
        self.text = text
        sample = text[:4096]
        self.encoded = len(text) * len(_encode(sample)) // len(sample)
        self._identity = None

    def identity(self):
        """(size in bytes, SHA-256) of the whole."""
        if self._identity is None:
            whole = self.text.encode("utf-8", "replace")
            self._identity = len(whole), hashlib.sha256(whole).hexdigest()
        return self._identity

    def cut(self, longest):
        """Puts head and tail in its place, at most `longest` bytes when encoded, and returns the note about it."""
        size, digest = self.identity()
        mark = "\n[holdfast: cut here, %d bytes in full, SHA-256 %s]\n" % (size, digest)
        half = (longest - len(mark) - 8) // 2
        self.container[self.key] = _part(self.text, half, False) + mark + _part(self.text, half, True)
        return {"path": self.path, "bytes": size, "sha256": digest}


def _part(text, longest, at_end):
    """As much of the beginning or the end of a text as encodes into so many bytes."""
    count = longest
    while True:
        part = text[max(0, len(text) - count) :] if at_end else text[:count]
        encoded = len(_encode(part)) - 2
        if encoded <= longest:
            return part
        count = len(part) * longest // encoded


class _Copy:
    """A copy in plain values, bounded in depth and number of nodes, that can be shortened in place. Never recursive."""

    def __init__(self, source, notes=()):
        self._notes = list(notes)
        self._string_notes = []
        self._container_notes = {}
        self._strings = []
        self._containers = []
        self._nodes = 0
        self.value = {}
        waiting = deque([(source, self.value, "", 1)])
        while waiting:
            self._fill(waiting, *waiting.popleft())
        self._strings.sort(key=lambda string: -string.encoded)

    def with_notes(self):
        notes = self._notes + list(self._container_notes.values()) + self._string_notes
        if not notes:
            return self.value
        if len(notes) > _MAX_NOTES:
            notes = notes[:_MAX_NOTES] + [{"more": len(notes) - _MAX_NOTES}]
        return dict(self.value, _cut=notes)

    def shorten_strings(self, longest):
        """Cuts every string to this length at most; False when that cannot be enough by far."""
        if sum(min(string.encoded, longest) for string in self._strings) > LINE_BYTES:
            return False
        self._string_notes = [string.cut(longest) for string in self._strings if string.encoded > longest]
        return True

    def shorten_containers(self, most):
        for container, path in self._containers:
            count = len(container)
            if count <= most:
                continue
            note = self._container_notes.setdefault(id(container), {"path": path, "items": count})
            if isinstance(container, list):
                left_out = "[holdfast: %d items left out]" % (note["items"] - most)
                container[most // 2 : count - most // 2] = [left_out]
            else:
                for key in list(container)[most:]:
                    del container[key]

    def _fill(self, waiting, source, target, path, depth):
        """Copies one container; those inside it are left waiting for their turn."""
        self._containers.append((target, path))
        is_mapping = isinstance(source, dict)
        if not is_mapping and len(source) <= _MAX_NODES and all(isinstance(value, str) for value in source):
            source = hide_list(source)
        for key in source if is_mapping else range(len(source)):
            if self._nodes >= _MAX_NODES:
                self._container_notes[id(target)] = {"path": path, "items": len(source)}
                return
            self._nodes += 1
            value = source[key]
            if not isinstance(value, (dict, list)):
                value = hide_scalar(_plain_scalar(value))
            name = _new_key(_plain_key(key), target) if is_mapping else key
            place = (path + "." + str(name) if path else str(name))[:_MAX_PATH]
            if isinstance(value, (dict, list)):
                if depth >= MAX_DEPTH - 1:
                    self._notes.append({"path": place, "deeper_than": MAX_DEPTH})
                    value = "[holdfast: nested too deeply]"
                else:
                    child = {} if isinstance(value, dict) else []
                    waiting.append((value, child, place, depth + 1))
                    value = child
            if is_mapping:
                target[name] = value
            else:
                target.append(value)
            if isinstance(value, str) and len(value) > _STRING_STEPS[-1] // 6:
                self._strings.append(_LongString(target, name, place, value))
