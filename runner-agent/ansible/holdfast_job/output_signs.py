"""Facts about a run that only ansible's output tells: neither its exit status nor its events do.

Only signs that are there count. The text is looked at without colours and white space: ansible breaks its warnings into lines
of 79 characters, also in the middle of a path.
"""

import os
import re

from holdfast_job.output_marks import without_marks

_HEAD_BYTES = 256 * 1024
_TAIL_BYTES = 64 * 1024
_MAX_INVENTORIES = 3
_MAX_NAME = 200

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_REFUSED = re.compile(r"^(ERROR!|ERROR:|\[ERROR\]:|usage: ansible-playbook|ansible-playbook: error:)", re.MULTILINE)
_PLAYED = re.compile(r"^(PLAY|TASK|RUNNING HANDLER|PLAY RECAP) \[|^PLAY RECAP \*|holdfast_events", re.MULTILINE)
_UNPARSED = re.compile(r"Unabletoparse(/\S+?)asaninventorysource")
_ASKED = re.compile(r"\[holdfast\]theplaybookasksforthevariable(\S+?)\(vars_prompt\)")
_NOT_INSTALLED = "[holdfast]therequirementscouldnotbeinstalled:"
_PAUSED = "Notwaitingforresponsetopromptasstdinisnotinteractive"


def has_refused(text):
    """Whether ansible ended before its first play: it refused its arguments, the inventory or the playbook."""
    return _REFUSED.search(text) is not None and _PLAYED.search(text) is None


def remarks_of(text):
    """Sentences for people about what the run did differently from what they may have meant."""
    squeezed = "".join(text.split())
    remarks = []
    for path in list(dict.fromkeys(_UNPARSED.findall(squeezed)))[:_MAX_INVENTORIES]:
        name = os.path.basename(path)[:_MAX_NAME]
        why = " it begins with #! and is not executable" if _is_idle_script(path) else " its output says why"
        remarks.append("ansible could not read the inventory %s:%s" % (name, why))
    for name in list(dict.fromkeys(_ASKED.findall(squeezed)))[:1]:
        remarks.append(
            "the playbook asks for the variable %s (vars_prompt) and nobody can answer: give it as an extra variable"
            % name[:_MAX_NAME]
        )
    if _NOT_INSTALLED in squeezed:
        remarks.append("what the playbook folder requires could not be installed: the output says why")
    if _PAUSED in squeezed:
        remarks.append("a pause did not wait for an answer, because there is no terminal")
    return remarks


def text_of_output(path):
    """The beginning and the end of output.log, without colours. Empty when it cannot be read: nothing follows from that."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        size = os.fstat(descriptor).st_size
        head = os.pread(descriptor, _HEAD_BYTES, 0)
        rest = max(len(head), size - _TAIL_BYTES)
        tail = os.pread(descriptor, _TAIL_BYTES, rest)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return _COLOUR.sub("", without_marks(head + b"\n" + tail).decode("utf-8", "replace"))


def _is_idle_script(path):
    """A file of the playbook folder; the path may have lost its white space, and then it is not found."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!" and not os.access(path, os.X_OK)
    except OSError:
        return False
