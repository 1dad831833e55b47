/**
 * For tests of supervise.py alone: a job whose pipes are real, and whose processes, clock and end are the test's own. A
 * test says what happens at each wait of the supervisor, one after the other.
 */
export const SUPERVISED_RUN = `
import fcntl, json, signal
from types import SimpleNamespace as Any
from holdfast_job import event_relay, masking, secret_files, supervise
from holdfast_job.job import Job

ANSIBLE = 50
REAL = {name: getattr(supervise, name) for name in ("os", "time", "select", "ProcessTree", "Ladder", "OutputLog", "Run", "_widen")}

class Poll:
    def __init__(self, run):
        self.run, self.files = run, []
    def register(self, file, what): self.files.append(file)
    def unregister(self, file): self.files.remove(file)
    def poll(self, timeout=None):
        if len(self.files) == 1 and self is self.run.polls[0]:
            self.run.log.append("gather %d" % timeout)
            return []
        self.run.waits.append(timeout if timeout is None else round(timeout))
        return [(file, 1) for file in self.run.next(timeout) if file in self.files]

class Scene:
    """One run. steps: what happens at each wait; ladder: what each look at the processes says."""
    def __init__(self, folder, steps=(), ladder=(), orphans=True, children=False, isolated=False, secrets=False, left=(),
            first=(), faults=(), exit_answers=(), kept=None, slow_note=0, drain=(1, 5), files=()):
        self.steps, self.answers, self.log, self.waits, self.polls, self.dead = list(steps), list(ladder), [], [], [], []
        self.folder, self.left, self.first, self.faults = folder, left, first, list(faults)
        self.exit_answers, self.slow_note, self.ladders, self.reads = list(exit_answers), slow_note, [], 0
        self.clock = supervise.time = Clock(100.0)
        self.output, self.writer = os.pipe()
        self.events, self.events_writer = os.pipe()
        self.signals, self.signals_writer = os.pipe()
        os.set_blocking(self.signals, False)
        for name in files:
            with open(folder + "/" + name, "w"): pass
        self.job = job = Job(folder)
        job.orders = {
            "output_limit_bytes": 1000,
            "drain_seconds": {"quiet": drain[0], "total": drain[1]},
            "abort_ladder_seconds": {"interrupt": 10, "terminate": 4},
        }
        job.marker, job.ansible_pid, job.adopts_orphans = "mark", ANSIBLE, orphans
        job.output_pipe, job.signals_fd, job.output_file = self.output, self.signals, 77
        if isolated: job.isolation = Any(user="the user", events_pipe=self.events, finish=self.finish_user(isolated))
        if secrets: job.secrets = {"hidden": ["hush"]}
        self.ended, self.output_given = None, []
        self.install(children)

    def finish_user(self, how):
        def finish():
            self.log.append("user removed")
            if how == "fails": raise OSError(errno.EIO, "broken")
            return None if how is True else how
        return finish

    def install(self, children):
        scene = self
        class Tree:
            def __init__(self, marker, user): self.of = [marker, user]
        class Ladder:
            def __init__(self, tree, steps, must_end=None):
                self.next_look, self.left, self.first_signalled = 0.0, [], frozenset()
                scene.ladders.append([[list(step) for step in steps], must_end, tree.of])
            def is_done(self):
                self.first_signalled = frozenset(scene.first)
                self.left = list(scene.left)
                done, wait = scene.answers.pop(0)
                self.next_look = scene.clock.now + wait
                return done
        class Output:
            def __init__(self, file, limit, mask): scene.output_made = [file, limit, mask if isinstance(mask, str) else type(mask).__name__]
            def feed(self, piece): scene.output_given.append(piece.decode())
        class Relay:
            def __init__(self, *given): scene.log.append("relay %s" % [os.path.basename(path) for path in given[1:]])
            def take(self):
                scene.log.append("event " + os.read(scene.events, 100).decode())
            def finish(self): scene.log.append("relay finished")
        event_relay.EventRelay, masking.StreamHider = Relay, lambda hidden: "hider of " + hidden[0]
        secret_files.remove_pipes = lambda job: scene.log.append("pipes removed")
        def poll():
            made = Poll(scene)
            scene.polls.append(made)
            return made
        def waitpid(pid, options):
            assert (pid, options) == (-1, os.WNOHANG)
            if scene.dead: return scene.dead.pop(0)
            if children: return 0, 0
            raise ChildProcessError()
        def read(file, size):
            if file == scene.output: scene.reads += 1
            return os.read(file, size)
        supervise.os = StandIn(os, waitpid=waitpid, read=read)
        supervise.select = Any(poll=poll, POLLIN=1)
        supervise.ProcessTree, supervise.Ladder, supervise.OutputLog = Tree, Ladder, Output
        def keep_reserve(job):
            scene.log.append("reserve")
            if scene.faults: raise scene.faults.pop(0)
        supervise.keep_reserve = keep_reserve
        def write_exit(job, *given):
            scene.log.append(["exit noted", *given])
            scene.clock.now += scene.slow_note
            return scene.exit_answers.pop(0) if scene.exit_answers else True
        supervise.write_exit = write_exit
        def write_end(job, output, *given):
            assert job is scene.job
            scene.ended = [output is not None and type(output).__name__, *given]
        supervise.write_end = write_end
        def has_children():
            scene.log.append("children?")
            return children
        supervise.has_children = has_children
        supervise.say_waiting = lambda error: scene.log.append("waiting")
        supervise.say_going_on = lambda: scene.log.append("going on")

    def next(self, timeout):
        """What the next wait brings: files that can be read."""
        if not self.steps: raise KeyboardInterrupt("the supervisor waits for more: %s" % self.log)
        step = self.steps.pop(0)
        files = []
        for what, *value in step if isinstance(step[0], list) else [step]:
            if what == "out":
                os.write(self.writer, value[0].encode())
                files.append(self.output)
            if what == "close":
                os.close(self.writer)
                files.append(self.output)
            if what == "nothing": files.append(self.output)
            if what == "event":
                os.write(self.events_writer, value[0].encode())
                files.append(self.events)
            if what == "quiet out": os.write(self.writer, value[0].encode())
            if what == "exit": self.dead.append((ANSIBLE, value[0]))
            if what == "child": self.dead.append((value[0], 0))
            if what in ("abort", "forced"):
                with open(self.folder + ("/abort.json" if what == "abort" else "/abort-forced.json"), "w"): pass
            if what == "fault": raise OSError(getattr(errno, value[0]), "x")
            if what == "pass": self.clock.now += value[0] if value else (timeout - 1) / 1000
            if what in ("exit", "child", "signal"):
                os.write(self.signals_writer, bytes([value[0] if what == "signal" else signal.SIGCHLD]))
                files.append(self.signals)
            if what == "no signal": files.append(self.signals)
        return files

    def said(self):
        return {
            "end": self.ended, "output": "".join(self.output_given), "log": self.log, "waits": self.waits,
            "ladders": self.ladders, "left": len(self.steps) + len(self.answers) + len(self.dead), "slept": self.clock.slept,
        }

    def close(self):
        for file in (self.output, self.writer, self.events, self.events_writer, self.signals, self.signals_writer):
            try: os.close(file)
            except OSError: pass

def run(scene):
    """Supervises a run to its end, and says all that has happened."""
    for name, value in REAL.items(): setattr(supervise, name, value)
    with Folder() as folder:
        one = Scene(folder, **scene)
        try:
            supervise.supervise(one.job)
        finally:
            one.close()
        return one.said()
`
