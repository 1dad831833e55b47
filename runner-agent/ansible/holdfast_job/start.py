"""Everything that must be true before ansible runs.

Each import here delays every playbook, so only what the interpreter has already loaded is used; the rest of the supervisor is
imported while ansible is starting up.
"""

import errno
import os
import time

try:
    import _signal as signal  # the part of `signal` that is built in; the wrapper costs 2 ms of imports
except ImportError:
    import signal

EXIT_ALREADY_STARTED = 17
EXIT_NOTHING_STARTED = 18

# A limit that Linux has not enforced since 2.4.25 (locks of files) and that each child inherits: a mark that outlives a
# cleaned environment, a new session and a change of parent.
_RLIMIT_LOCKS = 10

# Signals whose inherited disposition must not reach ansible. A background service starts its children with SIGINT
# ignored, Python itself ignores SIGPIPE and SIGXFSZ.
_RESET_FOR_ANSIBLE = [number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP)]


# They say something about the host just now and nothing about the job: what fails so is tried again, however long.
_PASSING = ("EMFILE", "ENFILE", "ENOMEM", "EIO", "EACCES", "ESTALE", "ETIMEDOUT")
# The same when a program is started. That one may not be run (EACCES) stays so until a person changes it.
PASSING_AT_SPAWN = ("EAGAIN", "EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE", "ETIMEDOUT")
_TRY_AGAIN_AFTER = 0.5


class Refusal(Exception):
    """Ansible cannot be started; the text says why, for people."""


class Job:
    """The job folder, its orders, and what is open of it. Both halves of the supervisor work on this."""

    def __init__(self, folder):
        self.folder = folder
        self.folder_fd = -1
        self.run_id = os.path.basename(folder).partition("-")[2]
        self.marker = ""
        self.orders = {}
        self.signals_fd = -1
        self.output_file = -1
        self.output_pipe = -1
        self.adopts_orphans = False
        self.ansible_pid = None
        self.started_at = None
        self.secrets = None
        self.isolation = None

    def open_folder(self):
        """Keeps the folder open for life, so that it is found again wherever it is moved on its file system."""
        self.folder_fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def path(self, name):
        """A file of the job for this process and its forks, by the open folder; by its name until that is open."""
        if self.folder_fd < 0:
            return self.place(name)
        return "/proc/self/fd/%d/%s" % (self.folder_fd, name)

    def place(self, name):
        """The same file by its name, for other programs and for people."""
        return self.folder + "/" + name

    def is_folder_removed(self):
        """True when the folder is gone for good. One that is moved or cannot be reached now is not."""
        try:
            return os.readlink("/proc/self/fd/%d" % self.folder_fd).endswith(" (deleted)")
        except OSError:
            return False


