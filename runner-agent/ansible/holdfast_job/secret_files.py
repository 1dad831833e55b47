"""Gives ansible its secrets without a disk: through named pipes, and as files in memory.

A named pipe has a name in the job's folder and its content only in the kernel, on its way from here to whoever opens it. It is
what ansible can take variables from: it resolves every link in the name of a file, so that a file in memory could not be found.
Private keys are opened by ssh, many times and by name: `/proc/<a process that has them>/fd/<number>`. That is this process, or ansible itself
where the job has a user of its own, who may not look into this one.

Each pipe gives its content once, to a process of this job: ansible reads each of them once, when it starts. The playbooks of
other jobs may run as the same user. They can open a pipe, but they get nothing from it.
"""

import _thread
import os
import select
import time

_WAITING_NAME = ".new"

# A process that is not the only reader gets this text. Ansible refuses it as variables, as a password and as values to hide.
_REFUSAL = b"another process opened the secrets of this job at the same time, so they were not given away\n"

# How long a reader may stay unseen before it is sent away, and how often it is looked for. A reader is in the list of
# open files a moment after the pipe was opened.
_UNSEEN_SECONDS = 5
_LOOK_SECONDS = 0.002


def make_secrets(job):
    """Makes the files and pipes that the secrets name. The pipes stay empty until they are served. May be called again."""
    secrets = job.secrets
    descriptors = secrets.setdefault("descriptors", {})
    for mark, content in secrets["files"].items():
        if mark not in descriptors:
            descriptors[mark] = _file_in_memory(job, content)
    for name in secrets["pipes"]:
        _make_pipe(job, job.path(name))


def serve_secrets(job, holder, numbers=None):
    """Serves each pipe once to a process of the job. `holder`: the pid by which the files in memory are named.

    `numbers` are those of the files there, by their marks, where they are not the same as here.
    """
    secrets = job.secrets
    numbers = numbers or secrets["descriptors"]
    for name, content in secrets["pipes"].items():
        for mark, descriptor in numbers.items():
            content = content.replace(mark, "/proc/%d/fd/%d" % (holder, descriptor))
        _start_thread(_serve, (job, job.path(name), content.encode("utf-8", "surrogatepass")))


def _start_thread(function, arguments):
    """Starts a thread, and tries again while the host has none left. Ansible waits for its pipes meanwhile."""
    while True:
        try:
            _thread.start_new_thread(function, arguments)
            return
        except RuntimeError:
            time.sleep(0.5)


def remove_pipes(job):
    """Removes the pipes: nobody will serve them any more."""
    for name in job.secrets["pipes"] if job.secrets else ():
        for path in (job.path(name), job.path(name) + _WAITING_NAME):
            try:
                os.unlink(path)
            except OSError:
                pass


def _file_in_memory(job, content):
    """Its descriptor. Readable by its owner only: ssh refuses a key that others could read."""
    descriptor = os.memfd_create("holdfast", os.MFD_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o600)
        if job.isolation is not None:
            os.fchown(descriptor, job.isolation.user.uid, -1)
        data = content.encode("utf-8", "surrogatepass")
        while data:
            data = data[os.write(descriptor, data) :]
        return descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _make_pipe(job, path):
    """Replaces an older pipe in one step, so that there is always a pipe of this name."""
    try:
        os.unlink(path + _WAITING_NAME)
    except FileNotFoundError:
        pass
    os.mkfifo(path + _WAITING_NAME, 0o600)
    if job.isolation is not None:
        job.isolation.give_pipe(path + _WAITING_NAME)
    os.rename(path + _WAITING_NAME, path)


def _serve(job, path, data):
    """Opening waits for a reader. The next reader gets a pipe of its own, so that nobody reads the content twice."""
    try:
        served = False
        while not served:
            pipe = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _make_pipe(job, path)
                readers = _readers_of(job, pipe, path)
                if readers == {True}:
                    _write(pipe, data)
                    served = True
                elif True in readers:
                    _write(pipe, _REFUSAL)
            finally:
                os.close(pipe)
        _send_away(path)
    except OSError:
        pass  # the folder is gone, or full of names: ansible says that it cannot find the file


def _send_away(path):
    """Removes the pipe. Whoever opened it meanwhile sees the end of the file instead of waiting for ever."""
    keeper = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    os.unlink(path)
    os.close(keeper)


def _readers_of(job, pipe, path):
    """The kinds of readers: True for processes of the job, False for others. Empty when no reader comes in time."""
    if job.isolation is not None:
        return {True}  # nobody else may open it
    there = os.fstat(pipe)
    poll = select.poll()
    poll.register(pipe, 0)
    deadline = time.monotonic() + _UNSEEN_SECONDS
    while time.monotonic() < deadline and not poll.poll(0):  # an answer means that no reader is left
        if job.ansible_pid is not None:
            readers = {_is_of_job(job, pid) for pid in _processes_with(there, os.path.basename(path))}
            # Processes that could not be read are looked at again: a failed look says nothing about them.
            if readers and None not in readers:
                return readers
        time.sleep(_LOOK_SECONDS)
    return set()


def _processes_with(there, name):
    """Processes other than this one that have the pipe open, among those whose open files can be seen."""
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        folder = "/proc/" + pid + "/fd"
        try:
            for number in os.listdir(folder):
                # The name is looked at first: asking for the status of a file on a lost network drive would hang.
                if name not in os.readlink(folder + "/" + number):
                    continue
                status = os.stat(folder + "/" + number)
                if (status.st_dev, status.st_ino) == (there.st_dev, there.st_ino):
                    yield pid
                    break
        except OSError:
            pass  # it has ended, or belongs to another user, who cannot open the pipe


def _is_of_job(job, pid):
    """Whether a process is in ansible's session, which nobody else can enter. None: it cannot be seen now, or has ended."""
    if job.orders.get("container"):
        return _is_descendant(job, pid)
    try:
        with open("/proc/" + pid + "/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[3]) == job.ansible_pid
    except (OSError, ValueError, IndexError):
        return None


def _is_descendant(job, pid):
    """A container has sessions of its own. Its processes are orphans of this one's children, which this one or its keeper adopts."""
    try:
        while int(pid) > 1:
            if int(pid) in (os.getpid(), job.keeper_pid):
                return True
            with open("/proc/" + pid + "/stat", "rb") as stat:
                pid = stat.read().rpartition(b")")[2].split()[1].decode()
        return False
    except (OSError, ValueError, IndexError):
        return None


def _write(pipe, data):
    try:
        while data:
            data = data[os.write(pipe, data) :]
    except BrokenPipeError:
        pass  # the reader has closed the pipe
