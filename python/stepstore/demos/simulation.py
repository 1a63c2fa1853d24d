"""stepstore demo simulation: a reaction and diffusion in NumPy that writes its steps through ADIOS2.

The equations are those of examples/gray-scott (Pearson, Science 261, 1993), on a plane. It needs the packages
numpy and adios2, and no compiler.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepstore.console import CommandError, ExitCode, human_bytes, human_time
from stepstore.errors import DER_NONEXIST

if TYPE_CHECKING:
    import numpy as np

Say = Callable[[str], None]

# What says that a stream may be replaced by the next run.
_MADE_BY, _NAME = "made_by", "stepstore demo simulation"

# Feed and kill rates, and diffusion of U and V: spots that divide.
_FEED, _KILL, _DIFFUSION_U, _DIFFUSION_V = 0.03, 0.062, 0.16, 0.08


@dataclass(frozen=True)
class Settings:
    location: str  # where the stream goes
    size: int = 128  # cells of an edge of the plane, at least 8
    steps: int = 50  # steps that are written, at least 1
    iterations: int = 20  # of the equations between two steps, at least 1
    pause: float = 0.0  # seconds between two steps, for those who want to watch
    replace: bool = False  # also a stream that is not of this demonstration
    async_write: bool = False  # the steps' data beside the computation


def run(settings: Settings, say: Say) -> dict[str, Any]:
    """Writes the stream, reads it again and compares; what it found, as JSON has it."""
    if importlib.util.find_spec("adios2") is None:
        raise CommandError(
            "the demonstration writes through ADIOS2, and this Python has no package adios2: 'pip install "
            "adios2==2.12.1.1001' brings it",
            ExitCode.FAILURE,
        )
    _refuse_to_replace(settings)
    began = time.perf_counter()
    u, v, writing = _write(settings, say)
    say(f"wrote {settings.steps} steps of U and V into {settings.location}: "
        f"{human_bytes(settings.steps * 2 * u.nbytes)}, {human_time(writing)} of "
        f"{human_time(time.perf_counter() - began)}")  # fmt: skip
    _compare(settings, u, v)
    say("read the last step again: the same, bit for bit")
    hidden = _hidden(settings.location)
    if settings.async_write:
        say(f"beside the computation: {human_time(hidden)} of writing, that the program did not wait for")
    return {
        "location": settings.location,
        "steps": settings.steps,
        "shape": list(u.shape),
        "bytes": settings.steps * 2 * u.nbytes,
        "seconds_writing": writing,
        "seconds_hidden": hidden,
        "mean_of_u": float(u.mean()),
        "identical": True,
    }


def _refuse_to_replace(settings: Settings) -> None:
    import stepstore

    if settings.replace:
        return
    why = f"it has no attribute {_MADE_BY}"
    try:
        with stepstore.open_steps(settings.location) as steps:
            made_by = steps.attributes().get(_MADE_BY) if len(steps) else None
        if made_by and made_by.value == _NAME:
            return
    except stepstore.Error as error:
        if error.code == DER_NONEXIST:
            return
        why = str(error)
    raise CommandError(
        f"'{_NAME}' did not make the stream {settings.location} ({why}): give another location, or --replace "
        "to lose what is there",
        ExitCode.USAGE,
    )


def _write(settings: Settings, say: Say) -> tuple[np.ndarray, np.ndarray, float]:
    import adios2

    import stepstore  # noqa: F401  (brings the engine)

    u, v = _initial(settings.size)
    io = adios2.Adios().declare_io("SimulationOutput")
    io.set_engine("Stepstore")
    io.set_parameter("AsyncWrite", "on" if settings.async_write else "off")
    shape, start = list(u.shape), [0, 0]
    writing = 0.0
    with adios2.Stream(io, settings.location, "w") as stream:
        stream.write_attribute(_MADE_BY, _NAME)
        stream.write_attribute("F", _FEED)
        stream.write_attribute("k", _KILL)
        for step in range(settings.steps):
            for _ in range(settings.iterations):
                _advance(u, v)
            began = time.perf_counter()
            stream.begin_step()
            stream.write("U", u, shape, start, shape)
            stream.write("V", v, shape, start, shape)
            stream.end_step()
            writing += time.perf_counter() - began
            if settings.pause:
                say(f"step {step}: mean of U {u.mean():.4f}")
                time.sleep(settings.pause)
    return u, v, writing


def _hidden(location: str) -> float:
    """Seconds of writing that went on beside the computation, as the stream's profile has them."""
    import stepstore

    with stepstore.open_steps(location) as steps:
        profile = steps.profile()
    return float(sum(rank["hidden_seconds"] for rank in profile["ranks"])) if profile else 0.0


def _compare(settings: Settings, u: np.ndarray, v: np.ndarray) -> None:
    import numpy as np

    import stepstore

    with stepstore.open_steps(settings.location) as steps:
        if len(steps) < settings.steps or not all(
            np.array_equal(steps.read(name, step=-1), values) for name, values in (("U", u), ("V", v))
        ):
            raise CommandError(
                f"{settings.location}: the last step is not what was written; 'stepstore pool check' on its "
                "pool tells what is damaged",
                ExitCode.FAILURE,
            )


def _initial(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Of U everywhere 1, but for a square in the middle; with noise that is the same in every run."""
    import numpy as np

    u, v = np.ones((size, size)), np.zeros((size, size))
    middle = slice(size // 2 - size // 8, size // 2 + size // 8)
    u[middle, middle], v[middle, middle] = 0.5, 0.25
    noise = np.random.default_rng(1).random((size, size))
    u += 0.02 * noise
    return u, v


def _advance(u: np.ndarray, v: np.ndarray) -> None:
    """One iteration of both, in place, on a plane whose edges meet."""
    reaction = u * v * v
    change_u = _DIFFUSION_U * _laplacian(u) - reaction + _FEED * (1 - u)
    v += _DIFFUSION_V * _laplacian(v) + reaction - (_FEED + _KILL) * v
    u += change_u


def _laplacian(field: np.ndarray) -> np.ndarray:
    import numpy as np

    around: np.ndarray = np.zeros_like(field)
    for axis in (0, 1):
        for shift in (1, -1):
            around += np.roll(field, shift, axis)
    around -= 4 * field
    return around