def iso_now():
    """ISO 8601 UTC with milliseconds, without the import of datetime."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % (now % 1 * 1000)


def main(arguments):
    """Returns the exit code: 0 when an end.json was written, 17 when the job had been started before, 18 when nothing was.

    18 leaves no mark. Whoever has started this program may start it again.
    """
    try:
        job = _prepare(arguments)
    except FileExistsError as error:
        _complain(str(error))
        return EXIT_ALREADY_STARTED
    except Exception as error:
        what = str(error) if isinstance(error, Refusal) else "%s: %s" % (type(error).__name__, error)
        _complain(what + ", so nothing was started")
        return EXIT_NOTHING_STARTED

    cause, message = None, None
    try:
        # The start is this process's now. It counts only when it is durable.
        patiently(job, os.fsync, job.folder_fd)
        job.output_file = patiently(job, _append_only, job.path("output.log"))
        os.close(patiently(job, _append_only, job.path("events.jsonl")))
        _read_orders(job)
        if not _is_abort_asked(job):
            _spawn(job)
    except Refusal as refusal:
        cause, message = "spawn_failed", str(refusal)
    except Exception as error:
        cause, message = "spawn_failed", "the supervisor failed before the start: %s: %s" % (type(error).__name__, error)
    if job.ansible_pid is None and _is_abort_asked(job):
        # It ends every waiting, so what is said of a failure may be no more than that.
        cause, message = "aborted", "aborted before ansible-playbook was started"

    if cause is None:
        _import_supervise(job)(job)
    else:
        from holdfast_job.ending import end_without_start

        end_without_start(job, cause, message)
    return 0


def _prepare(arguments):
    """Everything up to started.json. An error leaves no mark. Raises FileExistsError when the job was started before."""
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["secrets"]):
        raise Refusal("usage: supervisor.py <job folder> [secrets]")
    job = Job(os.path.abspath(arguments[1]))
    _fill_standard_descriptors()
    if len(arguments) == 3:
        _read_secrets(job)
    job.signals_fd = _watch_signals()
    try:
        patiently(job, job.open_folder)
    except OSError as error:
        raise Refusal("%s could not be opened: %s" % (job.folder, error.strerror))
    try:
        os.setsid()
    except OSError:
        pass  # the agent has made this process the leader of a session already
    try:
        _claim_start(job)
    except FileExistsError:
        raise FileExistsError("%s exists: this job has been started before" % job.place("started.json"))
    except OSError as error:
        raise Refusal("%s could not be written: %s" % (job.place("started.json"), error.strerror))
    return job


def _is_abort_asked(job):
    return os.path.exists(job.path("abort.json"))


def is_passing(error, codes=_PASSING):
    """True for an error that says nothing about the job."""
    numbers = [getattr(errno, name) for name in codes]
    return isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in numbers


def patiently(job, action, *arguments, codes=_PASSING):
    """Does it as often as it takes; not when an abort is asked for, which ends the waiting.

    What is waited for is said, and that it is over: the agent shows the last word as long as it is the waiting.
    """
    waits = False
    while True:
        try:
            result = action(*arguments)
        except (OSError, MemoryError) as error:
            if not is_passing(error, codes) or _is_abort_asked(job):
                raise
            if not waits:
                say_waiting(error)
            waits = True
            time.sleep(_TRY_AGAIN_AFTER)
        else:
            if waits:
                say_going_on()
            return result


def say_waiting(error):
    """For supervisor.log."""
    name = os.path.basename(getattr(error, "filename", None) or "")
    _complain("waiting: %s%s" % (name + ": " if name else "", getattr(error, "strerror", None) or type(error).__name__))


def say_going_on():
    _complain("going on")


def _import_supervise(job):
    """The other half of the supervisor. The playbook runs by now: what passes is waited out, however long."""
    waits = False
    while True:
        try:
            from holdfast_job.supervise import supervise

            if waits:
                say_going_on()
            return supervise
        except BaseException as error:
            if not is_passing(error):
                os.killpg(job.ansible_pid, signal.SIGKILL)  # nobody could ever say how it ends
                raise
            if not waits:
                say_waiting(error)
            waits = True
        time.sleep(_TRY_AGAIN_AFTER)


def _read_secrets(job):
    """From standard input, all of them or none: a job that needs them never starts without, and stays to be started."""
    try:
        pieces = []
        while not pieces or pieces[-1]:
            pieces.append(os.read(0, 1 << 20))
        text = b"".join(pieces).decode("utf-8", "surrogateescape")
        if not text.endswith("\n"):
            raise ValueError("cut off")
        secrets = _parse_json(text)
        job.secrets = {"pipes": dict(secrets["pipes"]), "files": dict(secrets["files"]), "hidden": list(secrets["hidden"])}
    except Exception as error:
        # Not the error's own words, which may quote them.
        raise Refusal("the secrets of the job did not arrive whole (%s)" % type(error).__name__) from None
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _complain(text):
    try:
        os.write(2, ("holdfast supervisor: " + text + "\n").encode("utf-8", "surrogateescape"))
    except OSError:
        pass


def _fill_standard_descriptors():
    """A closed 0, 1 or 2 would be given to the next opened file, and ansible would print into it."""
    while True:
        descriptor = os.open("/dev/null", os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return


def _watch_signals():
    """Turns signals into readable bytes. Handled before started.json is there, so that no abort can kill the supervisor."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, _only_wake)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return reader


