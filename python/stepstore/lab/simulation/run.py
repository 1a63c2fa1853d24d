"""Runs jobs on a simulated cluster: one process of stepstore-simulate for each."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stepstore.console import CommandError, ExitCode
from stepstore.errors import Error
from stepstore.lab.simulation.cluster import Cluster
from stepstore.paths import program

SIMULATE = "stepstore-simulate"


def _program(name: str) -> str:
    try:
        return str(program(name))
    except Error as error:
        hint = ". It needs SimGrid: install libsimgrid-dev, and build again" if name == SIMULATE else ""
        raise CommandError(f"{error}{hint}", ExitCode.NOT_FOUND) from error


class Simulator:
    """Runs each job once, and several at the same time; the same job gives the same numbers."""

    def __init__(self, cluster: Cluster, name: str = SIMULATE, /, **others: float):
        """name: of the program; stepstore-estimate takes the same jobs."""
        self.values = cluster.values(**others)
        self._program = _program(name)
        self._done: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()  # guards the two below
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, job: dict[str, Any], **others: float) -> dict[str, Any]:
        """others: parameters of the cluster with other values, for this job alone."""
        return self.run_all([(job, others)])[0]

    def run_all(self, jobs: list[tuple[dict[str, Any], dict[str, float]]]) -> list[dict[str, Any]]:
        texts = [json.dumps({"machine": self.values | others, "job": job}) for job, others in jobs]
        missing = [text for text in dict.fromkeys(texts) if text not in self._done]
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            try:
                self._done |= zip(missing, workers.map(self._one, missing), strict=True)
            except BaseException:  # an interruption too
                self._stop()
                raise
            finally:
                workers.shutdown(cancel_futures=True)
                self._stopped = False
        return [self._done[text] for text in texts]

    def _one(self, text: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="stepstore-") as folder:
            file = Path(folder) / "job.json"
            file.write_text(text, encoding="utf-8")
            running = self._start([self._program, str(file)])
            output, errors = running.communicate()
            with self._lock:
                self._running.discard(running)
        if running.returncode < 0:
            raise CommandError(f"{self._program} was killed by signal {-running.returncode}")
        if running.returncode != 0:
            raise CommandError(errors.strip().removeprefix("error: ") or f"{self._program} failed")
        result: dict[str, Any] = json.loads(output)
        return result

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise CommandError("interrupted")
            running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self._running.add(running)
            return running

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for one in self._running:
                one.terminate()
