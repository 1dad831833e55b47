"""From the start of ansible to end.json: copies its output, waits for its end, ends it when an abort is asked for."""

import os
import select
import signal
import time

from holdfast_job.ending import keep_reserve, write_end, write_exit
from holdfast_job.handover import Handover
from holdfast_job.output_log import OutputLog, PassThrough
from holdfast_job.process_tree import Ladder, ProcessTree, has_children
from holdfast_job.started_record import note_playbook
from holdfast_job.transient_errors import is_transient, say_going_on, say_waiting

_READ_BYTES = 64 * 1024
_PIPE_BYTES = 256 * 1024
_FLOOD_BYTES = 16 * 1024
_GATHER_MILLISECONDS = 20
_SWEEP = ((signal.SIGTERM, 2.0),)
_TRY_AGAIN_AFTER = 0.5


def supervise(job):
    """Returns when end.json is there.

    A playbook is not ended because no file can be opened for a while: that is waited out. After a fault of the supervisor
    itself its output is not kept any more, but the playbook goes on and its end is told. When that fails, too, this raises,
    and the keeper starts another supervisor.
    """
    run, waits, fault = None, False, None
    while True:
        try:
            run = run or Run(job)
            if waits:
                say_going_on()
            waits = False
            run.follow()
            run.sweep()
            run.write_end(fault)
            return
        except Exception as error:
            if is_transient(error):
                say_waiting(error)
                waits = True
            elif run is None or fault is not None:
                raise
            else:
                fault = "the supervisor failed, so later output may be missing: %s: %s" % (type(error).__name__, error)
                run.discard_output()
        time.sleep(_TRY_AGAIN_AFTER)


class _Discarded:
    """Takes the place of the log after a fault: what comes is counted. The end is made from the file."""

    def __init__(self, dropped):
        self.dropped = dropped

    def feed(self, piece):
        self.dropped += len(piece)


