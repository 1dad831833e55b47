"""Starts ansible-playbook as a user of its own, who can read and change nothing of the agent and of other jobs.

The supervisor stays what it is: it holds the secrets and writes the streams and the end. Only ansible-playbook, and so all that a playbook
starts, is on the other side. What it needs of the job's folder is given to its user, and events come through a pipe.
"""

import os

from holdfast_job import leftovers
from holdfast_job.rights import forbid_more_rights, leave_common_folders
from holdfast_job.transient_errors import TRANSIENT_AT_SPAWN, retry_transient
from holdfast_job.users import take_user

try:
    import _signal as signal
except ImportError:
    import signal

EVENTS_PIPE = "events-pipe"
_GIVEN = ("work", "uploads", "extravars.yml")


class Isolation:
    """One job's user, from before the start of ansible to the end of the job."""

    def __init__(self, job, orders):
        """Takes a user and gives it its files. Raises OSError when that cannot be had: the job is not started then."""
        self._job = job
        self._orders = orders
        self.user = retry_transient(job, take_user, orders, orders["folder"], codes=TRANSIENT_AT_SPAWN)
        self._is_begun = False
        self.events_pipe = retry_transient(job, self._prepare, codes=TRANSIENT_AT_SPAWN)

    def _prepare(self):
        """Prepares the files of the user. May be called again after an error. Returns the pipe for events."""
        job, user = self._job, self.user
        if self._is_begun:
            user.clean()
        self._is_begun = True
        _note(job, user)
        user.prepare(self._orders["home"])
        # The user may pass through the folder to names that it knows. All other files in it have the mode 0600.
        os.fchmod(job.folder_fd, 0o711)
        for name in _GIVEN:
            if os.path.lexists(job.path(name)):
                os.chmod(job.path(name), 0o700 if os.path.isdir(job.path(name)) else 0o600)
                leftovers.hand_over(job.path(name), user.uid, user.gid)
        return self._make_events_pipe()

    def _make_events_pipe(self):
        """Open for reading and writing, so that it never ends; ansible's user may only write."""
        path = self._job.path(EVENTS_PIPE)
        if os.path.lexists(path):
            os.unlink(path)
        os.mkfifo(path, 0o600)
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.chmod(path, 0o200)
        os.chown(path, self.user.uid, -1)
        return pipe

    def give_pipe(self, path):
        """A pipe that the job's user may read, and that stays open to the supervisor for writing."""
        os.chmod(path, 0o420)
        os.chown(path, self.user.uid, os.getegid())

    def environment_of(self, environment):
        """The variables that tell a playbook about its user."""
        user = self.user
        own = {
            "HOME": user.path("home"),
            "TMPDIR": user.path("tmp"),
            "XDG_RUNTIME_DIR": user.path("run"),
            "USER": user.name,
            "LOGNAME": user.name,
            "HOLDFAST_EVENTS_PIPE": self._job.place(EVENTS_PIPE),
        }
        own = {os.fsencode(name): os.fsencode(value) for name, value in own.items()}
        gone = (b"HOLDFAST_EVENTS_FILE", b"HOLDFAST_CALLBACK_FILE", b"TMP", b"TEMP", b"MAIL", b"SHELL")
        return {**{name: value for name, value in environment.items() if name not in gone}, **own}

    def spawn(self, program, arguments, environment, cwd, output, kept, resets):
        """Starts the program and returns its pid. Raises OSError with the step that failed: nothing of it was run then.

        `output` becomes its output and errors, the descriptors `kept` stay open in it, `resets` are signals.
        """
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._enter(cwd, output, kept, resets)
                os.execve(program, arguments, environment)
            except BaseException as error:
                os.write(writer, (str(error) or type(error).__name__).encode("utf-8", "replace")[:2000])
            finally:
                os._exit(127)
        os.close(writer)
        with open(reader, "rb") as problem:
            said = problem.read().decode("utf-8", "replace")
        if said:
            os.waitpid(pid, 0)
            raise OSError(0, "as the user %s: %s" % (self.user.name, said))
        return pid

    def _enter(self, cwd, output, kept, resets):
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        for source, number in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, number)
        for descriptor in kept:
            os.set_inheritable(descriptor, True)
        if self._orders["private"]:
            leave_common_folders({place: self._private_folder(place) for place in self._orders["private"]})
        if not self._orders["sudo"]:
            forbid_more_rights()
        os.umask(0o022)
        self.user.become()
        os.chdir(cwd)
        for number in resets:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _private_folder(self, place):
        return {"/tmp": self.user.path("tmp"), "/var/tmp": self.user.path("vartmp")}.get(place)

    def finish(self):
        """Removes everything of the job's user. Returns a sentence about what could not be, or None.

        The user stays taken until this process ends. Whoever takes it next looks anew.
        """
        given = [self._job.path(name) for name in ("work", "uploads")]
        problems = self.user.clean(given)
        for name in (EVENTS_PIPE,):
            try:
                os.unlink(self._job.path(name))
            except OSError:
                pass
        return "not all of the job's user could be removed: " + "; ".join(problems) if problems else None


def _note(job, user):
    """Notes the user for the agent. If this process is lost, the agent ends the job by it."""
    text = '{"name":"%s","uid":%d,"gid":%d,"groups":[]}\n' % (user.name, user.uid, user.gid)
    descriptor = os.open(job.path("isolation.json"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
