#!/usr/bin/python3
"""A Ceph cluster of this machine, for tests: a monitor and OSDs of the distribution's packages.

It needs no systemd and no privileges. It listens on 127.0.0.1 only, and all of its state is in one directory.
Programs find it by the environment: CEPH_CONF=DIR/ceph.conf, and CEPH_ARGS=--id=USER for a user of `user`.
It ends by `stop`, at the end of its life, with its owner, or when its directory is gone. Only processes that
it started are ended, by their ids.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daemons import PATIENCE, Failure, Processes, outlive, wait_for

try:
    import rados  # of the package python3-rados, for the distribution's own interpreter
except ImportError:
    sys.exit("there is no python3-rados: install ceph-mon and ceph-osd (scripts/setup.sh)")

PLACEMENT_GROUPS = 8
LONGEST_DIRECTORY = 90  # bytes; a socket's path has 107 at most

# One monitor, no manager: no lease, proposal or statistic waits for another. Heartbeats are quick, but leave
# a busy machine the time to answer.
CONFIGURATION = """[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{port}/0]
keyring = {directory}/keyring
log_file = {directory}/$name.log
mon_cluster_log_file = {directory}/cluster.log
run_dir = {directory}
pid_file =
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
osd_crush_chooseleaf_type = 0
osd_pool_default_size = {copies}
osd_pool_default_min_size = 1
osd_pool_default_pg_num = {groups}
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_allow_pool_delete = true
mon_debug_no_require_bluestore_for_ec_overwrites = true
mon_warn_on_insecure_global_id_reclaim = false
mon_data_avail_crit = 1
mon_data_avail_warn = 1
mon_osd_min_down_reporters = 1
mon_osd_reporter_subtree_level = osd
mon_osd_down_out_interval = 0
osd_heartbeat_interval = 1
osd_heartbeat_grace = 6
osd_mon_heartbeat_interval = 2
osd_mon_report_interval = 1
osd_recovery_sleep = 0
paxos_propose_interval = 0.02
paxos_min_wait = 0.02
{more}
[mon]
admin_socket = {directory}/$name.asok
mon_data = {directory}/$name
[osd]
admin_socket = {directory}/$name.asok
osd_data = {directory}/$name
osd_objectstore = {store}
osd_crush_update_on_start = true
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 1
osd_class_update_on_start = false
osd_memory_target = 500000000
bluestore_block_size = {size}
bluestore_block_db_create = false
bluestore_block_wal_create = false
bluestore_cache_autotune = false
bluestore_cache_size = 33554432
memstore_device_bytes = {size}
[mds]
admin_socket = {directory}/$name.asok
mds_data = {directory}/$name
mds_beacon_interval = 0.5
mds_beacon_grace = 120
"""
WEIGHT = "weight"  # a pool of the cluster's own
ADMINISTRATOR = {"mon": "allow *", "osd": "allow *", "mgr": "allow *", "mds": "allow *"}
MDS = {"mon": "allow profile mds", "osd": "allow *", "mds": "allow *"}
OSD = {"mon": "allow profile osd", "osd": "allow *"}


def new_key() -> str:
    """A secret as Ceph writes them: its type, the time, its length and the bytes."""
    return base64.b64encode(struct.pack("<HIIH", 1, int(time.time()), 0, 16) + os.urandom(16)).decode()


def keyring_entry(name: str, capabilities: dict[str, str], key: str) -> str:
    lines = [f'\tcaps {of} = "{allowed}"' for of, allowed in capabilities.items()]
    return "\n".join([f"[{name}]", f"\tkey = {key}", *lines, ""])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.processes = Processes(self.directory)

    @property
    def configuration(self) -> Path:
        return self.directory / "ceph.conf"

    def osds(self) -> list[int]:
        return sorted(int(path.name[4:]) for path in self.directory.glob("osd.*") if path.is_dir())

    # ---- the cluster as a whole

    def start(self, options: argparse.Namespace) -> None:
        if len(os.fsencode(self.directory)) > LONGEST_DIRECTORY:
            raise Failure(f"{self.directory} is too long for the daemons' sockets: name a shorter directory")
        packages = {"ceph-mon": "ceph-mon", "ceph-osd": "ceph-osd", "monmaptool": "ceph-osd"}
        if options.file_system:
            packages["ceph-mds"] = "ceph-mds"
        for program, package in packages.items():
            if shutil.which(program) is None:
                raise Failure(f"there is no {program}: install {package} (scripts/setup.sh)")
        self.stop()
        self.directory.mkdir(parents=True)
        # Others may take the port between the look and the start.
        for attempt in range(3):
            try:
                self.start_monitor(options)
                break
            except Failure:
                self.stop()
                if attempt == 2:
                    raise
                self.directory.mkdir()
        owner = os.getppid() if options.owner == "parent" else int(options.owner)
        keep = [sys.executable, __file__, "keep", str(self.directory), str(options.life), str(owner)]
        self.processes.start("keeper", keep)
        make = [
            subprocess.Popen(
                [*self.daemon("osd", number), "--mkfs", "--osd-uuid", self.register(number)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for number in range(options.osds)
        ]
        for number, process in enumerate(make):
            if process.wait(PATIENCE) != 0:
                raise Failure(f"osd.{number}: mkfs failed; see {self.directory}/osd.{number}.log")
        self.start_osds(range(options.osds))
        for pool in options.pool:
            self.make_pool(pool)
        for pool in options.pool_with_data_pool:
            self.make_pool(pool)
            self.make_data_pool(pool)
        if options.file_system:
            self.start_file_system(options.file_system)
        if options.store == "memstore" and options.osds > 1:
            self.make_pool(WEIGHT)
        self.wait_clean()
        if options.store == "memstore" and options.osds > 1:
            self.weigh_down()

    def weigh_down(self) -> None:
        """A memstore counts its bytes without a lock, and loses some. Where nearly all was removed the count
        can fall below zero, and then the OSD calls itself full for ever. So some bytes stay in it."""
        with rados.Rados(conffile=str(self.configuration)) as cluster, cluster.open_ioctx(WEIGHT) as pool:
            for number in range(48):
                pool.write_full(str(number), bytes(4 << 20))

    def start_monitor(self, options: argparse.Namespace) -> None:
        fsid, port = str(uuid.uuid4()), free_port()
        self.configuration.write_text(
            CONFIGURATION.format(
                fsid=fsid,
                port=port,
                directory=self.directory,
                copies=min(options.copies, options.osds),
                groups=PLACEMENT_GROUPS,
                store=options.store,
                size=options.size,
                more="\n".join(options.set),
            )
        )
        keys = [keyring_entry("mon.", {"mon": "allow *"}, new_key())]
        keys.append(keyring_entry("client.admin", ADMINISTRATOR, new_key()))
        for number in range(options.osds):
            keys.append(keyring_entry(f"osd.{number}", OSD, new_key()))
            (self.directory / f"osd.{number}").mkdir()
        if options.file_system:
            keys.append(keyring_entry("mds.a", MDS, new_key()))
            (self.directory / "mds.a").mkdir()
        keyring = self.directory / "keyring"
        keyring.write_text("".join(keys))
        keyring.chmod(0o600)
        (self.directory / "mon.a").mkdir()
        monitors = self.directory / "monmap"
        address = f"[v2:127.0.0.1:{port}/0]"
        self.run(["monmaptool", "--create", "--addv", "a", address, "--fsid", fsid, str(monitors)])
        self.run([*self.daemon("mon", "a"), "--mkfs", "--monmap", str(monitors)])
        self.run_monitor()

    def run_monitor(self) -> None:
        self.processes.start("mon.a", [*self.daemon("mon", "a"), "-f"])

        def answers() -> bool:
            if self.processes.find("mon.a") is None:
                raise Failure(f"the monitor ended; see {self.directory}/mon.a.log")
            try:
                self.ask("mon stat")
                return True
            except rados.Error:
                return False

        wait_for("the monitor", answers)

    def stop(self) -> None:
        """Ends what runs and removes the directory, if a cluster of ours is in it."""
        if not self.configuration.exists():
            if self.directory.exists() and any(self.directory.iterdir()):
                raise Failure(f"{self.directory} holds something else than a cluster: name another directory")
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        own = os.getpid()
        names = [name for name in self.processes.names() if self.processes.find(name) != own]
        self.processes.end(names)
        shutil.rmtree(self.directory, ignore_errors=True)

    def keep(self, life: float, owner: int) -> None:
        """Ends the cluster when its time has come."""
        outlive(life, owner, self.configuration.exists)
        pids = [self.processes.find(name) for name in self.processes.names()]
        if self.configuration.exists():
            self.stop()
        for pid in pids:
            if pid not in (None, os.getpid()) and Processes.began(pid) is not None:
                os.kill(pid, signal.SIGKILL)

    def run(self, command: list[str]) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.CalledProcessError as error:
            raise Failure(f"{' '.join(command)}: {error.stderr.strip()}") from error

    def daemon(self, kind: str, name: int | str) -> list[str]:
        return [f"ceph-{kind}", "-i", str(name), "-c", str(self.configuration)]

    def ask(self, prefix: str, **arguments: object) -> str:
        """A command to the monitor, as the program ceph has them."""
        limits = {"client_mount_timeout": "10", "rados_mon_op_timeout": "30", "rados_osd_op_timeout": "30"}
        with rados.Rados(conffile=str(self.configuration), conf=limits) as cluster:
            command = json.dumps({"prefix": prefix, "format": "json", **arguments})
            code, answer, told = cluster.mon_command(command, b"")
        if code != 0:
            raise Failure(f"{prefix}: {told}")
        return bytes(answer).decode()

    # ---- its parts

    def register(self, number: int) -> str:
        identity = str(uuid.uuid4())
        self.ask("osd new", uuid=identity, id=number)
        return identity

    def start_osds(self, numbers: Iterable[int]) -> None:
        numbers = list(numbers)
        before = self.told_osds()
        began = {}  # those that begin now: since when the monitor has counted them as up
        for number in numbers:
            name = f"osd.{number}"
            if self.processes.find(name) is None:
                began[number] = before[number]["up_from"]
                self.processes.start(name, [*self.daemon("osd", number), "-f"])

        def up() -> bool:
            for number in numbers:
                if self.processes.find(f"osd.{number}") is None:
                    raise Failure(f"osd.{number} ended; see {self.directory}/osd.{number}.log")
            # A killed OSD may still be counted as up.
            told = self.told_osds()
            return all(
                told[number]["up"] and told[number]["up_from"] != began.get(number) for number in numbers
            )

        wait_for("the OSDs", up)

    def told_osds(self) -> dict[int, dict[str, int]]:
        """What the monitor says of each."""
        return {osd["osd"]: osd for osd in json.loads(self.ask("osd dump"))["osds"]}

    def make_pool(self, name: str) -> None:
        self.ask("osd pool create", pool=name)
        self.ask("osd pool application enable", pool=name, app="stepstore")

    def make_data_pool(self, pool: str) -> None:
        """POOL-data, erasure-coded over three OSDs, which `pool` names for bulk data."""
        data = f"{pool}-data"
        profile = ["k=2", "m=1", "crush-failure-domain=osd"]
        self.ask("osd erasure-code-profile set", name="three", profile=profile)
        self.ask("osd pool create", pool=data, pool_type="erasure", erasure_code_profile="three")
        self.ask("osd pool set", pool=data, var="allow_ec_overwrites", val="true")
        self.ask("osd pool application enable", pool=data, app="stepstore")
        self.ask("osd pool application set", pool=pool, app="stepstore", key="data_pool", value=data)

    def start_file_system(self, name: str) -> None:
        """CephFS with one metadata server: the Ceph pools NAME-metadata and NAME-data."""
        pools = [f"{name}-metadata", f"{name}-data"]
        for pool in pools:
            self.ask("osd pool create", pool=pool)
        self.ask("fs new", fs_name=name, metadata=pools[0], data=pools[1])
        self.run_metadata_server()

    def run_metadata_server(self) -> None:
        self.processes.start("mds.a", [*self.daemon("mds", "a"), "-f"])

        def active() -> bool:
            if self.processes.find("mds.a") is None:
                raise Failure(f"the metadata server ended; see {self.directory}/mds.a.log")
            states = json.loads(self.ask("fs dump"))["filesystems"][0]["mdsmap"]["info"].values()
            return any(one["state"] == "up:active" for one in states)

        wait_for("the metadata server", active)

    def ask_mds(self, prefix: str, **arguments: object) -> Any:
        """A command to the metadata server, by its socket: no manager passes it on."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.directory / "mds.a.asok"))
            connection.sendall(json.dumps({"prefix": prefix, "format": "json", **arguments}).encode() + b"\0")
            answer = connection.makefile("rb")
            (size,) = struct.unpack(">I", answer.read(4))
            return json.loads(answer.read(size) or b"null")

    def evict(self, host: str) -> int:
        """Ends the sessions of a machine's mounts. Else the server waits a minute for what a dead one has."""
        sessions = self.ask_mds("session ls")
        chosen = [one["id"] for one in sessions if one["client_metadata"].get("hostname") == host]
        for session in chosen:
            self.ask_mds("session evict", filters=[f"id={session}"])
        return len(chosen)

    def wait_clean(self) -> None:
        """Until every placement group has all of its copies."""
        with rados.Rados(conffile=str(self.configuration), conf={"rados_osd_op_timeout": "5"}) as cluster:
            pools = [pool["pool"] for pool in json.loads(self.ask("osd dump"))["pools"]]
            for group in [f"{pool:x}.{number:x}" for pool in pools for number in range(PLACEMENT_GROUPS)]:

                def clean(group: str = group) -> bool:
                    try:
                        command = json.dumps({"prefix": "query", "pgid": group, "format": "json"})
                        code, answer, _ = cluster.pg_command(group, command, b"")
                    except rados.Error:
                        return False
                    return bool(code == 0 and json.loads(answer)["state"] == "active+clean")

                wait_for(f"placement group {group}", clean)

    def make_user(self, name: str, capabilities: list[str]) -> None:
        """A user, whose keyring the cluster's configuration finds. One that is there gets other rights."""
        pairs = dict(zip(capabilities[::2], capabilities[1::2], strict=True))
        caps = [word for pair in pairs.items() for word in pair]
        known = [one["entity"] for one in json.loads(self.ask("auth ls"))["auth_dump"]]
        entity = f"client.{name}"
        if entity in known:
            self.ask("auth caps", entity=entity, caps=caps)
            return
        key = json.loads(self.ask("auth get-or-create", entity=entity, caps=caps))[0]["key"]
        with open(self.directory / "keyring", "a") as keyring:
            keyring.write(keyring_entry(entity, pairs, key))

    def set_full(self, ratio: float) -> None:
        """What part of an OSD's room makes it full. The ratios that warn stay below."""
        for prefix in ("osd set-nearfull-ratio", "osd set-backfillfull-ratio", "osd set-full-ratio"):
            self.ask(prefix, ratio=ratio)


