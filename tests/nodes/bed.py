#!/usr/bin/env python3
"""Machines that share a file system, on this one machine, for tests.

    with Bed() as bed:                                  # CephFS, machines A and B
        a, b = bed.machines
        a.run(["touch", bed.shared / "f"])
        assert (b.run(["ls", bed.shared])).stdout == "f\n"

A machine is a set of namespaces: it has its own host name, boot id, machine id, processes, clocks since boot,
System V objects, `/dev/shm`, network, mounts and the directory `bed.local`. All else is the host's. The
network of the machines is a bridge with nothing else on it. The daemons of CephFS listen on the host's
loopback, and only mounts reach them.

A process of the host, the keeper, ends the bed with its owner, at the end of its life, or when its directory
is gone. Only processes that the bed started are ended, by their ids. All of its files are in its directory.
The mounts are the machines' own, so what removes the directory cannot reach into them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CEPH = HERE.parent / "support" / "ceph.py"
sys.path.insert(0, str(CEPH.parent))
from daemons import Failure, Processes, outlive, wait_for  # noqa: E402

Words = Sequence[str | os.PathLike[str]]
NETWORK = "10.77.0"  # machine k has .k, mpirun .254
PROGRAMS = {
    "cephfs": {name: name for name in ("ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse")},
    "passthrough": {},
}
COMMON = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
}
# Mounts of CephFS by the options of ceph-fuse. UNCACHED: what is read is fresh, and no writer waits for the
# cache of a reader.
UNCACHED = ("client_oc=false", "fuse_disable_pagecache=true")
DEFAULT: tuple[str, ...] = ()
# Mounts of the passthrough (its options are in passthrough.cc): a machine believes its own cache for ever; it
# asks when it opens a file; it asks always.
INCOHERENT = ("writeback", "keep", "timeout=3600")
CLOSE_TO_OPEN = ("writeback", "timeout=1")
COHERENT: tuple[str, ...] = ()
HAS_TIME = Path("/proc/self/ns/time").exists()
SPACES = ["-m", "-u", "-p", "-i", "-n", *(["-T"] if HAS_TIME else [])]  # of commands
OF_MOUNTS = ["-m", "-u", "-p"]  # their network is the host's
# A command is killed with what started it. What then reaps it must be a process of its machine: the orphan of
# a process of the host is the host's, whose first process may take seconds, and a dead writer looks alive.
FATAL = ["setpriv", "--pdeathsig", "KILL"]
PARENT = [*FATAL, "sh", "-c", '"$@"; s=$?; [ $s -le 128 ] || kill -$((s - 128)) $$; exit $s', "sh", *FATAL]


def built(name: str, folder: str = "tests") -> Path | None:
    """A program or library of the project: in the build tree that the environment names, or the newest."""
    tree = os.environ.get("STEPSTORE_TEST_BUILD")
    trees = [Path(tree)] if tree else HERE.parents[1].glob("build/*")
    found = [tree / folder / name for tree in trees if (tree / folder / name).exists()]
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


def why_never() -> str | None:
    """Why there can be no bed here, in one line, whatever is installed; None where there can."""
    if os.geteuid() != 0:
        return "no test bed of machines: it needs root"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no test bed of machines: no /dev/fuse"
    return None


def why_not(kind: str = "cephfs") -> str | None:
    """Why there can be no bed here, in one line; None where there can."""
    reason = why_never()
    if reason:
        return reason
    for program, package in {**COMMON, **PROGRAMS[kind]}.items():
        if shutil.which(program) is None:
            return f"no test bed of machines: no {program} (install {package}, scripts/setup.sh)"
    if kind == "passthrough" and built("passthrough") is None:
        return "no test bed of machines: tests/passthrough is not built (install libfuse3-dev)"
    tried = subprocess.run(
        ["unshare", "-m", "-u", "-p", "-n", "-i", *SPACES[5:], "--fork", "--mount-proc", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"no test bed of machines: {tried.stderr.strip()}" if tried.returncode else None


def command_of(process: subprocess.Popen[Any]) -> int:
    """The process id, on the host, of what Machine.popen started: for signals other than SIGKILL."""
    return child_of(child_of(process.pid))


def child_of(pid: int) -> int:
    found: list[int] = []

    def there() -> bool:
        if Processes.began(pid) is None:
            raise Failure(f"process {pid} ended at once")
        found.extend(int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return bool(found)

    wait_for(f"the child of {pid}", there)
    return found[0]


class Machine:
    """One of the machines of a bed. Threads may use one at once, but only one starts, kills or mounts."""

    def __init__(self, bed: Bed, number: int) -> None:
        self.bed, self.number = bed, number
        self.name = chr(ord("A") + number - 1)
        self.address = f"{NETWORK}.{number}"

    # ---- what runs on it

    @property
    def pid(self) -> int:
        """Its first process, on the host."""
        pid = self.bed.processes.find(self.name)
        if pid is None:
            raise Failure(f"machine {self.name} does not run")
        return pid

    def words(self, command: Words, cwd: str | os.PathLike[str] | None = None) -> list[str]:
        """A command of the host that runs the command on the machine, which ends when this is killed."""
        enter = ["nsenter", "-t", str(self.pid), *SPACES, f"--wdns={cwd or os.getcwd()}"]
        return [*enter, "env", *self.environment(), *PARENT, *(os.fspath(word) for word in command)]

    def popen(self, command: Words, cwd: str | os.PathLike[str] | None = None, **more: Any) -> Any:
        """A subprocess.Popen. Its kill() kills the command; other signals go to command_of(it)."""
        return subprocess.Popen(self.words(command, cwd), **more)

    def run(self, command: Words, cwd: str | os.PathLike[str] | None = None, **more: Any) -> Any:
        """subprocess.run, with check, text, output and a time-out of a minute, if nothing else is said."""
        told = {"check": True, "text": True, "timeout": 60, "stdout": subprocess.PIPE, "stderr": None, **more}
        return subprocess.run(self.words(command, cwd), **told)

    def view(self, path: str | os.PathLike[str]) -> Path:
        """What lies at this path on the machine, as the host sees it."""
        return Path(f"/proc/{self.pid}/root{os.fspath(path)}")

    def environment(self) -> list[str]:
        """What its programs have in their environment: a real-time clock of its own is a library."""
        ahead = self.bed.clocks.get(self.name, 0)
        if ahead == 0:
            return []
        library = built("libother_clock.so")
        if library is None:
            raise Failure("tests/libother_clock.so is not built")
        others = os.environ.get("LD_PRELOAD")
        preload = f"{others}:{library}" if others else library
        return [f"LD_PRELOAD={preload}", f"STEPSTORE_OTHER_CLOCK={ahead}"]

    # ---- its life

    def start(self) -> None:
        """Starts it, at first or again, and mounts what the bed shares."""
        bed = self.bed
        if bed.processes.find(self.name) is not None:
            raise Failure(f"machine {self.name} runs already")
        up = bed.directory / "own" / self.name / "up"
        up.unlink(missing_ok=True)
        up.parent.mkdir(exist_ok=True)
        (up.parent / "environment").write_text("\n".join(self.environment()))
        since_boot = str(100_000 * self.number)
        clocks = ["-T", "--monotonic", since_boot, "--boottime", since_boot] if HAS_TIME else []
        new = ["unshare", "-m", "-u", "-p", "-n", "-i", *clocks, "--propagation", "private", "--fork"]
        first = [sys.executable, str(HERE / "machine.py"), str(bed.directory), self.name]
        outer = f"unshare-{self.name}"
        bed.processes.start(outer, [*bed.in_keeper("-m"), *new, "--mount-proc", "--kill-child", *first])
        outer_pid = bed.processes.find(outer)
        if outer_pid is None:
            raise Failure(bed.told(outer))
        # nsenter and unshare are one process after the other; what that one forks is the machine.
        bed.processes.note(self.name, child_of(outer_pid))

        def ready() -> bool:
            if bed.processes.find(self.name) is None:
                raise Failure(bed.told(outer))
            return up.exists()

        wait_for(f"machine {self.name}", ready)
        self.connect()
        for mount in bed.mounts:
            self.mount(mount)

    def connect(self) -> None:
        """A pair of network devices: bed0 here, the other end on the bridge."""
        far, pid = f"bed-{self.name}", str(self.pid)
        bridge, here = self.bed.in_keeper("-n"), ["nsenter", "-t", pid, "-n"]
        for words in (
            [*bridge, "ip", "link", "add", far, "type", "veth", "peer", "name", "bed0", "netns", pid],
            [*bridge, "ip", "link", "set", far, "master", "bed0", "up"],
            [*here, "ip", "address", "add", f"{self.address}/24", "dev", "bed0"],
            [*here, "ip", "link", "set", "bed0", "up"],
        ):
            checked(words)

    def kill(self, evict: bool = True) -> None:
        """The end of a machine that loses its power: all processes and mounts at once, nothing is flushed.

        A server waits a minute for what a dead mount held (300 s for locks). `evict`: the administrator tells
        it not to. A passthrough has no server.
        """
        os.kill(self.pid, signal.SIGKILL)
        self.bed.processes.end([self.name, f"unshare-{self.name}"])
        if evict:
            self.evict()

    def evict(self) -> None:
        if self.bed.kind == "cephfs":
            checked([str(CEPH), "evict", str(self.bed.directory / "ceph"), self.name])

    # ---- its mounts

    def mounted(self, mount: str) -> bool:
        lines = Path(f"/proc/{self.pid}/mounts").read_text().splitlines()
        return any(line.split()[1] == str(self.bed.path(mount)) for line in lines)

    def mount(self, mount: str) -> None:
        """Mounts it, at first or again after kill_mount."""
        bed, path, name = self.bed, self.bed.path(mount), f"mount-{self.name}-{mount}"
        if self.mounted(mount):
            checked(["nsenter", "-t", str(self.pid), *OF_MOUNTS, "umount", "-l", str(path)])
        options = bed.mounts[mount]
        if bed.kind == "cephfs":
            ceph = bed.directory / "ceph"
            socket = f"--admin_socket={ceph}/{self.name}-{mount}.asok"
            program = ["ceph-fuse", "-f", "-c", str(ceph / "ceph.conf"), "--id", "admin", socket, str(path)]
            program += [f"--{option}" for option in options]
        else:
            counts = bed.directory / "own" / self.name / f"{mount}.counts"
            program = [
                str(built("passthrough")),
                str(bed.directory / "backing"),
                str(path),
                str(counts),
                *options,
            ]
        enter = ["nsenter", "-t", str(self.pid), *OF_MOUNTS]
        bed.processes.start(f"enter-{name}", [*enter, *program])
        entered = bed.processes.find(f"enter-{name}")
        if entered is None:
            raise Failure(bed.told(f"enter-{name}"))
        bed.processes.note(name, child_of(entered))

        def ready() -> bool:
            if bed.processes.find(name) is None:
                raise Failure(bed.told(f"enter-{name}"))
            return self.mounted(mount)

        wait_for(f"{mount} on machine {self.name}", ready)
        os.stat(self.view(path))  # answers when the first request is

    def kill_mount(self, mount: str = "shared", evict: bool = True) -> None:
        """Ends the mount's daemon, abruptly: what uses the mount gets errors."""
        name = f"mount-{self.name}-{mount}"
        self.bed.processes.end([name, f"enter-{name}"])
        if evict:
            self.evict()

    def pause_mount(self, mount: str = "shared") -> None:
        """The mount does not answer until it is resumed, as on a machine that lost its network."""
        self.bed.processes.send(f"mount-{self.name}-{mount}", signal.SIGSTOP)

    def resume_mount(self, mount: str = "shared") -> None:
        name = f"mount-{self.name}-{mount}"
        self.bed.processes.send(name, signal.SIGCONT)
        # nsenter stops with its child, and would not see its end: then the machine could not end.
        self.bed.processes.sent(f"enter-{name}", signal.SIGCONT)

    def requests(self, mount: str = "shared") -> dict[str, int]:
        """How many requests of each kind a passthrough has had since it was mounted."""
        table = (self.bed.directory / "own" / self.name / f"{mount}.counts").read_bytes()
        return {name.rstrip(b"\0").decode(): number for name, number in struct.iter_unpack("24sQ", table)}


