"""Runs jobs on a simulated cluster: one process of stepstore-simulate for each."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stepstore.cli.common import CommandError
from stepstore.paths import program
from stepstore.simulation.cluster import Cluster


class Simulator:
    """Runs each job once, and several at the same time; the same job gives the same numbers."""

    def __init__(self, cluster: Cluster, name: str = "stepstore-simulate", **others: float):
        """name: of the program; stepstore-estimate takes the same jobs."""
        self.values = cluster.values(**others)
        self._program = str(program(name))
        self._done: dict[str, dict[str, Any]] = {}

    def run(self, job: dict[str, Any], **others: float) -> dict[str, Any]:
        """others: parameters of the cluster with other values, for this job alone."""
        return self.run_all([(job, others)])[0]

    def run_all(self, jobs: list[tuple[dict[str, Any], dict[str, float]]]) -> list[dict[str, Any]]:
        texts = [json.dumps({"machine": self.values | others, "job": job}) for job, others in jobs]
        missing = [text for text in dict.fromkeys(texts) if text not in self._done]
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            self._done |= zip(missing, workers.map(self._one, missing), strict=True)
        return [self._done[text] for text in texts]

    def _one(self, text: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="stepstore-") as folder:
            file = Path(folder) / "job.json"
            file.write_text(text, encoding="utf-8")
            done = subprocess.run([self._program, str(file)], capture_output=True, text=True, check=False)
        if done.returncode < 0:
            raise CommandError(f"{self._program} was killed by signal {-done.returncode}")
        if done.returncode != 0:
            raise CommandError(done.stderr.strip().removeprefix("error: ") or f"{self._program} failed")
        return json.loads(done.stdout)
