"""Gives ansible its secrets without a disk: through named pipes, and as files in memory.

A named pipe has a name in the job's folder and its content only in the kernel, on its way from here to whoever opens it. It is
what ansible can take variables from: it resolves every link in the name of a file, so that a file in memory could not be found.
Private keys are opened by ssh, many times and by name: `/proc/<this process>/fd/<number>`.
"""

import _thread
import os

_WAITING_NAME = ".new"


def serve_secrets(job):
    """Makes the files and pipes that the secrets name. Each pipe is served as often as it is opened, for as long as this runs."""
    secrets = job.secrets
    paths = {mark: _file_in_memory(content) for mark, content in secrets["files"].items()}
    for name, content in secrets["pipes"].items():
        for mark, path in paths.items():
            content = content.replace(mark, path)
        path = job.path(name)
        _make_pipe(path)
        _thread.start_new_thread(_serve, (path, content.encode("utf-8", "surrogatepass")))


def remove_pipes(job):
    """Nobody is there any more to serve them."""
    for name in job.secrets["pipes"] if job.secrets else ():
        for path in (job.path(name), job.path(name) + _WAITING_NAME):
            try:
                os.unlink(path)
            except OSError:
                pass


def _file_in_memory(content):
    """Its path, good as long as this process lives. Readable by its owner only: ssh refuses a key that others could read."""
    descriptor = os.memfd_create("holdfast", os.MFD_CLOEXEC)
    os.fchmod(descriptor, 0o600)
    data = content.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(descriptor, data) :]
    return "/proc/%d/fd/%d" % (os.getpid(), descriptor)


def _make_pipe(path):
    """In place of an older one, at once: there is always one pipe of this name."""
    try:
        os.unlink(path + _WAITING_NAME)
    except FileNotFoundError:
        pass
    os.mkfifo(path + _WAITING_NAME, 0o600)
    os.rename(path + _WAITING_NAME, path)


def _serve(path, data):
    """Opening waits for a reader. The next reader gets a pipe of its own, so that nobody reads the content twice."""
    try:
        while True:
            pipe = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _make_pipe(path)
                _write(pipe, data)
            finally:
                os.close(pipe)
    except OSError:
        pass  # the folder is gone, or full of names: ansible says that it cannot find the file


def _write(pipe, data):
    try:
        while data:
            data = data[os.write(pipe, data) :]
    except BrokenPipeError:
        pass  # the reader has had enough
