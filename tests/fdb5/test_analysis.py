"""What analysis programs read from the archive: earthkit-data and z3fdb, as PyPI has them, on FDB's files and
on ours."""

import json
import unittest

import earthkit.data
import numpy as np
import zarr
from support import Compared, grib
from z3fdb import AxisDefinition, Chunking, ExtractorType, SimpleStoreBuilder

STEPS, LEVELS = (0, 6), (500, 850)
REQUEST = {
    "class": "rd",
    "expver": "xxxx",
    "stream": "oper",
    "date": "20260101",
    "time": "0000",
    "domain": "g",
    "type": "fc",
    "levtype": "pl",
    "step": list(STEPS),
    "levelist": list(LEVELS),
    "param": "130",
}
KINDS = ("toc", "stepstore", "our-catalogue", "our-store")


def values(step, level):
    """Of the sample's grid of 31 x 16 points; they tell the field."""
    return np.linspace(200, 300, 496) + 10 * step + level / 100


def archive_fields(archive):
    archive.write(
        *(
            grib(values(step, level), step=step, levelist=level, param=130)
            for step in STEPS
            for level in LEVELS
        )
    )


EXPECTED = np.array([[values(step, level) for level in LEVELS] for step in STEPS])


class EarthkitTest(Compared):
    def source(self, archive, **more):
        archive_fields(archive)
        return earthkit.data.from_source("fdb", REQUEST, config=archive.config(), **more)

    def test_fields_as_they_come(self):
        def script(archive):
            return [one.to_numpy(flatten=True).tolist() for one in self.source(archive).to_fieldlist()]

        self.assertTrue(np.allclose(self.compare(script, KINDS), EXPECTED.reshape(4, 496), atol=0.01))

    def test_an_xarray_dataset(self):
        def script(archive):
            found = self.source(archive, stream=False).to_xarray()
            return found.sizes, found.level.values.tolist(), found.t.values.tolist()

        sizes, levels, data = self.compare(script, KINDS)
        self.assertEqual(dict(sizes), {"step": 2, "level": 2, "latitude": 31, "longitude": 16})
        self.assertEqual(levels, list(LEVELS))
        self.assertTrue(np.allclose(np.reshape(data, (2, 2, 496)), EXPECTED, atol=0.01))


class Z3fdbTest(Compared):
    def view(self, archive, request):
        archive_fields(archive)
        config = archive.folder / "config.yaml"
        config.write_text(json.dumps(archive.config()))
        builder = SimpleStoreBuilder(config)
        axes = [AxisDefinition([name], Chunking.SINGLE_VALUE) for name in ("step", "levelist")]
        builder.add_part(request, axes, ExtractorType.GRIB)
        return zarr.open_array(builder.build(), mode="r", zarr_format=3)

    def test_a_zarr_array(self):
        def script(archive):
            view = self.view(archive, REQUEST)
            return view.shape, view.chunks, view[...].tolist(), view[1, 0, 7:9].tolist()

        shape, chunks, whole, part = self.compare(script, KINDS)
        self.assertEqual((shape, chunks), ((2, 2, 496), (1, 1, 496)))
        self.assertTrue(np.allclose(whole, EXPECTED, atol=0.01))
        self.assertEqual(part, whole[1][0][7:9])

    def test_a_field_that_is_missing(self):
        def script(archive):
            view = self.view(archive, {**REQUEST, "step": [*STEPS, 12]})
            try:
                return view[2, 0].tolist()
            except Exception as error:  # noqa: BLE001  whatever it is on FDB's files
                return type(error).__name__

        self.compare(script, KINDS)


if __name__ == "__main__":
    unittest.main()
