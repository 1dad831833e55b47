"""The second place of an end: a folder in memory, for the time when the disk of the job takes nothing.

The agent looks there before it concludes that a supervisor was lost. It removes the files together with the job.
"""

import errno
import os

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_WRITABLE_BY_OTHERS = 0o022


def write_second(job, name, data):
    """Writes a file of the job into the first second place that can be used. What is there already stays. Never raises."""
    for place in job.second_places():
        try:
            folder = _open_own(place)
            try:
                _create(folder, "%s-%s" % (job.run_id, name), data)
            finally:
                os.close(folder)
            return
        except OSError:
            pass  # the next place may do


def _open_own(place):
    """Whoever may write into the folder decides about ends. So it must belong to this user alone."""
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        pass
    folder = os.open(place, _FOLDER)
    status = os.fstat(folder)
    if status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS:
        return folder
    os.close(folder)
    raise OSError(errno.EPERM, "the folder belongs to others, too")


def _create(folder, name, data):
    """Under another name first, so that the file is complete, or it is not there."""
    draft = "%s-%s.tmp" % (name, os.urandom(4).hex())
    descriptor = os.open(draft, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)
        try:
            os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            pass  # it was written before, and an end never changes
    finally:
        os.unlink(draft, dir_fd=folder)
