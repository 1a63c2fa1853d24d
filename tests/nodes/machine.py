"""The first process of a machine of bed.py, in namespaces of its own: the machine lives as long as this.

It gives the machine a host name, a boot id, a machine id, shared memory and a directory of its own. Then it
takes over orphans and reaps them, as the first process of a real machine does: no dead process stays visible.
"""

import os
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path


def bind(own: Path, over: str) -> None:
    subprocess.run(["mount", "--bind", str(own), over], check=True)


def set_up(directory: Path, name: str) -> None:
    own = directory / "own" / name
    (own / "local").mkdir(parents=True, exist_ok=True)
    socket.sethostname(name)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True)
    # The boot id is new at each start, the machine's id stays.
    (own / "boot_id").write_text(f"{uuid.uuid4()}\n")
    bind(own / "boot_id", "/proc/sys/kernel/random/boot_id")
    if os.path.exists("/etc/machine-id"):
        identity = own / "machine-id"
        if not identity.exists():
            identity.write_text(f"{uuid.uuid4().hex}\n")
        bind(identity, "/etc/machine-id")
    bind(own / "local", str(directory / "local"))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    (own / "up").touch()


def reap() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.1)


if __name__ == "__main__":
    set_up(Path(sys.argv[1]), sys.argv[2])
    reap()
