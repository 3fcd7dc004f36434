import subprocess
import sys

import pytest
from worlds import HostIdentity

import brns
from brns.runs.loop import start

SEARCH = brns.NoveltySearch(HostIdentity(), brns.PopulationKNN(k=3), population_size=6, offspring_size=5)


def test_a_run_that_is_being_written_cannot_be_resumed(tmp_path):
    steps = start(SEARCH, 5, out=tmp_path / "run")
    next(steps)
    with pytest.raises(brns.RecordError, match="is being written by another process"):
        brns.resume(tmp_path / "run", 9, search=SEARCH)
    assert brns.Record(tmp_path / "run").planned == 5
    steps.close()
    (record,) = brns.resume(tmp_path / "run", 2, search=SEARCH)
    assert record.generations == [0, 1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="locks by flock")
def test_the_lock_falls_with_a_process_that_is_killed(tmp_path):
    brns.run(SEARCH, 1, out=tmp_path / "run")
    with locked_elsewhere(tmp_path / "run") as holder:
        with pytest.raises(brns.RecordError, match="is being written"):
            brns.resume(tmp_path / "run", 2, search=SEARCH)
        holder.kill()
        holder.wait()
        assert brns.resume(tmp_path / "run", 2, search=SEARCH)[0].generations == [0, 1, 2]


def locked_elsewhere(run) -> subprocess.Popen:
    """A process that holds a run's lock until it is killed or its standard input is closed."""
    program = (
        f"import fcntl; f = open({str(run / 'lock')!r}); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline()
    return holder