def _only_wake(_number, _frame):
    pass


def _claim_start(job):
    """Whoever creates started.json is the only one that may start this job, now and after any crash.

    It is written under another name first, and gets this one by a link: so it is there with its whole content, synced, or
    not at all, whatever fails in between. `main` makes the new name durable.

    The file stays open and locked for the life of this process: by that an agent in another PID namespace, which cannot see
    this process, knows whether it lives. Nothing else of this program may open the file, because closing it ends the lock.
    """
    draft = job.path("started-%d-%s.tmp" % (os.getpid(), os.urandom(4).hex()))
    descriptor = patiently(job, _write_start, job, draft)
    try:
        patiently(job, _link_start, draft, job.path("started.json"), descriptor)
    except OSError:
        os.close(descriptor)
        raise
    finally:
        _remove(draft)


def _write_start(job, path):
    """Returns the open file, which is locked. What was written before an error is removed."""
    with open("/proc/self/stat", "rb") as stat:
        start_ticks = int(stat.read().rpartition(b")")[2].split()[19])
    with open("/proc/sys/kernel/random/boot_id") as boot:
        boot_id = boot.read().strip()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        text = '{"pid":%d,"start_ticks":%d,"boot_id":"%s"%s,"locked":%s,"inode":"%d","time":"%s"}\n' % (
            os.getpid(),
            start_ticks,
            boot_id,
            _pid_namespace(),
            _lock(descriptor),
            os.fstat(job.folder_fd).st_ino,
            iso_now(),
        )
        if os.write(descriptor, text.encode()) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
        return descriptor
    except BaseException:
        os.close(descriptor)
        _remove(path)
        raise


def _link_start(draft, path, descriptor):
    try:
        os.link(draft, path)
    except FileExistsError:
        # A network file system may have made the link and have failed to say so.
        if not os.path.samestat(os.stat(path), os.fstat(descriptor)):
            raise


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _pid_namespace():
    try:
        return ',"pid_namespace":"%s"' % os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _lock(descriptor):
    """A lock of this process alone: its children do not have it. A file system without locks is no reason not to start."""
    try:
        os.lockf(descriptor, os.F_TLOCK, 0)
        return "true"
    except OSError:
        return "false"


def _text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _append_only(path):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _read_orders(job):
    try:
        job.orders = orders = _parse_json(patiently(job, _text_of, job.path("supervisor.json")))
        job.run_id = orders["run_id"]
        job.marker = orders["marker"]
        ladder, drain = orders["abort_ladder_seconds"], orders["drain_seconds"]
        numbers = [ladder["interrupt"], ladder["terminate"], drain["quiet"], drain["total"], orders["output_limit_bytes"]]
        texts = [orders["cwd"], job.marker, *orders["argv"], *orders["env"].values()]
        if not orders["argv"] or not job.marker:
            raise ValueError("argv and marker must not be empty")
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, (int, float)) for n in numbers):
            raise ValueError("a number or a text is of another type")
    except OSError as error:
        raise Refusal("supervisor.json could not be read: %s" % error.strerror)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refusal("supervisor.json is not as it must be: %s: %s" % (type(error).__name__, error))


