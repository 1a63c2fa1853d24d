"""The bed of machines itself: what is a machine's own, what machines share, and how they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import bed as beds
import pytest
from bed import Bed, Failure
from daemons import Processes
from worker import Worker

HERE = Path(__file__).parent
CLOCKS = "import time; print(int(time.monotonic()))"
WAIT = """
import ctypes, struct, time
libc = ctypes.CDLL(None)
mutex, condition = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
until = time.time() + 0.1
print(libc.pthread_cond_timedwait(condition, mutex, struct.pack("qq", int(until), int(until % 1 * 1e9))))
"""
RANK = """
import os, socket
os.write(1, f"{os.environ['OMPI_COMM_WORLD_RANK']} {socket.gethostname()}\\n".encode())
"""


def processes_of(directory: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and int(entry.name) != os.getpid() and os.fsencode(directory) in command:
            found.append(command.replace(b"\0", b" ").decode())
    return found


def gone(directory: Path) -> bool:
    return not directory.exists() and not processes_of(directory)


@pytest.mark.parametrize(
    "what",
    ["hostname", "cat /proc/sys/kernel/random/boot_id", "cat /etc/machine-id", "readlink /proc/self/ns/ipc"],
)
def test_machines_take_each_other_for_other_machines(cephfs: Bed, what: str) -> None:
    if what.endswith("machine-id") and not os.path.exists("/etc/machine-id"):
        pytest.skip("this machine has no id")
    a, b = (machine.run(what.split()).stdout for machine in cephfs.machines)
    here = subprocess.run(what.split(), capture_output=True, text=True, check=True).stdout
    assert len({a, b, here}) == 3


def test_machines_share_one_directory_and_have_one_of_their_own(cephfs: Bed) -> None:
    a, b = cephfs.machines
    for place, seen in ((cephfs.shared, "x"), (cephfs.local, ""), (Path("/dev/shm"), "")):
        a.run(["touch", place / "x"])
        assert b.run(["ls", place]).stdout.strip() == seen
        assert not (place / "x").exists()  # nor is it the host's
    a.run(["rm", cephfs.shared / "x"])


def test_clocks_since_boot_differ(cephfs: Bed) -> None:
    if not beds.HAS_TIME:
        pytest.skip("this kernel has no namespaces of time")
    a, b = (int(machine.run([sys.executable, "-c", CLOCKS]).stdout) for machine in cephfs.machines)
    assert b - a > 90_000


def test_the_clock_of_a_machine_is_ahead(passthrough: Bed) -> None:
    if beds.built("libother_clock.so") is None:
        pytest.skip("tests/libother_clock.so is not built")
    now = "import time; print(int(time.time()), int(time.clock_gettime(time.CLOCK_REALTIME)))"
    passthrough.clocks["B"] = 300
    try:
        a, b = (machine.run([sys.executable, "-c", now]).stdout.split() for machine in passthrough.machines)
        waited = passthrough["B"].run(["timeout", "20", sys.executable, "-c", WAIT]).stdout.strip()
    finally:
        passthrough.clocks.clear()
    assert all(290 <= int(after) - int(before) <= 350 for before, after in zip(a, b, strict=True))
    assert waited == "110"  # ETIMEDOUT, after a tenth of a second and not of 300 seconds


def test_a_killed_command_is_gone_at_once_and_reaped(passthrough: Bed) -> None:
    a = passthrough.machines[0]
    process = a.popen(
        [sys.executable, "-c", "import time; print('x', flush=True); time.sleep(600)"], stdout=-1
    )
    assert process.stdout.read(1) == b"x"
    pid = beds.command_of(process)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    end = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()
    assert a.run(["sh", "-c", "exit 3"], check=False).returncode == 3
    assert a.run(["sh", "-c", "kill -SEGV $$"], check=False).returncode == -signal.SIGSEGV


@pytest.mark.parametrize("kind", ["cephfs", "passthrough"])
def test_a_machine_and_a_mount_are_killed_and_come_again(kind: str, request: pytest.FixtureRequest) -> None:
    bed = request.getfixturevalue(kind)
    a, b = bed.machines
    mount = next(iter(bed.mounts))
    synced = bed.shared / "synced"
    with Worker(a, HERE / "actions.py") as worker:
        worker.call("write", synced, 1, 5000)
        worker.send("publish", bed.shared, bed.shared, 10, 100_000)
        a.kill()
        with pytest.raises(RuntimeError, match="ended: -9"):
            worker.take()
    with pytest.raises(Failure, match="does not run"):
        a.run(["true"])
    assert b.run(["stat", "-c", "%s", synced]).stdout == "5000\n"  # and does not wait for the dead one
    boot = ["cat", "/proc/sys/kernel/random/boot_id"]
    a.start()
    assert a.run(["stat", "-c", "%s", synced]).stdout == "5000\n"
    before = a.run(boot).stdout
    a.kill_mount(mount)
    assert "not connected" in a.run(["ls", bed.shared], check=False, stderr=subprocess.PIPE).stderr
    a.mount(mount)
    a.run(["rm", synced])
    assert a.run(boot).stdout == before


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_machine_ends_whose_mount_stood_still(passthrough: Bed, goes_on: bool) -> None:
    a = passthrough.machines[0]
    mount = next(iter(passthrough.mounts))
    a.pause_mount(mount)
    entered = passthrough.processes.find(f"enter-mount-{a.name}-{mount}")
    state = Path(f"/proc/{entered}/stat")
    beds.wait_for("the stop", lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
    if goes_on:
        a.resume_mount(mount)
        assert a.run(["ls", passthrough.shared]).returncode == 0
    a.kill_mount(mount)
    a.mount(mount)
    assert a.run(["ls", passthrough.shared]).returncode == 0
    a.kill()
    a.start()


def test_a_passthrough_counts_requests(passthrough: Bed) -> None:
    a = passthrough.machines[0]
    before = a.requests("coherent")
    a.run(["sh", "-c", f"echo x > {passthrough.path('coherent')}/x; mkdir {passthrough.path('coherent')}/d"])
    after = a.requests("coherent")
    different = {name: after[name] - before[name] for name in after}
    assert (different["create"], different["write"], different["mkdir"], different["rename"]) == (1, 1, 1, 0)


def test_one_mpi_program_runs_on_all_machines(passthrough: Bed) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    told = passthrough.mpirun(2, [sys.executable, "-c", RANK]).stdout.splitlines()
    assert sorted(told) == ["0 A", "1 A", "2 B", "3 B"]


@pytest.mark.parametrize(("end", "size"), [("owner", None), ("owner", "8M"), ("down", "8M")])
def test_a_bed_ends_with_its_owner_or_by_command_and_leaves_nothing(
    end: str, size: str | None, tmp_path: Path
) -> None:
    reason = beds.why_not("passthrough")
    if reason:
        pytest.skip(reason)
    owner = subprocess.Popen(["sleep", "600"])
    try:
        bed = Bed("passthrough", life=600, size=size, directory=tmp_path / "bed", owner=owner.pid)
        bed.start()
        assert processes_of(tmp_path / "bed")
        if end == "down":
            subprocess.run([sys.executable, HERE / "bed.py", bed.directory, "down"], check=True)
    finally:
        owner.kill()
        owner.wait()
    until = time.monotonic() + 60
    while not gone(tmp_path / "bed") and time.monotonic() < until:
        time.sleep(0.1)
    owner.kill()
    owner.wait()
    assert gone(tmp_path / "bed"), processes_of(tmp_path / "bed")


def test_what_ends_with_another_process_while_both_are_ended_is_no_failure(tmp_path: Path) -> None:
    class Ending(Processes):
        def find(self, name: str) -> int | None:
            """The process is there when it is looked for, and gone when it is to be ended."""
            pid = super().find(name)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            return pid

    processes = Ending(tmp_path)
    for name in ("first", "second"):
        processes.start(name, ["sleep", "600"])
    processes.end(["first", "second"])
    assert [Processes(tmp_path).find(name) for name in ("first", "second")] == [None, None]


def test_what_is_no_bed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    for command in (["up", "--kind", "passthrough"], ["down"]):
        words = [sys.executable, HERE / "bed.py", tmp_path, *command]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (tmp_path / "precious").exists()


def test_why_there_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for kind in beds.PROGRAMS:
        reason = beds.why_not(kind)
        assert reason is not None and reason.startswith("no test bed of machines: ") and "\n" not in reason