class Run:
    """One run of ansible-playbook and everything it has started."""

    def __init__(self, job):
        self._job = job
        orders = job.orders
        keep_reserve(job)
        note_playbook(job)
        self._log = self.output = OutputLog(job.output_file, orders["output_limit_bytes"], _mask_of(job))
        self._tree = _tree_of(job)
        self._wait_status = None
        self._exit_is_written = job.is_resumed and os.path.exists(job.path("exit.json"))
        self._quiet_at = self._drained_at = 0.0
        self._abort = None
        self._abort_seen = False
        self._ladder = None
        self._survivors = []
        self._pipe = job.output_pipe
        os.set_blocking(self._pipe, False)
        _widen(self._pipe)
        self._handover = Handover(job, 0, self._pipe)
        self._taken = 0
        self._signals = select.poll()
        self._signals.register(job.signals_fd, select.POLLIN)
        self._poller = select.poll()
        self._poller.register(job.signals_fd, select.POLLIN)
        self._poller.register(self._pipe, select.POLLIN)
        self._relay = self._events_pipe = None
        if job.isolation is not None:
            self._open_relay()
        if job.is_resumed:
            self._resume()

    def _resume(self):
        """Goes on where a killed supervisor was."""
        known, piece = self._handover.resume()
        self._log.restore(known)
        if piece:
            self._use(piece)
        if self._relay is not None:
            self._relay.resume()
        self._reap()
        self._look_for_abort()

    @property
    def has_ended(self):
        """Whether ansible-playbook itself has ended."""
        return self._wait_status is not None

    def follow(self):
        """Runs until ansible has ended and its output is read, or until an abort has ended all of its processes."""
        while self._abort is None:
            if self._wait_status is None:
                self._taken = 0
                self._wait(None)
                self._gather()
                continue
            now = time.monotonic()
            if self._pipe is None or now >= self._quiet_at or now >= self._drained_at:
                return
            self._wait(min(self._quiet_at, self._drained_at))
        self._climb(self._abort)

    def sweep(self):
        """Ends processes that are left when ansible has ended, also daemons that it has started."""
        if self._abort is not None:
            return  # an abort has done this already
        self._reap()
        if not self._job.adopts_orphans or self._job.isolation is not None or has_children():
            self._climb(Ladder(self._tree, _SWEEP))

    def _climb(self, ladder):
        self._ladder = ladder
        while time.monotonic() < ladder.next_look or not ladder.is_done() or not self._knows_end(ladder):
            self._note_stopped()
            self._wait(ladder.next_look)
        self._survivors = ladder.left

    def _note_stopped(self):
        """Notes that the abort has signalled ansible. The next supervisor would not know it."""
        if self._abort is not None and self._job.ansible_pid in self._abort.first_signalled:
            self._job.board.note_stopped()

    def _knows_end(self, ladder):
        """Whether an end may be written: not before ansible's exit status is known, even if no process of the job is seen."""
        return ladder is not self._abort or self.has_ended

    def discard_output(self):
        """From now on output is only counted: the playbook must not wait for somebody who reads it."""
        self.output = _Discarded(self.output.dropped)

    def write_end(self, fault=None):
        self._reap()
        self._read_rest()
        exit_code, signal_name = self.exit()
        if self._wait_status is not None and self._is_stopped() and not self._survivors:
            cause = "aborted"
        elif signal_name is not None:
            cause = "signaled"
        else:
            cause = "exited"
        message = fault
        if self._survivors:
            said = "some processes of the job could not be ended: " + ", ".join(map(str, self._survivors))
            message = said if fault is None else fault + "; " + said
        if self._relay is not None:
            self._relay.finish()
            left = _remove_user(self._job)
            message = "; ".join(part for part in (message, left) if part) or None
        if self._job.secrets is not None:
            from holdfast_job.secret_files import remove_pipes

            remove_pipes(self._job)
        write_end(self._job, self.output, cause, exit_code, signal_name, message)

    def _wait(self, until):
        """Sleeps until there is output, a signal, or the time has come."""
        timeout = None if until is None else max(0.0, until - time.monotonic()) * 1000 + 1
        for descriptor, _ in self._poller.poll(timeout):
            if descriptor == self._pipe:
                self._read_output()
            elif descriptor == self._events_pipe:
                self._relay.take()
            else:
                self._on_signals()

    def _open_relay(self):
        """Events of a job with a user of its own come through a pipe."""
        from holdfast_job.event_relay import EventRelay

        self._events_pipe = self._job.isolation.events_pipe
        _widen(self._events_pipe)
        paths = self._job.path("events.jsonl"), self._job.path("callback.json")
        self._relay = EventRelay(self._events_pipe, *paths, Handover(self._job, 1, self._events_pipe))
        self._poller.register(self._events_pipe, select.POLLIN)

    def _gather(self):
        """Waits a moment, so that several lines are read at once. Waking up for each line takes time that ansible needs."""
        if 0 < self._taken < _FLOOD_BYTES:
            self._signals.poll(_GATHER_MILLISECONDS)

    def _read_output(self):
        """One piece; False when there is nothing more to read now."""
        try:
            piece = self._handover.take()
        except BlockingIOError:
            return False
        if not piece:
            self._poller.unregister(self._pipe)
            os.close(self._pipe)
            self._pipe = None
            return False
        self._use(piece)
        if self._wait_status is not None:
            self._quiet_at = time.monotonic() + self._job.orders["drain_seconds"]["quiet"]
        return True

    def _use(self, piece):
        self._taken = len(piece)
        self.output.feed(piece)
        if self.output is self._log:
            self._handover.done(self._log.state())

    def _read_rest(self):
        """What is still in the pipe; bounded, because somebody who could not be ended may go on writing."""
        for _ in range(4 * _PIPE_BYTES // _READ_BYTES):
            if self._pipe is None or not self._read_output():
                return

    def _on_signals(self):
        try:
            numbers = os.read(self._job.signals_fd, 4096)
        except BlockingIOError:
            return
        self._reap()
        if signal.SIGTERM in numbers or signal.SIGUSR1 in numbers:
            self._look_for_abort()

    def _reap(self):
        """Reaps processes that have ended, and learns how ansible ended."""
        try:
            while True:
                # It is collected after it was noted. Until then the keeper would inherit it.
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is None:
                    break
                if ended.si_pid == self._job.ansible_pid:
                    self._job.board.note_status(_status_of(ended))
                os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            pass
        status = self._job.board.status
        if self._wait_status is None and status is not None:
            self._wait_status = status
            self._note_exit()
            drain, now = self._job.orders["drain_seconds"], time.monotonic()
            self._quiet_at, self._drained_at = now + drain["quiet"], now + drain["total"]
        self._note_exit()
        if self._ladder is not None:
            self._ladder.next_look = 0.0

    def _note_exit(self):
        """Notes how ansible ended. If the supervisor is lost in the next half minute, only this note is left."""
        if self._wait_status is not None and not self._exit_is_written:
            self._exit_is_written = write_exit(self._job, *self.exit(), self._is_stopped())

    def _is_stopped(self):
        """Whether an abort has ended ansible: this process, or the agent that did not wait for it."""
        self._note_stopped()
        if self._job.board.is_stopped:
            return True
        is_killed = os.WIFSIGNALED(self._wait_status) and os.WTERMSIG(self._wait_status) == signal.SIGKILL
        return is_killed and os.path.exists(self._job.path("abort-forced.json"))

    def _look_for_abort(self):
        """Looks for abort.json after a SIGTERM. If ansible has ended by itself meanwhile, the run has `exited`."""
        if self._abort_seen or not os.path.exists(self._job.path("abort.json")):
            return
        self._abort_seen = True
        if self._wait_status is not None:
            self._drained_at = 0.0
            return
        seconds = self._job.orders["abort_ladder_seconds"]
        steps = ((signal.SIGINT, seconds["interrupt"]), (signal.SIGTERM, seconds["terminate"]))
        self._abort = Ladder(self._tree, steps, must_end=self._job.ansible_pid)

    def exit(self):
        """(exit code, signal name) of ansible-playbook, as it was."""
        status = self._wait_status
        if status is None:
            return None, None
        if os.WIFSIGNALED(status):
            try:
                return None, signal.Signals(os.WTERMSIG(status)).name
            except ValueError:
                return None, "SIG%d" % os.WTERMSIG(status)
        return os.WEXITSTATUS(status), None


def _tree_of(job):
    user = None if job.isolation is None else job.isolation.user
    return ProcessTree(job.marker, user, job.keeper_pid if job.is_resumed else None)


def _status_of(ended):
    """What `waitpid` says of a process, from what `waitid` has said."""
    if ended.si_code == os.CLD_EXITED:
        return ended.si_status << 8
    return ended.si_status | (0x80 if ended.si_code == os.CLD_DUMPED else 0)


def _remove_user(job):
    """Removes everything of the job's user. Returns a sentence when something is left."""
    if job.isolation is None:
        return None
    try:
        return job.isolation.finish()
    except Exception as error:
        return "what the job's user has left could not be removed: %s: %s" % (type(error).__name__, error)


def _mask_of(job):
    """The filters between ansible's output and the log."""
    if job.secrets is None:
        return PassThrough()
    from holdfast_job.masking import StreamHider

    return StreamHider(job.secrets["hidden"])


def _widen(pipe):
    """A wider pipe lets ansible print on while the disk is slow for a moment."""
    try:
        import fcntl

        f_setpipe_sz = 1031
        fcntl.fcntl(pipe, f_setpipe_sz, _PIPE_BYTES)
    except (OSError, ImportError):
        pass
