"""Starts ansible-playbook, as the agent's user or as a user of its own."""

import errno
import os

from holdfast_job.job import Refusal, iso_now
from holdfast_job.keeper import keep
from holdfast_job.oom_score import lower_own, set_own, swap_own
from holdfast_job.transient_errors import TRANSIENT_AT_SPAWN, retry_transient

try:
    import _signal as signal  # the part of `signal` that is built in; the wrapper costs 2 ms of imports
except ImportError:
    import signal

# A limit that Linux has not enforced since 2.4.25 (locks of files). Each child inherits it. So it marks the processes of a job:
# the mark stays in a cleaned environment, in a new session and under another parent.
_RLIMIT_LOCKS = 10

# The number of the first open file that podman passes on to a container.
_FIRST_KEPT = 3

# Signals whose inherited disposition must not reach ansible. A background service starts its children with SIGINT
# ignored. Python itself ignores SIGPIPE and SIGXFSZ.
_RESET_FOR_ANSIBLE = [number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP)]


def spawn(job, go_on):
    """Starts ansible in a session of its own: no shell, nothing inherited, output and errors into one pipe.

    It forks before: it returns in the supervisor, and its parent is the keeper. `go_on` is for the next supervisor.
    """
    orders = job.orders
    environment = {_bytes(name): _bytes(value) for name, value in orders["env"].items()}
    environment[b"HOLDFAST_JOB_MARKER"] = _bytes(job.marker)
    arguments = [_bytes(part) for part in orders["argv"]]
    program = _find_program(arguments[0], environment)
    _close_on_exec()
    _become_subreaper()
    job.score_of_ansible = lower_own()
    if orders.get("isolation") is not None:
        _isolate(job)
        environment = job.isolation.environment_of(environment)
    if job.secrets is not None:
        from holdfast_job.secret_files import make_secrets

        retry_transient(job, make_secrets, job)
    key_files = []
    if job.secrets is not None and orders.get("container"):
        # Ansible is the first process of its container. It has the files as open ones from 3 on: it does not see /proc of the host.
        key_files = [_moved_up(descriptor) for descriptor in job.secrets["descriptors"].values()]
    job.output_pipe, pipe_writer = retry_transient(job, os.pipe)
    keep(job, pipe_writer, go_on)
    job.adopts_orphans = _become_subreaper()
    if job.isolation is not None:
        _spawn_isolated(job, program, arguments, environment, pipe_writer)
        if job.secrets is not None:
            serve_secrets_of(job)
        return
    if job.secrets is not None:
        serve_secrets_of(job)
    _enter(job, orders["cwd"])
    own_limit = _set_lock_limit(orders.get("limit_mark"))
    own_score = swap_own(job.score_of_ansible)
    try:
        job.ansible_pid = retry_transient(
            job, _run, job, program, arguments, environment, pipe_writer, key_files, codes=TRANSIENT_AT_SPAWN
        )
    except OSError as error:
        job.started_at = None
        is_there = error.errno == errno.ENOENT and os.path.exists(program)
        hint = " (it is there, so its interpreter may be missing)" if is_there else ""
        raise Refusal("%s could not be started: %s%s" % (os.fsdecode(program), error.strerror, hint))
    finally:
        _set_lock_limit(own_limit)
        _set_score(own_score)
        os.close(pipe_writer)
        os.chdir("/")


def serve_secrets_of(job):
    """Serves the secrets of the job. The next supervisor serves those that nobody has read yet."""
    from holdfast_job.secret_files import serve_secrets

    if job.isolation is not None:
        serve_secrets(job, job.ansible_pid)
    elif job.orders.get("container"):
        marks = enumerate(job.secrets["descriptors"])
        serve_secrets(job, 1, {mark: _FIRST_KEPT + place for place, mark in marks})
    else:
        # The files are named by the keeper, which lives longest.
        serve_secrets(job, job.keeper_pid)


def _moved_up(descriptor):
    """The same open file under a number that no other one is given in the new process."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return fcntl(descriptor, F_DUPFD_CLOEXEC, 200)


def _run(job, program, arguments, environment, output, kept=()):
    """Returns the pid of ansible-playbook."""
    job.started_at = iso_now()
    pid = os.posix_spawn(
        program,
        arguments,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
            *((os.POSIX_SPAWN_DUP2, descriptor, _FIRST_KEPT + place) for place, descriptor in enumerate(kept)),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=_RESET_FOR_ANSIBLE,
    )
    job.board.note_start(pid, job.started_at)
    return pid


def _isolate(job):
    """Gets a user for this job alone. Raises Refusal when there is none: then the job is not started."""
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
    own_score = swap_own(job.score_of_ansible)
    try:
        job.started_at = iso_now()
        cwd = _bytes(orders["cwd"])
        job.ansible_pid = job.isolation.spawn(program, arguments, environment, cwd, output, kept, _RESET_FOR_ANSIBLE)
        job.board.note_start(job.ansible_pid, job.started_at)
    except OSError as error:
        job.started_at = None
        job.isolation.finish()
        raise Refusal("%s could not be started: %s" % (os.fsdecode(program), error.strerror or error))
    finally:
        _set_lock_limit(own_limit)
        _set_score(own_score)
        os.close(output)


def _become_subreaper():
    """Makes orphans of the job children of the supervisor, so that none is lost. False where the kernel cannot do that."""
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


def _set_score(score):
    if score is not None:
        set_own(score)


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
        retry_transient(job, os.chdir, _bytes(folder), codes=TRANSIENT_AT_SPAWN)
    except OSError as error:
        raise Refusal("the working folder %s could not be entered: %s" % (folder, error.strerror))


def _close_on_exec():
    """Closes files that the agent left open by mistake, so that the playbook does not have them."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                pass
