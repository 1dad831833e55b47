"""Finding and ending everything that a job has started, whatever session it has moved to."""

import os
import signal
import time

_LOOK_EVERY = 0.1
_KILL_AGAIN_EVERY = 0.05
_KILL_AGAIN_RARELY = 1.0
_GIVE_UP_AFTER = 30.0


def has_children():
    """Reaps children that have ended. False when no child is left, dead or alive."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
        return True
    except ChildProcessError:
        return False


class Process:
    """One living process of the job."""

    __slots__ = ("pid", "group", "name")

    def __init__(self, pid, group, name):
        self.pid = pid
        self.group = group
        self.name = name

    def __str__(self):
        return "%d (%s)" % (self.pid, self.name)


class ProcessTree:
    """The processes of a job: descendants of this process (or of its keeper), those with the job's marker, and all of the job's own user."""

    def __init__(self, marker, user=None, keeper=None):
        """`keeper`: the parent of this process, when the job's processes are descendants of that one instead."""
        self._user = user
        self._keeper = keeper
        self._needle = b"\0HOLDFAST_JOB_MARKER=" + marker.encode("utf-8", "surrogateescape") + b"\0"

    def find(self):
        """All living processes of the job; zombies are dead."""
        return self._members(_all_processes())

    def signal(self, number):
        """Signals process groups that belong to the job alone, and other processes one by one. Returns the processes found."""
        everyone = _all_processes()
        members = self._members(everyone)
        ours = {process.pid for process in members}
        foreign_groups = {entry[1] for pid, entry in everyone.items() if pid not in ours and entry[2] not in b"ZX"}
        signalled = set()
        for process in members:
            try:
                if process.group in foreign_groups:
                    os.kill(process.pid, number)
                elif process.group not in signalled:
                    signalled.add(process.group)
                    os.killpg(process.group, number)
            except OSError:
                pass  # it has ended meanwhile, or belongs to a user that may not be signalled
        if number == signal.SIGKILL and self._user is not None:
            self._user.kill_all()
        return members

    def _members(self, everyone):
        children = {}
        for pid, entry in everyone.items():
            children.setdefault(entry[0], []).append(pid)
        itself = os.getpid()
        found = set()
        self._add_descendants(itself, children, found)
        # A keeper that is gone is no parent any more, and its pid may be another process.
        if self._keeper is not None and os.getppid() == self._keeper:
            self._add_descendants(self._keeper, children, found)
        for pid in everyone:
            if pid not in found and pid != itself and (self._is_marked(pid) or self._is_of_user(pid)):
                found.add(pid)
                self._add_descendants(pid, children, found)
        found.discard(itself)
        return [
            Process(pid, everyone[pid][1], everyone[pid][3]) for pid in sorted(found) if everyone[pid][2] not in b"ZX"
        ]

    def _is_of_user(self, pid):
        if self._user is None:
            return False
        from holdfast_job.users import is_of

        return is_of(pid, self._user.uid)

    @staticmethod
    def _add_descendants(pid, children, found):
        waiting = [pid]
        while waiting:
            for child in children.get(waiting.pop(), ()):
                if child not in found:
                    found.add(child)
                    waiting.append(child)

    def _is_marked(self, pid):
        environment = _read("/proc/%d/environ" % pid)
        return environment is not None and self._needle in b"\0" + environment + b"\0"


def _all_processes():
    """pid → (parent, process group, state letter, name)."""
    everyone = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        stat = _read("/proc/%s/stat" % entry)
        if stat is None:
            continue
        head, _, tail = stat.rpartition(b")")
        fields = tail.split(None, 4)
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        everyone[int(entry)] = (int(fields[1]), int(fields[2]), _state_of(tail, fields[0]), name)
    return everyone


def _state_of(tail, letter):
    """A process whose first thread has ended looks like a zombie. It lives as long as another thread of it does."""
    if letter != b"Z":
        return letter
    threads = int(tail.split(None, 18)[17])
    return b"S" if threads > 1 else letter


def _read(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = piece = os.read(descriptor, 65536)
        while len(piece) == 65536:
            piece = os.read(descriptor, 65536)
            content += piece
        return content
    except OSError:
        return None
    finally:
        os.close(descriptor)


class Ladder:
    """Ends a job in steps. Each step is harder than the one before. It is done as soon as no process is left.

    `steps` are (signal, seconds until the next one); the last one, SIGKILL, is repeated. `must_end` is a pid that is never given up:
    others that cannot be killed (another user's, or stuck in the kernel) are given up after a while and named in `left`.
    """

    def __init__(self, tree, steps, must_end=None):
        self._tree = tree
        self._steps = list(steps)
        self._must_end = must_end
        self._step_ends = 0.0
        self._give_up_at = None
        self.next_look = 0.0
        self.left = []
        self.first_signalled = frozenset()

    def is_done(self):
        """Checks whether any process is left, and takes the next step when it is due."""
        now = time.monotonic()
        self.left = self._tree.find()
        if not self.left:
            self.next_look = now + _LOOK_EVERY
            return True
        if now >= self._step_ends:
            if self._has_tried_long_enough(now) and all(process.pid != self._must_end for process in self.left):
                return True
            self._take_step(now)
        self.next_look = min(self._step_ends, now + _LOOK_EVERY)
        return False

    def _has_tried_long_enough(self, now):
        return self._give_up_at is not None and now >= self._give_up_at

    def _take_step(self, now):
        if self._steps:
            number, wait = self._steps.pop(0)
        else:
            number, wait = signal.SIGKILL, _KILL_AGAIN_RARELY if self._has_tried_long_enough(now) else _KILL_AGAIN_EVERY
            self._give_up_at = self._give_up_at or now + _GIVE_UP_AFTER
        members = self._tree.signal(number)
        if not self.first_signalled:
            self.first_signalled = frozenset(process.pid for process in members)
        self._step_ends = now + wait
