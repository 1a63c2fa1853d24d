"""What a step in a pool in files asks the file system for, counted by the file system itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from bed import Bed
from worker import Worker

ACTIONS = Path(__file__).with_name("request_actions.py")
STEPS = 20


# Whole pages of cells: of another write FUSE may make two requests.
@pytest.mark.parametrize(("cells", "writes"), [(0, 1), (4096, 2)])
def test_a_steady_step_writes_its_metadata_and_its_data_and_asks_for_no_name(
    passthrough: Bed, cells: int, writes: int
) -> None:
    machine = passthrough.machines[0]
    location = f"shared:{passthrough.path('coherent') / f'cells-{cells}'}"
    with Worker(machine, ACTIONS) as worker:
        worker.call("write_steps", location, 5, cells)
        before = machine.requests("coherent")
        worker.call("write_steps", location, STEPS, cells)
        after = machine.requests("coherent")
    asked = {name: (after[name] - before[name]) / STEPS for name in after if after[name] != before[name]}
    # Each write is synced before the step is acknowledged.
    assert asked == {"write": writes, "fsync": writes}


# Its metadata and its data. The checksums of the data match, so it does not look whether the stream was
# replaced.
def test_a_reader_of_whole_steps_asks_for_no_name(passthrough: Bed) -> None:
    writer, reader = passthrough.machines
    location = f"shared:{passthrough.path('coherent') / 'read'}"
    with Worker(writer, ACTIONS) as on_writer, Worker(reader, ACTIONS) as on_reader:
        on_writer.call("write_steps", location, 5 + STEPS, 4096)
        on_reader.call("read_steps", location, 0, 5)
        before = reader.requests("coherent")
        on_reader.call("read_steps", location, 5, STEPS)
        after = reader.requests("coherent")
    asked = {name: (after[name] - before[name]) / STEPS for name in after if after[name] != before[name]}
    assert asked.keys() == {"read", "getattr"}
    assert asked["read"] == 2
