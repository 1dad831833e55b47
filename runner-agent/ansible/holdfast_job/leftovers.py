"""Files and queues of a job's user: handing them over before a job, and removing them after it.

What is removed was made by a playbook, so its names and depth may be anything. Removing is done as the user itself where it can be: then a
link that leads elsewhere can do no harm. No step goes by a path of more than one name, and no step is recursive.
"""

import ctypes
import os

# Loaded before a process becomes another user: that user may not be allowed to read the library.
_library = ctypes.CDLL(None, use_errno=True)

# Folders of the host where any user may leave something.
OPEN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/var/crash")
_OPEN_DEPTH = 6

# Where programs keep what they shall start later. Only root may look there.
_CRON_TABLES = ("/var/spool/cron/crontabs", "/var/spool/cron")
_AT_JOBS = ("/var/spool/cron/atjobs", "/var/spool/at", "/var/spool/atjobs")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FORMAT, _IS_FOLDER = 0o170000, 0o040000


def hand_over(path, uid, gid):
    """Gives a file, or a folder with all that is in it, to a user. Links are given, not what they lead to."""
    if not os.path.islink(path) and os.path.isdir(path):
        # The deepest files come first: a folder that was given away may not be readable any more.
        for _, folders, files, descriptor in os.fwalk(path, topdown=False):
            for name in folders + files:
                os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(path, uid, gid, follow_symlinks=False)


def copy_tree(source, target):
    """Copies the content of a folder into another one: files, folders and links. Only the owner may read the copies."""
    for name in os.listdir(source):
        one, other = source + "/" + name, target + "/" + name
        if os.path.islink(one):
            os.symlink(os.readlink(one), other)
        elif os.path.isdir(one):
            os.mkdir(other, 0o700)
            copy_tree(one, other)
        elif os.path.isfile(one):
            _copy_file(one, other)


def _copy_file(source, target):
    mode = 0o700 if os.stat(source).st_mode & 0o100 else 0o600
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(source, "rb") as content, open(descriptor, "wb") as copy:
        while True:
            piece = content.read(1 << 20)
            if not piece:
                return
            copy.write(piece)


def remove_all(user, folders):
    """As the user: empties folders of its own, and removes what it has left in the open ones, and its queues."""
    for folder in folders:
        if os.path.isdir(folder):
            os.chmod(folder, 0o700)
            empty_folder(folder)
    for folder in OPEN_FOLDERS:
        _remove_own_in(folder, user.uid, _OPEN_DEPTH)
    _remove_queues(user.uid)


def remove_folder(path):
    """As the owner of the folder above. What the user could not remove may be removed by an agent that is root."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        empty_folder(path)
        os.rmdir(path)


def empty_folder(path):
    """Removes all that is in a folder. What lies deep is first moved up, so that no depth can stop it."""
    top = os.open(path, _FOLDER)
    try:
        names = os.listdir(top)
        while names:
            for name in names:
                if not _unlink(name, top):
                    _dissolve(name, top)
            names = os.listdir(top)
    finally:
        os.close(top)


def _dissolve(name, top):
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for inner in os.listdir(folder):
            if not _unlink(inner, folder):
                os.chmod(inner, 0o700, dir_fd=folder)
                os.rename(inner, ".holdfast-" + os.urandom(12).hex(), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _unlink(name, folder):
    """False for a folder."""
    try:
        os.unlink(name, dir_fd=folder)
        return True
    except IsADirectoryError:
        return False


def _remove_own_in(folder, uid, depth):
    """What belongs to the user in a folder where anybody may write, and in such folders below it."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # not there, or not the user's to look into: it could not write there either
    for entry in entries:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        is_folder = found.st_mode & _FORMAT == _IS_FOLDER
        if found.st_uid == uid:
            try:
                _remove_one(entry.path, is_folder)
            except FileNotFoundError:
                pass  # the owner of the folder above has removed it already
        elif is_folder and found.st_mode & 0o002 and depth > 0:
            _remove_own_in(entry.path, uid, depth - 1)


def _remove_one(path, is_folder):
    if is_folder:
        os.chmod(path, 0o700)
        empty_folder(path)
        os.rmdir(path)
    else:
        os.unlink(path)


def _remove_queues(uid):
    """Shared memory, semaphores and message queues of System V, which outlive their processes."""
    ways = (("shm", lambda n: _library.shmctl(n, 0, None)), ("sem", lambda n: _library.semctl(n, 0, 0)))
    for kind, remove in ways + (("msg", lambda n: _library.msgctl(n, 0, None)),):
        for number in _queues_of(uid, kind):
            if remove(number) != 0:
                raise OSError(ctypes.get_errno(), "%s %d cannot be removed" % (kind, number))


def _queues_of(uid, kind):
    """Their numbers, by the owner (`uid`) and the maker (`cuid`) of each."""
    try:
        with open("/proc/sysvipc/" + kind) as table:
            titles, *rows = [line.split() for line in table]
    except (OSError, ValueError):
        return []
    at = {title: index for index, title in enumerate(titles)}
    return [int(row[1]) for row in rows if str(uid) in (row[at["uid"]], row[at["cuid"]])]


def remove_planned(user):
    """As root: what cron and at would start later in the name of the user. Others cannot look there."""
    if os.geteuid() != 0:
        return
    for folder in _CRON_TABLES:
        path = folder + "/" + user.name
        if os.path.isfile(path):
            os.unlink(path)
    for folder in _AT_JOBS:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_uid == user.uid:
                os.unlink(entry.path)
