"""The keeper: the parent of the supervisor, which is the parent of ansible. It only waits.

Whichever of the two is killed, the other one goes on, the pipe of the output stays open, and the exit status of ansible is
known. Without its keeper the supervisor goes on as it is. Without its supervisor the keeper becomes the parent of ansible
(it adopts orphans), and starts another supervisor, which goes on where the killed one was.
"""

import os
import time

from holdfast_job.board import Board
from holdfast_job.job import iso_now
from holdfast_job.started_record import lock
from holdfast_job.transient_errors import TRANSIENT_AT_SPAWN, complain, retry_transient

try:
    import _signal as signal
except ImportError:
    import signal

_FORWARDED = (signal.SIGTERM, signal.SIGUSR1)
_WATCHED = (*_FORWARDED, signal.SIGCHLD)
_PAUSE = 0.5  # seconds before a supervisor is started anew, so that one that always fails does not fill the host


def keep(job, output_writer, go_on):
    """Forks the supervisor and returns in it. The keeper itself never returns.

    `output_writer` is the end of the pipe that only ansible shall have. `go_on` is what another supervisor does; it returns
    when the end is written.
    """
    job.board = Board()
    for _ in range(1 if job.isolation is None else 2):
        job.spare_pipes.append(retry_transient(job, os.pipe))
    job.keeper_pid = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        supervisor = retry_transient(job, os.fork, codes=TRANSIENT_AT_SPAWN)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        raise
    if supervisor == 0:
        _become_supervisor(job)
        return
    try:
        signal.set_wakeup_fd(-1)
        os.close(output_writer)
        code = _stay(job, supervisor, go_on)
    except BaseException as error:
        # The supervisor goes on without its keeper.
        complain("its keeper failed: %s: %s" % (type(error).__name__, error))
        code = 70
    os._exit(code)


def _stay(job, supervisor, go_on):
    """Returns the exit code of the supervisor that has written the end."""
    while True:
        number = signal.sigwait(_WATCHED)
        if number in _FORWARDED:
            _send(supervisor, number)
            continue
        ended = _reap(job, supervisor)
        if ended is None:
            if job.board.status is not None:
                _send(supervisor, signal.SIGCHLD)
            continue
        if os.WIFEXITED(ended) and os.WEXITSTATUS(ended) == 0:
            return 0
        complain("the supervisor was ended (%d); another one goes on" % ended)
        time.sleep(_PAUSE)
        _find_ansible(job)
        supervisor = _start_again(job, go_on)


def _reap(job, supervisor):
    """Collects children that have ended. Returns the status of the supervisor if it is one of them."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == supervisor:
            ended = status
            continue
        if job.board.ansible_pid is None:
            # The supervisor was killed after it had started ansible and before it could say so.
            job.board.note_start(pid, iso_now())
        if pid == job.board.ansible_pid:
            job.board.note_status(status)


def _find_ansible(job):
    """Looks for an ansible that a killed supervisor had just started: then it is the only child."""
    if job.board.ansible_pid is not None:
        return
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as children:
            found = children.read().split()
    except OSError:
        return
    if found:
        job.board.note_start(int(found[0]), iso_now())


def _start_again(job, go_on):
    while True:
        try:
            supervisor = os.fork()
        except OSError:
            time.sleep(_PAUSE)
            continue
        if supervisor > 0:
            return supervisor
        code = 70
        try:
            _become_supervisor(job)
            job.is_resumed = True
            job.adopts_orphans = False  # orphans of ansible are the keeper's
            job.ansible_pid, job.started_at = job.board.ansible_pid, job.board.started_at
            go_on(job)
            code = 0
        except BaseException as error:
            complain("%s: %s" % (type(error).__name__, error))
        finally:
            os._exit(code)


def _become_supervisor(job):
    signal.set_wakeup_fd(job.signals_writer, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.setsid()
    except OSError:
        pass
    lock(job.started_fd, 1)


def _send(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended; that is the next signal
