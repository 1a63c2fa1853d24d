"""What tests of `stepstore copy` compare."""

import numpy as np
from stepstore.copying import plan
from stepstore.steps import open_steps
from stepstore.store import Pool


def contents(pool, container):
    """All keys and values, and all bytes of arrays that keep their sizes."""
    found = {}
    with (
        Pool.connect(pool, read_only=True) as opened,
        opened.open_container(container, read_only=True) as box,
    ):
        for oid in box._handle.objects():
            kind = plan.type_of(oid)
            if kind == "key_value":
                with box.key_value(oid, read_only=True) as values:
                    found[str(oid)] = {key: values.get(key) for key in values.raw_keys()}
            elif kind == "array":
                with box.open_array(oid, read_only=True) as array:
                    found[str(oid)] = (array.cell_size, array.chunk_size, array.size, array.read())
    return found


def everything(location):
    """All of a stream: attributes, variables, blocks, bytes."""
    found = []
    with open_steps(location) as stream:
        assert stream.ended
        for step in range(stream.first, len(stream)):
            # A BP file does not tell a list of one number from a number.
            attributes = {
                name: (one.type, repr(np.atleast_1d(one.value).tolist()))
                for name, one in stream.attributes(step).items()
            }
            found.append((step, attributes))
            for name, variable in sorted(stream.variables(step).items()):
                found.append((name, variable.type, variable.kind, variable.shape))
                for block in stream.blocks(name, step):
                    value = stream.read_block(name, block.index, step)
                    raw = value.tobytes() if isinstance(value, np.ndarray | np.generic) else value
                    found.append((block.index, block.start, block.count, raw))
    return found


def healthy(cli, pool):
    cli("pool", "check", pool)  # exit code 4 where there is damage
