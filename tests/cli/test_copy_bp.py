"""stepstore copy from BP files: the kinds of variables that ADIOS2's Python interface cannot write."""

import os
import subprocess

import pytest
import stepstore
from copies import healthy
from stepstore.steps import open_steps

PROGRAM = os.environ.get("STEPSTORE_TEST_RARE_KINDS", "")
ON_RANKS = os.environ.get("STEPSTORE_TEST_RARE_KINDS_MPI", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="built without the native engine of ADIOS2")
needs_mpi = pytest.mark.skipif(not ON_RANKS, reason="needs an ADIOS2 with MPI")


def run(cli, words, *arguments):
    """rare_kinds.cc: it writes, or checks every value."""
    subprocess.run([*words.split(), *map(str, arguments)], cwd=cli.directory, env=cli.environment, check=True)


@pytest.mark.parametrize(
    ("engine", "case"),
    [
        ("BP5", "structs"),
        ("BP5", "joined structs"),
        ("BP5", "numbers"),
        ("BP4", "numbers"),
        ("BP5", "strings"),
    ],
)
def test_structs_joined_arrays_and_long_doubles_are_as_the_program_wrote_them(cli, engine, case):
    ranks = 3 if ON_RANKS and case != "strings" else 1
    run(cli, ON_RANKS if ranks > 1 else PROGRAM, "write", engine, "a.bp", case)
    run(cli, PROGRAM, "check", engine, "a.bp", case, ranks)  # what ADIOS2 itself reads
    told = cli("copy", "a.bp", "./q", "--json").json
    assert told["verified"] and told["bytes"] == told["compared_bytes"] > 0
    run(cli, PROGRAM, "check", "Stepstore", "./q/default/a", case, ranks)
    if case == "structs":
        healthy(cli, "q")
    with open_steps(str(cli.directory / "q/default/a")) as copied:
        if case == "numbers":
            assert copied.variable("float64").kind == "global array"  # as ADIOS2 shows joined ones
            starts = [block.start for block in copied.blocks("float64", 0)]
            assert starts == [(2 * rank,) for rank in range(ranks)]
        if case == "structs":
            assert [block.count for block in copied.blocks("cells", 1)] == [(1, 7)] * 2 * ranks


@pytest.mark.parametrize(
    ("case", "words", "says"),
    [
        (
            "local structs",
            PROGRAM,
            "'parts': it is a local array of structs, which ADIOS2 writes into BP files",
        ),
        ("letters", PROGRAM, "read a.bp: "),
        pytest.param("strings", ON_RANKS, "'own text': it is a string of each of 3 writers", marks=needs_mpi),
    ],
)
def test_what_adios2_cannot_read_or_write_is_refused_by_name(cli, case, words, says):
    run(cli, words, "write", "BP5", "a.bp", case)
    error = cli("copy", "a.bp", "./q", code=1).err.splitlines()[-1]
    assert error.startswith("error: ") and says in error and "\033" not in error
    assert (case == "letters") == ("structs that have complex numbers or characters" in error)
    with pytest.raises(stepstore.Error, match="no stream 'a'"):
        open_steps(str(cli.directory / "q/default/a"))
