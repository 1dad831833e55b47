"""The job folder of one run, as both halves of the supervisor know it."""

import os
import time


class Refusal(Exception):
    """Ansible cannot be started; the text says why, for people."""


class Job:
    """The job folder, its orders, and what is open of it. Both halves of the supervisor work on this."""

    def __init__(self, folder):
        self.folder = folder
        self.folder_fd = -1
        self.run_id = os.path.basename(folder).partition("-")[2]
        self.marker = ""
        self.orders = {}
        self.signals_fd = self.signals_writer = -1
        self.started_fd = -1
        self.keeper_pid = None
        self.board = None
        self.spare_pipes = []
        self.is_resumed = False
        self.score_of_ansible = None
        self.output_file = -1
        self.output_pipe = -1
        self.adopts_orphans = False
        self.ansible_pid = None
        self.started_at = None
        self.secrets = None
        self.isolation = None

    def open_folder(self):
        """Keeps the folder open for life, so that it is found again wherever it is moved on its file system."""
        self.folder_fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def path(self, name):
        """A file of the job for this process and its forks, by the open folder; by its name until that is open."""
        if self.folder_fd < 0:
            return self.place(name)
        return "/proc/self/fd/%d/%s" % (self.folder_fd, name)

    def place(self, name):
        """The same file by its name, for other programs and for people."""
        return self.folder + "/" + name

    def is_folder_removed(self):
        """True when the folder is gone for good. One that is moved or cannot be reached now is not."""
        try:
            return os.readlink("/proc/self/fd/%d" % self.folder_fd).endswith(" (deleted)")
        except OSError:
            return False

    def second_places(self):
        """Folders for the end when the disk of the job takes nothing, the best one first. Older orders name none."""
        places = self.orders.get("second_places")
        return [place for place in places if isinstance(place, str)] if isinstance(places, list) else []

    def is_abort_asked(self):
        """True when a person asked to end this job. The agent writes the file."""
        return os.path.exists(self.path("abort.json"))


def iso_now():
    """ISO 8601 UTC with milliseconds, without the import of datetime."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % (now % 1 * 1000)
