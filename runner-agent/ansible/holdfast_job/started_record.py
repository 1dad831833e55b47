"""started.json: whoever creates it is the only one that may start the playbook of the job."""

import errno
import os

from holdfast_job.job import iso_now
from holdfast_job.transient_errors import retry_transient


def claim_start(job):
    """Whoever creates started.json is the only one that may start this job, now and after any crash.

    It is written under another name first, and gets this one by a link: so it is there with its whole content, synced, or
    not at all, whatever fails in between. `main` makes the new name durable.

    The file stays open and locked for the life of this process and of its supervisor: by that an agent in another PID
    namespace, which cannot see them, knows whether one of them lives. Nothing else of this program may open the file, because closing it ends the lock.
    """
    draft = job.path("started-%d-%s.tmp" % (os.getpid(), os.urandom(4).hex()))
    descriptor = retry_transient(job, _write_start, job, draft)
    try:
        retry_transient(job, _link_start, draft, job.path("started.json"), descriptor)
    except OSError:
        os.close(descriptor)
        raise
    finally:
        _remove(draft)
    job.started_fd = descriptor


def _write_start(job, path):
    """Returns the open file, which is locked. What was written before an error is removed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        text = '{"pid":%d,%s,"locked":%s,"inode":"%d","time":"%s"}\n' % (
            os.getpid(),
            _name_of("self"),
            "true" if lock(descriptor, 0) else "false",
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


def note_playbook(job):
    """playbook.json names ansible-playbook itself: who has lost both supervisor and keeper sees by it whether it runs."""
    try:
        text = '{"pid":%d,%s}\n' % (job.ansible_pid, _name_of(job.ansible_pid))
        descriptor = os.open(job.path("playbook.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # it has ended, it was noted before, or the disk is full: then all processes of the job count
    try:
        os.write(descriptor, text.encode())
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _name_of(pid):
    """What tells a process from every other one beside its pid, as members of a JSON object."""
    with open("/proc/%s/stat" % pid, "rb") as stat:
        start_ticks = int(stat.read().rpartition(b")")[2].split()[19])
    with open("/proc/sys/kernel/random/boot_id") as boot:
        boot_id = boot.read().strip()
    return '"start_ticks":%d,"boot_id":"%s"%s' % (start_ticks, boot_id, _pid_namespace())


def _link_start(draft, path, descriptor):
    try:
        os.link(draft, path)
    except FileExistsError:
        # A network file system may have made the link although it reported an error.
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


def lock(descriptor, place):
    """A lock of this process, which its children do not have. The keeper locks the first byte, its supervisor the second one.

    Returns False on a file system without locks. That is no reason not to start.
    """
    try:
        os.lseek(descriptor, place, os.SEEK_SET)
        os.lockf(descriptor, os.F_TLOCK, 1)
        return True
    except OSError:
        return False