def happen(cluster: Cluster, what: str, names: list[str]) -> None:
    if what in ("kill", "stop"):
        cluster.processes.end(names, signal.SIGKILL if what == "kill" else signal.SIGTERM)
    else:
        for name in names:
            cluster.processes.send(name, signal.SIGSTOP if what == "pause" else signal.SIGCONT)


def numbers_of(cluster: Cluster, text: str) -> list[int]:
    return cluster.osds() if text == "all" else [int(number) for number in text.split(",")]


def size_of(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text)
        added.add_argument("directory", type=Path, metavar="DIR")
        return added

    start = command("start", "start a cluster; one that runs there is stopped first")
    start.add_argument("--osds", type=int, default=1)
    start.add_argument("--store", choices=["memstore", "bluestore"], default="memstore")
    start.add_argument("--size", type=size_of, default=size_of("4G"), help="room of an OSD, as 4G")
    start.add_argument("--copies", type=int, default=2, help="of an object, at most one per OSD (2)")
    start.add_argument("--pool", action="append", default=[], help="make this pool; may be repeated")
    start.add_argument(
        "--pool-with-data-pool", action="append", default=[], help="also make POOL-data for its bulk data"
    )
    start.add_argument("--file-system", metavar="NAME", help="also make a CephFS, with a metadata server")
    start.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of Ceph")
    start.add_argument("--life", type=float, default=3600, help="seconds after which it ends by itself")
    start.add_argument("--owner", default="0", help="end with this process: its id, or 'parent'")
    command("stop", "end the cluster and remove its directory")
    keep = command("keep", argparse.SUPPRESS)
    keep.add_argument("life", type=float)
    keep.add_argument("owner", type=int)
    events = ["kill", "stop", "start", "pause", "resume"]
    osd = command("osd", "what happens to OSDs")
    osd.add_argument("what", choices=events, help="pause: SIGSTOP")
    osd.add_argument("which", help="numbers with commas between, or 'all'")
    command("monitor", "what happens to the monitor").add_argument("what", choices=events)
    command("metadata", "what happens to the metadata server").add_argument("what", choices=events)
    evict = command("evict", "end the mounts of a machine at the metadata server")
    evict.add_argument("host", help="the machine's host name")
    command("wait", "wait until every placement group is active and clean")
    pool = command("pool", "make a pool")
    pool.add_argument("name")
    user = command("user", "make a user, or change what it may")
    user.add_argument("name")
    user.add_argument("capabilities", nargs="+", help="as: mon 'allow r' osd 'allow rwx pool=p'")
    full = command("full", "set what part of its room makes an OSD full")
    full.add_argument("ratio", type=float)
    ask = command("ask", "ask the monitor, as the program ceph does; prints JSON")
    ask.add_argument("prefix")
    ask.add_argument("arguments", nargs="*", metavar="NAME=VALUE")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    cluster = Cluster(given.directory)
    os.environ.pop("CEPH_ARGS", None)  # it may name another user
    if given.command == "start":
        begin = time.monotonic()
        cluster.start(given)
        print(f"CEPH_CONF={cluster.configuration} ({time.monotonic() - begin:.1f} s)")
    elif given.command == "stop":
        cluster.stop()
    elif given.command == "keep":
        cluster.keep(given.life, given.owner)
    elif given.command == "osd":
        numbers = numbers_of(cluster, given.which)
        if given.what == "start":
            cluster.start_osds(numbers)
        else:
            happen(cluster, given.what, [f"osd.{number}" for number in numbers])
    elif given.command == "monitor":
        if given.what == "start":
            cluster.run_monitor()
        else:
            happen(cluster, given.what, ["mon.a"])
    elif given.command == "metadata":
        if given.what == "start":
            cluster.run_metadata_server()
        else:
            happen(cluster, given.what, ["mds.a"])
    elif given.command == "evict":
        print(f"{cluster.evict(given.host)} ended")
    elif given.command == "wait":
        cluster.wait_clean()
    elif given.command == "pool":
        cluster.make_pool(given.name)
        cluster.wait_clean()
    elif given.command == "user":
        cluster.make_user(given.name, given.capabilities)
    elif given.command == "full":
        cluster.set_full(given.ratio)
    elif given.command == "ask":
        print(cluster.ask(given.prefix, **dict(one.split("=", 1) for one in given.arguments)))


if __name__ == "__main__":
    try:
        main()
    except (Failure, rados.Error, subprocess.TimeoutExpired) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
