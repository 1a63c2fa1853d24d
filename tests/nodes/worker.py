"""A Python process on a machine of bed.py that does what a test asks for, one call after the other.

    with Worker(bed["A"], HERE / "actions.py") as worker:
        worker.call("names", directory)         # the function `names` of that file, on machine A

`send` and `take` are the two halves of `call`: what is sent to several workers before the first is taken runs
at once. Arguments and results are what JSON has. An exception there is raised here as a Failure.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bed import Machine


class Worker:
    def __init__(self, machine: Machine, module: Path, python: str = sys.executable) -> None:
        words = [python, "-B", __file__, os.fspath(module)]
        pipe = subprocess.PIPE
        self.machine = machine
        self.process: subprocess.Popen[str] = machine.popen(words, stdin=pipe, stdout=pipe, text=True)

    def send(self, function: str, *arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([function, arguments], default=os.fspath) + "\n")
        self.process.stdin.flush()

    def take(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker on {self.machine.name} ended: {self.process.wait()}")
        told = json.loads(line)
        if "error" in told:
            raise RuntimeError(f"on {self.machine.name}: {told['error']}")
        return told["result"]

    def has_told(self) -> bool:
        """There is something to take: a result, an exception, or the end of the process."""
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def call(self, function: str, *arguments: Any) -> Any:
        self.send(function, *arguments)
        return self.take()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def together(workers: Sequence[Worker], function: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """The same call on all of them at once, each with its arguments."""
    for worker, given in zip(workers, arguments, strict=True):
        worker.send(function, *given)
    return [worker.take() for worker in workers]


def serve(module: Path) -> None:
    faulthandler.dump_traceback_later(100, repeat=True)  # on stderr, of a worker that hangs
    found = importlib.util.spec_from_file_location("actions", module)
    assert found is not None and found.loader is not None
    actions = importlib.util.module_from_spec(found)
    found.loader.exec_module(actions)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        function, arguments = json.loads(line)
        try:
            told = {"result": getattr(actions, function)(*arguments)}
        except BaseException:
            told = {"error": traceback.format_exc()}
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
