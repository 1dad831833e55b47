"""The users that jobs run as: one for each job, taken by a lock, and given to the next job only when nothing of the last one is left.

Every job of a user has its processes, its files and its queues under one number (uid). So all of it can be found, and ended, by that number,
whatever session, parent or environment it has moved to. Whoever holds the lock of a user is the only one that may start or end something of it.
The kernel lets go of the lock when its holder ends, however that comes.
"""

import fcntl
import os
import time

from holdfast_job import leftovers
from holdfast_job.rights import drop_all_rights

try:
    import _signal as signal
except ImportError:
    import signal

# The folders that each job has of its own. They are made anew for every job.
OWN_FOLDERS = ("home", "tmp", "vartmp", "run")

_HELPER_SECONDS = 30.0
_END_SECONDS = 10.0
_LOOK_EVERY = 0.01


class JobUser:
    """One user of the pool, and the folder below which the homes of its jobs are."""

    def __init__(self, entry, below):
        self.uid = entry["uid"]
        self.gid = entry["gid"]
        self.name = entry["name"]
        self.groups = list(entry["groups"])
        self.folder = below + "/" + self.name
        self._lock = None

    def path(self, name):
        return self.folder + "/" + name

    def lock(self):
        """False when another process has this user. Raises OSError when the lock cannot be made."""
        os.makedirs(self.folder, 0o711, exist_ok=True)
        os.chmod(self.folder, 0o711)
        lock = os.open(self.path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def unlock(self):
        os.close(self._lock)
        self._lock = None

    def become(self):
        """Makes this process a process of the user for good. It keeps no group and no right of the user before."""
        os.setgroups(self.groups)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)
        drop_all_rights()
        if os.getresuid() != (self.uid,) * 3 or os.getresgid() != (self.gid,) * 3 or self.uid == 0:
            raise OSError("the change of the user did not come about")

    def end_all(self):
        """Ends every process of the user. Returns the pids of those that cannot be ended: they are stuck in the kernel."""
        last_look = time.monotonic() + _END_SECONDS
        while True:
            # It comes before the look: a process that lives too short to be seen would go on behind it.
            self.kill_all()
            left = processes_of(self.uid)
            if not left or time.monotonic() >= last_look:
                return left
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass  # it has ended meanwhile, or may not be signalled: then the next look finds it again
            time.sleep(_LOOK_EVERY)

    def kill_all(self):
        """Kills all processes of the user in one step of the kernel, so that none can escape by a fork."""
        run_as(self, lambda: os.kill(-1, signal.SIGKILL), ignored=(ProcessLookupError,))

    def clean(self, given=()):
        """Ends and removes what is left of the user. Returns sentences about what could not be; none: it is as new.

        `given`: folders of the job that were handed over to the user. They are emptied.
        """
        problems = []
        left = self.end_all()
        if left:
            return ["processes that cannot be ended: %s" % ", ".join(map(str, left))]
        leftovers.remove_planned(self)
        folders = [self.path(name) for name in OWN_FOLDERS]
        said = run_as(self, lambda: leftovers.remove_all(self, [*folders, *given]))
        for folder in [*folders, *given]:
            try:
                leftovers.remove_folder(folder)
            except OSError as error:
                problems.append("%s: %s" % (folder, error.strerror))
        if said:
            problems.append(said)
        return problems

    def prepare(self, skeleton):
        """Makes the job's own folders. `skeleton`: a folder whose content each home begins with, or None."""
        for name in OWN_FOLDERS:
            os.mkdir(self.path(name), 0o700)
        if skeleton:
            leftovers.copy_tree(skeleton, self.path("home"))
        for name in OWN_FOLDERS:
            leftovers.hand_over(self.path(name), self.uid, self.gid)


def take_user(orders, below):
    """A locked, clean user. Raises OSError with a sentence when there is none."""
    problems = []
    for entry in orders["users"]:
        user = JobUser(entry, below)
        if not user.lock():
            continue
        said = user.clean()
        if not said:
            return user
        user.unlock()
        problems.append("%s is not clean (%s)" % (user.name, "; ".join(said)))
    raise OSError(0, "no user is free for this job" + "".join("; " + problem for problem in problems))


def run_as(user, action, ignored=()):
    """Runs a function in a process of the user. Returns None, or a sentence about what went wrong in it.

    The process cannot be looked into or stopped for good by others of the user: it cannot be traced, and its time is bounded.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            user.become()
            action()
        except ignored:
            pass
        except BaseException as error:
            os.write(writer, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace")[:2000])
        finally:
            os._exit(0)
    os.close(writer)
    try:
        if not _wait_for(pid):
            return "it took more than %d seconds" % _HELPER_SECONDS
        return os.read(reader, 4096).decode("utf-8", "replace") or None
    finally:
        os.close(reader)


def _wait_for(pid):
    last_look = time.monotonic() + _HELPER_SECONDS
    while True:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                return True
        except ChildProcessError:
            return True
        if time.monotonic() >= last_look:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.001)


def processes_of(uid):
    """Pids of living processes that have this uid in any of its four roles."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and is_of(name, uid)]


def is_of(pid, uid):
    """Whether a living process is of this user. One that is gone is not."""
    try:
        with open("/proc/%s/status" % pid, "rb") as file:
            status = file.read()
    except OSError:
        return False
    state = status.partition(b"\nState:")[2].split(None, 1)[:1]
    numbers = status.partition(b"\nUid:")[2].partition(b"\n")[0].split()
    return state not in ([b"Z"], [b"X"]) and b"%d" % uid in numbers
