"""A small program of a user, which a type checker looks at; nobody runs it."""

import asyncio

import numpy as np
import stepstore
from stepstore import Container, Error, Pool, open_steps


def store(location: str) -> bytes:
    Pool.create(location, targets=4, durability="power")
    with Pool.connect(location) as pool, pool.open_or_create_container("runs") as runs:
        notes = runs.key_value(1)
        notes["title"] = "text"
        notes[b"raw"] = np.arange(3)
        notes.update({"a": b"1"}, b=bytearray(2))
        title: bytes = notes["title"]
        maybe: bytes | None = notes.get("absent")
        sure: bytes = notes.get("absent", b"")
        for key, value in notes.items():
            print(key.upper(), value.decode())
        array = runs.create_array(2, dtype="f8", size=10)
        array[2:5] = [1, 2, 3]
        part = array[2:5]
        print(part.mean(), array.shape[0], np.asarray(array).sum())
        raw: bytes = array.read(0, 5)
        numbers = array.read(0, 5, dtype=np.float64)
        room = array.read(0, out=np.zeros(5))
        print(raw, numbers.dtype, room.shape)
        asyncio.run(awaited(runs))
        with runs.snapshot("kept") as then, runs.at_snapshot("kept") as again:
            print(then.label, again.key_value(1).size("title"))
        return title + sure + (maybe or b"")


async def awaited(runs: Container) -> None:
    values, array = runs.key_value(1), runs.open_array(2, dtype="f8")
    await asyncio.gather(*(values.aput(f"{n}", b"x") for n in range(10)))
    await array.awrite(0, np.ones(4))
    print(await values.aget("1"), await array.aread(0, 4, dtype="f8"))
    async for page in values.apages():
        print(page[0].decode())


def analyse(location: str) -> float:
    with open_steps(location, stream=True, open_timeout=60, ReadAhead="4M") as steps:
        for step in steps.follow(timeout=60):
            for name, variable in steps.variables().items():
                print(step, name, variable.type, variable.shape, variable.dtype.itemsize)
            try:
                return float(steps.read("U").mean())
            except Error as error:
                print(error.code, error.name)
    location = stepstore.plugin_path()
    return 0.0