class Bed:
    """Machines and what they share.

    `mounts`: names of directories, each with the options of its mount. `clocks`: by how many seconds the
    real-time clock of a machine, as {"B": 300}, is ahead. `life`: seconds. `size`: room, as 64M.
    """

    def __init__(
        self,
        kind: str = "cephfs",
        *,
        machines: int = 2,
        mounts: Mapping[str, Sequence[str]] | None = None,
        life: float = 900,
        size: str | None = None,
        clocks: Mapping[str, int] | None = None,
        directory: Path | None = None,
        owner: int | None = None,
    ) -> None:
        reason = why_not(kind)
        if reason:
            raise Failure(reason)
        usual = UNCACHED if kind == "cephfs" else INCOHERENT
        self.kind, self.life, self.size, self.clocks = kind, life, size, dict(clocks or {})
        self.owner = os.getpid() if owner is None else owner
        self.mounts = {"shared": usual} if mounts is None else {name: tuple(mounts[name]) for name in mounts}
        self.directory = directory or Path(tempfile.mkdtemp(prefix="stepstore-nodes-"))
        self.processes = Processes(self.directory)
        self.machines = [Machine(self, number) for number in range(1, machines + 1)]

    @classmethod
    def at(cls, directory: Path) -> Bed:
        """A bed that was started by somebody else."""
        directory = directory.absolute()
        try:
            told = json.loads((directory / "bed.json").read_text())
        except OSError as error:
            raise Failure(f"{directory} is no bed: {error.strerror}") from error
        return cls(
            told["kind"],
            machines=told["machines"],
            mounts=told["mounts"],
            clocks=told["clocks"],
            directory=directory,
        )

    def path(self, mount: str) -> Path:
        return self.directory / mount

    @property
    def shared(self) -> Path:
        """The first mount."""
        return self.path(next(iter(self.mounts)))

    @property
    def local(self) -> Path:
        """A directory that has the same path on each machine, and is none that they share."""
        return self.directory / "local"

    def __getitem__(self, name: str) -> Machine:
        for machine in self.machines:
            if machine.name == name:
                return machine
        raise Failure(f"no machine {name}: there are {', '.join(one.name for one in self.machines)}")

    # ---- its life

    def __enter__(self) -> Bed:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(self.directory.iterdir()):
            raise Failure(f"{self.directory} holds something else: name another directory")
        told = {"kind": self.kind, "machines": len(self.machines), "mounts": self.mounts}
        told["clocks"] = self.clocks
        (self.directory / "bed.json").write_text(json.dumps(told))
        try:
            self.start_all()
        except BaseException:
            self.end()
            raise

    def start_all(self) -> None:
        for name in ["local", "backing", "own", "address", *self.mounts]:
            (self.directory / name).mkdir()
        for machine in self.machines:
            (self.directory / "address" / machine.address).symlink_to(machine.name)
        keep = [sys.executable, __file__, str(self.directory), "keep", str(self.life), str(self.owner)]
        self.processes.start("keeper", ["unshare", "-m", "-n", "--propagation", "private", *keep])
        wait_for("the keeper", (self.directory / "keeps").exists)
        net = self.in_keeper("-n")
        # So that mpirun hears in seconds that it sends to a machine that is killed.
        checked([*net, "sh", "-c", "echo 4 > /proc/sys/net/ipv4/tcp_retries2"])
        checked([*net, "ip", "link", "set", "lo", "up"])
        checked([*net, "ip", "link", "add", "bed0", "type", "bridge"])
        checked([*net, "ip", "address", "add", f"{NETWORK}.254/24", "dev", "bed0"])
        checked([*net, "ip", "link", "set", "bed0", "up"])
        if self.kind == "cephfs":
            self.start_ceph()
        elif self.size:
            options = ["mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs"]
            checked([*self.in_keeper("-m"), *options, str(self.directory / "backing")])
        with ThreadPoolExecutor(len(self.machines)) as pool:
            list(pool.map(Machine.start, self.machines))

    def start_ceph(self) -> None:
        ceph = [str(CEPH), "start", str(self.directory / "ceph"), "--osds", "1", "--file-system", "fs"]
        more = [
            "--life",
            str(self.life),
            "--owner",
            str(self.owner),
            *(["--size", self.size] if self.size else []),
        ]
        checked([*ceph, *more])

    def stop(self) -> None:
        """Ends what the bed started, and removes its directory, if it is there."""
        if (self.directory / "bed.json").exists():
            self.end()

    def end(self) -> None:
        own = os.getpid()
        names = [name for name in self.processes.names() if self.processes.find(name) != own]
        # The machines first: with them end their mounts, before the servers of these.
        self.processes.end(sorted(names, key=lambda name: name == "keeper"))
        if (self.directory / "ceph").exists():
            subprocess.run([CEPH, "stop", self.directory / "ceph"], check=False, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def keep(self, life: float, owner: int) -> None:
        """The keeper: it holds the network of the machines, and ends the bed when its time has come."""
        mark = self.directory / "bed.json"
        (self.directory / "keeps").touch()
        outlive(life, owner, mark.exists)
        backing = self.directory / "backing"
        if backing.is_mount():  # here and nowhere else: so its place can be removed
            checked(["umount", "-l", str(backing)])
        self.stop()

    # ---- parts

    def in_keeper(self, *spaces: str) -> list[str]:
        pid = self.processes.find("keeper")
        if pid is None:
            raise Failure(self.told("keeper"))
        return ["nsenter", "-t", str(pid), *spaces]

    def told(self, name: str) -> str:
        """What a process that ended has printed."""
        text = (self.directory / f"{name}.out").read_text(errors="replace").strip()
        return f"{name} ended: {text[-2000:]}"

    # ---- programs on several machines

    def mpirun_words(
        self, ranks: int, command: Words, machines: Sequence[Machine] | None = None
    ) -> list[str]:
        """The words that start so many ranks on each machine, by an Open MPI; machine after machine."""
        hosts = ",".join(f"{machine.address}:{ranks}" for machine in machines or self.machines)
        settings = {
            "plm_rsh_agent": str(HERE / "rsh_agent.sh"),
            "plm_rsh_no_tree_spawn": "1",
            "oob_tcp_if_include": "bed0",
            "btl_tcp_if_include": "bed0",
            "btl": "self,vader,tcp",
            "pml": "ob1",
            # A machine that is killed closes no connection.
            "oob_tcp_keepalive_time": "1",
            "oob_tcp_keepalive_intvl": "1",
            "oob_tcp_keepalive_probes": "3",
            "btl_vader_single_copy_mechanism": "none",
            "mpi_yield_when_idle": "1",
        }
        words = [*self.in_keeper("-n"), *FATAL, "mpirun", "--allow-run-as-root"]
        words += [word for name, value in settings.items() for word in ("--mca", name, value)]
        words += ["--oversubscribe", "--bind-to", "none", "--map-by", "slot", "--host", hosts]
        return [*words, *(os.fspath(word) for word in command)]

    def mpirun(self, ranks: int, command: Words, **more: Any) -> Any:
        """Runs one MPI program with so many ranks on each machine, as Machine.run does a command."""
        machines = more.pop("machines", None)
        environment = {**(more.pop("env", None) or os.environ), "STEPSTORE_BED": str(self.directory)}
        environment["STEPSTORE_BED_SPACES"] = shlex.join(SPACES)
        told = {"check": True, "text": True, "timeout": 120, "stdout": subprocess.PIPE, **more}
        return subprocess.run(self.mpirun_words(ranks, command, machines), env=environment, **told)


def checked(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start machines; they end by `down` or at the end of their life")
    up.add_argument("--kind", choices=list(PROGRAMS), default="cephfs")
    up.add_argument("--machines", type=int, default=2)
    up.add_argument("--life", type=float, default=3600, help="seconds after which they end by themselves")
    up.add_argument("--options", help="of the mounts, with commas between")
    up.add_argument("--size", help="room of the file system, as 64M")
    up.add_argument("--owner", type=int, default=0, help="the id of a process with which they end")
    run = commands.add_parser("run", help="run a command on a machine")
    run.add_argument("machine", metavar="A")
    run.add_argument("words", nargs=argparse.REMAINDER)
    mpirun = commands.add_parser("mpirun", help="run an MPI program on several machines")
    mpirun.add_argument("--on", default="", help="these machines, as A,B (default: all)")
    mpirun.add_argument("ranks", type=int, help="of each machine")
    mpirun.add_argument("words", nargs=argparse.REMAINDER)
    for name, text in (("kill", "end a machine abruptly"), ("start", "start a killed one again")):
        commands.add_parser(name, help=text).add_argument("machine", metavar="A")
    commands.add_parser("down", help="end them all and remove DIR")
    commands.add_parser("possible", help="whether there can be a bed, once its packages are installed")
    keep = commands.add_parser("keep", help=argparse.SUPPRESS)
    keep.add_argument("life", type=float)
    keep.add_argument("owner", type=int)
    given = parser.parse_args()
    if given.command == "possible":
        reason = why_never()
        if reason:
            raise Failure(reason)
        return 0
    if given.command == "up":
        options = (
            None if given.options is None else {"shared": [word for word in given.options.split(",") if word]}
        )
        bed = Bed(
            given.kind,
            machines=given.machines,
            mounts=options,
            life=given.life,
            size=given.size,
            directory=given.directory.absolute(),
            owner=given.owner,
        )
        bed.start()
        print(f"machines {', '.join(machine.name for machine in bed.machines)} share {bed.shared}")
        return 0
    bed = Bed.at(given.directory)
    if given.command == "run":
        return int(bed[given.machine].run(given.words, check=False, stdout=None, timeout=None).returncode)
    if given.command == "mpirun":
        machines = [bed[name] for name in given.on.split(",") if name] or None
        told = {"check": False, "stdout": None, "timeout": None, "machines": machines}
        return int(bed.mpirun(given.ranks, given.words, **told).returncode)
    if given.command == "kill":
        bed[given.machine].kill()
    elif given.command == "start":
        bed[given.machine].start()
    elif given.command == "keep":
        bed.keep(given.life, given.owner)
    else:
        bed.stop()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        sys.exit(f"bed.py: {error}")
