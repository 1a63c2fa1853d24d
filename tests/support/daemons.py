"""Processes that outlive the program that starts them, and are ended by their ids alone.

Their ids are in files of one directory, with the times of their starts: an id may be another's by now.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PATIENCE = 120  # seconds for a step on a busy machine


class Failure(Exception):
    """What was tried, and why it did not work."""


def wait_for(what: str, ready: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.02)


class Processes:
    """The process ids of one directory, each in a file of its name."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self, name: str, command: list[str]) -> None:
        """Starts a process that outlives this one. Its output goes to NAME.out."""
        with open(self.directory / f"{name}.out", "ab") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        self.note(name, process.pid)

    def note(self, name: str, pid: int) -> None:
        """Writes down a process that somebody else started."""
        (self.directory / f"{name}.pid").write_text(f"{pid} {self.began(pid)}")

    @staticmethod
    def began(pid: int) -> str | None:
        """When the process began, as the system counts; None where there is none, or a dead one."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]

    def find(self, name: str) -> int | None:
        """The living process of that name. Its id may be another's by now: the time of its start tells."""
        try:
            pid, began = (self.directory / f"{name}.pid").read_text().split()
        except (OSError, ValueError):
            return None
        return int(pid) if self.began(int(pid)) == began else None

    def send(self, name: str, number: int) -> None:
        if not self.sent(name, number):
            raise Failure(f"{name} does not run")

    def sent(self, name: str, number: int) -> bool:
        """False: it does not run, or has ended meanwhile."""
        pid = self.find(name)
        if pid is None:
            return False
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def end(self, names: Iterable[str], number: int = signal.SIGKILL) -> None:
        names = list(names)
        for name in names:
            self.sent(name, number)  # it may end with one that was ended before
        for name in names:
            wait_for(f"the end of {name}", lambda name=name: self.find(name) is None)  # type: ignore[misc]

    def names(self) -> list[str]:
        return sorted(file.stem for file in self.directory.glob("*.pid"))


def outlive(life: float, owner: int, there: Callable[[], bool]) -> None:
    """Returns when the life is over, when the process `owner` has ended (0: none), or what it watches is
    gone."""
    end = time.monotonic() + life
    began = Processes.began(owner) if owner else None
    while time.monotonic() < end and there():
        if owner and (began is None or Processes.began(owner) != began):
            return
        time.sleep(0.5)