class _ScannerSettings:
    """What the built-in JSON scanner asks for; the `json` package would cost 4 ms of imports before the start."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


def _parse_json(text):
    try:
        from _json import make_scanner

        return make_scanner(_ScannerSettings)(text, 0)[0]
    except Exception:
        import json

        return json.loads(text)


def _spawn(job):
    """Starts ansible in a session of its own: no shell, nothing inherited, output and errors into one pipe."""
    orders = job.orders
    environment = {_bytes(name): _bytes(value) for name, value in orders["env"].items()}
    environment[b"HOLDFAST_JOB_MARKER"] = _bytes(job.marker)
    arguments = [_bytes(part) for part in orders["argv"]]
    program = _find_program(arguments[0], environment)
    _close_on_exec()
    job.adopts_orphans = _become_subreaper()
    if orders.get("isolation") is not None:
        _isolate(job)
        environment = job.isolation.environment_of(environment)
    if job.secrets is not None:
        from holdfast_job.secret_files import make_secrets, serve_secrets

        patiently(job, make_secrets, job)
    job.output_pipe, pipe_writer = patiently(job, os.pipe)
    if job.isolation is not None:
        _spawn_isolated(job, program, arguments, environment, pipe_writer)
        if job.secrets is not None:
            serve_secrets(job, job.ansible_pid)
        return
    if job.secrets is not None:
        serve_secrets(job, os.getpid())
    _enter(job, orders["cwd"])
    own_limit = _set_lock_limit(orders.get("limit_mark"))
    try:
        job.ansible_pid = patiently(job, _run, job, program, arguments, environment, pipe_writer, codes=PASSING_AT_SPAWN)
    except OSError as error:
        job.started_at = None
        is_there = error.errno == errno.ENOENT and os.path.exists(program)
        hint = " (it is there, so its interpreter may be missing)" if is_there else ""
        raise Refusal("%s could not be started: %s%s" % (os.fsdecode(program), error.strerror, hint))
    finally:
        _set_lock_limit(own_limit)
        os.close(pipe_writer)
        os.chdir("/")


def _run(job, program, arguments, environment, output):
    """Returns the pid of ansible-playbook."""
    job.started_at = iso_now()
    return os.posix_spawn(
        program,
        arguments,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=_RESET_FOR_ANSIBLE,
    )


def _isolate(job):
    """A user for this job alone, or no start: never with less than was ordered."""
    from holdfast_job.isolation import Isolation

    try:
        job.isolation = Isolation(job, job.orders["isolation"])
    except OSError as error:
        place = "" if error.filename is None else ": %s" % error.filename
        raise Refusal("the job could not be given a user of its own: %s%s" % (error.strerror or error, place))


def _spawn_isolated(job, program, arguments, environment, output):
    orders = job.orders
    kept = [] if job.secrets is None else list(job.secrets["descriptors"].values())
    own_limit = _set_lock_limit(orders.get("limit_mark"))
    try:
        job.started_at = iso_now()
        cwd = _bytes(orders["cwd"])
        job.ansible_pid = job.isolation.spawn(program, arguments, environment, cwd, output, kept, _RESET_FOR_ANSIBLE)
    except OSError as error:
        job.started_at = None
        job.isolation.finish()
        raise Refusal("%s could not be started: %s" % (os.fsdecode(program), error.strerror or error))
    finally:
        _set_lock_limit(own_limit)
        os.close(output)


def _become_subreaper():
    """Orphans of the job become children of the supervisor, so none gets out of sight. False where that cannot be had."""
    try:
        import ctypes

        pr_set_child_subreaper = 36
        return ctypes.CDLL(None).prctl(pr_set_child_subreaper, *map(ctypes.c_ulong, (1, 0, 0, 0))) == 0
    except Exception:
        return False


def _set_lock_limit(soft):
    """Sets the soft limit of file locks, by which the agent finds what a lost supervisor leaves. Returns the one before.

    The hard one stays, so that an agent run by a playbook can mark jobs of its own. None: nothing is set, or was.
    """
    if soft is None:
        return None
    try:
        import ctypes

        library = ctypes.CDLL(None)
        limits = (ctypes.c_ulong * 2)()
        if library.getrlimit(_RLIMIT_LOCKS, limits) != 0:
            return None
        before, limits[0] = limits[0], soft
        return before if library.setrlimit(_RLIMIT_LOCKS, limits) == 0 else None
    except Exception:
        return None


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")


def _find_program(name, environment):
    if b"/" in name:
        return name
    for folder in environment.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":"):
        candidate = (folder or b".") + b"/" + name
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise Refusal("%s could not be started: it was not found in PATH" % os.fsdecode(name))


def _enter(job, folder):
    try:
        patiently(job, os.chdir, _bytes(folder), codes=PASSING_AT_SPAWN)
    except OSError as error:
        raise Refusal("the working folder %s could not be entered: %s" % (folder, error.strerror))


def _close_on_exec():
    """Whatever the agent left open by mistake must not live on in the playbook."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                pass
