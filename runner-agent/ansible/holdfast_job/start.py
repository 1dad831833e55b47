"""Everything that must be true before ansible runs.

Each import here delays every playbook. So the modules of this half use only what the interpreter has loaded already. The
other half of the supervisor is imported while ansible is starting up.
"""

import os
import time

from holdfast_job.job import Job, Refusal
from holdfast_job.orders import read_orders, read_secrets
from holdfast_job.spawn import serve_secrets_of, spawn
from holdfast_job.started_record import claim_start
from holdfast_job.transient_errors import complain, retry_transient, say_going_on, say_waiting

try:
    import _signal as signal  # the part of `signal` that is built in; the wrapper costs 2 ms of imports
except ImportError:
    import signal

EXIT_ALREADY_STARTED = 17
EXIT_NOTHING_STARTED = 18

_TRY_AGAIN_AFTER = 0.5  # seconds


def main(arguments):
    """Returns the exit code: 0 when an end.json was written, 17 when the job had been started before, 18 when nothing was.

    18 leaves no mark. Whoever has started this program may start it again.
    """
    try:
        job = _prepare(arguments)
    except FileExistsError as error:
        complain(str(error))
        return EXIT_ALREADY_STARTED
    except Exception as error:
        what = str(error) if isinstance(error, Refusal) else "%s: %s" % (type(error).__name__, error)
        complain(what + ", so nothing was started")
        return EXIT_NOTHING_STARTED

    cause, message = None, None
    try:
        # The start is this process's now. It counts only when it is durable.
        retry_transient(job, os.fsync, job.folder_fd)
        job.output_file = retry_transient(job, _append_only, job.path("output.log"))
        os.close(retry_transient(job, _append_only, job.path("events.jsonl")))
        read_orders(job)
        if not job.is_abort_asked():
            spawn(job, _go_on)
    except Refusal as refusal:
        cause, message = "spawn_failed", str(refusal)
    except Exception as error:
        cause, message = "spawn_failed", "the supervisor failed before the start: %s: %s" % (type(error).__name__, error)
    if job.ansible_pid is None and job.is_abort_asked():
        # An abort ends every wait. So a failure may only mean that the abort ended one.
        cause, message = "aborted", "aborted before ansible-playbook was started"

    if cause is None:
        _import_supervise(job)(job)
    else:
        _end_without_start(job, cause, message)
    return 0


def _go_on(job):
    """What another supervisor does when the first one was killed."""
    if job.ansible_pid is None:
        _end_without_start(job, "spawn_failed", "the supervisor was ended before it started ansible-playbook")
        return
    if job.secrets is not None:
        serve_secrets_of(job)
    _import_supervise(job)(job)


def _end_without_start(job, cause, message):
    from holdfast_job.ending import end_without_start

    end_without_start(job, cause, message)


def _prepare(arguments):
    """Does everything up to started.json. After an error nothing is left. Raises FileExistsError when the job was started before."""
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["secrets"]):
        raise Refusal("usage: supervisor.py <job folder> [secrets]")
    job = Job(os.path.abspath(arguments[1]))
    _fill_standard_descriptors()
    if len(arguments) == 3:
        read_secrets(job)
    job.signals_fd, job.signals_writer = _watch_signals()
    try:
        retry_transient(job, job.open_folder)
    except OSError as error:
        raise Refusal("%s could not be opened: %s" % (job.folder, error.strerror))
    try:
        os.setsid()
    except OSError:
        pass  # the agent has made this process the leader of a session already
    try:
        claim_start(job)
    except FileExistsError:
        raise FileExistsError("%s exists: this job has been started before" % job.place("started.json"))
    except OSError as error:
        raise Refusal("%s could not be written: %s" % (job.place("started.json"), error.strerror))
    return job


def _import_supervise(job):
    """Loads the other half of the supervisor. The playbook runs already, so every error is waited out, however long.

    A package that is away for a moment is there again when its installation has ended.
    """
    waits = False
    while True:
        try:
            from holdfast_job.supervise import supervise

            if waits:
                say_going_on()
            return supervise
        except Exception as error:
            if not waits:
                say_waiting(error)
            waits = True
        time.sleep(_TRY_AGAIN_AFTER)


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
    return reader, writer


def _only_wake(_number, _frame):
    pass


def _append_only(path):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
