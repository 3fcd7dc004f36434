"""The user's own code that a search is made of: what is a part of it, and what means the same."""

import argparse
import ast
import dataclasses
import gc
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from modules import Own, loaded, typed
from searches import search
from shell import call

import brns
from brns.runs.metadata import read_sources
from brns.settings.code import digest_code
from brns.settings.description import part_to_json
from brns.settings.differences import find_differences
from brns.settings.edits import diff_code_by_name
from brns.settings.parsing import get_source_text, parse_source


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("self.moved(genotypes))", "self.moved(genotypes)) / 2", "own.Task.evaluate"),
        ("* self.scale", "- self.scale", "own.Base.moved"),
        ("scale = 1.0", "scale = 2.0", "own.Base.scale"),
        ("[-1.0] * 2", "[-2.0] * 2", "own.Base.behavior_space"),
        ("np.arange(3.0)", "np.ones(3)", "own.TABLE"),
        ("Ground(3.0)", "Ground(4.0)", "own.GROUND, own.GROUND.width"),
        ("[0.0, 1.0]", "[0.0] * 9999", "own.CONFIG.offset"),
        ("points**power", "points * power", "own.measured"),
        ("POWER = 1", "POWER = 2", "own.Scorer.__call__.factor"),
        ("return 0.0", "return 0.1", "aside.offset"),
        ("GAIN = 0.5", "GAIN = 0.4", "own.measured.shift, own.GAIN"),
    ],
)
def test_an_edit_anywhere_in_what_a_task_uses_is_seen(written, before, after, name):
    first = read_sources(written().made()).texts
    edited = read_sources(written(before, after).made())
    assert ", ".join(diff_code_by_name(first, edited)) == name
    assert len("".join(edited.texts.values())) < 3000


def test_modules_of_one_name_in_two_packages_are_two(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for package in ("there", "here"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "config.py").write_text("steps = 3\n")
    text = "from here import config\nimport there.config\n"
    text += "def use(x):\n    return x * config.steps + there.config.steps\n"
    texts = read_sources(search(Own(loaded(tmp_path, "own", text, monkeypatch).use))).texts
    assert {"here.config.steps", "there.config.steps"} <= texts.keys()


def test_a_graph_of_objects_may_hold_itself_and_be_deeper_than_pythons_stack():
    text = """
class Cell:
    def __init__(self, others):
        self.others = others
first = chain = Cell([])
for _ in range(2000):
    chain = Cell([chain])
first.others.append(chain)
def use(x):
    return x * len(chain.others)"""
    assert "chain.others.0" in read_sources(search(Own(typed(text)))).texts


def test_a_lambda_in_place_of_a_method_is_an_edit_and_main_is_a_module(tmp_path, monkeypatch):
    text = "class Arm:\n    def turn(self):\n        return 1.0\ntwice = lambda x: 2 * x\n"
    text += "def use(x):\n    return twice(x) * Arm().turn()\n"
    module = loaded(tmp_path, "own", text, monkeypatch)
    before = read_sources(search(Own(module.use))).texts
    module.Arm.turn = lambda self: 2.0
    now = read_sources(search(Own(module.use)))
    assert "own.Arm.turn" in diff_code_by_name(before, now).keys() & now.texts.keys()
    assert now.texts["own.twice"].startswith("twice = own.<lambda>")
    module.twice.__module__ = "__main__"
    assert not diff_code_by_name(now.texts, read_sources(search(Own(module.use))))


def test_the_code_that_runs_counts_not_what_its_file_says_since(tmp_path, monkeypatch):
    """A file that was edited but not imported again is neither an edit, nor the run's code."""
    text = '"""A robot."""\ndef helper(x):\n    return x * 1\ndef use(x):\n    return helper(x)\n'
    task = Own(loaded(tmp_path, "own", text, monkeypatch).use)
    before = read_sources(search(task)).texts
    (tmp_path / "own.py").write_text(text.replace("* 1", "* 22").replace("A", "\n\nA"))
    assert "x * 1" in before["own.helper"]
    now = read_sources(search(task))
    assert diff_code_by_name(before, now) == {}
    again = loaded(tmp_path, "own", (tmp_path / "own.py").read_text(), monkeypatch).use
    assert list(diff_code_by_name(now.texts, read_sources(search(Own(again))))) == ["own.helper"]


def test_where_a_project_lies_is_no_code(tmp_path, monkeypatch):
    text = """
import pathlib
HERE, ROOT = pathlib.Path(__file__).parent, pathlib.Path(__file__).parents[2]
TEXT = f"{HERE}/robot.xml"
def use(x):
    return HERE, ROOT, TEXT
"""
    sources = []
    for name in ("laptop", "cluster"):
        (tmp_path / name / "src" / "package").mkdir(parents=True)
        module = loaded(tmp_path / name / "src" / "package", "own", text, monkeypatch)
        sources.append(read_sources(search(Own(module.use))))
    assert diff_code_by_name(sources[0].texts, sources[1]) == {}
    for edit in (("robot", "ant"), ("__file__).parent", "__file__).parent.parent")):
        edited = loaded(tmp_path / "laptop/src/package", "own", text.replace(*edit), monkeypatch)
        assert "own.TEXT" in diff_code_by_name(
            sources[0].texts, read_sources(search(Own(edited.use)))
        )


@pytest.mark.slow
def test_a_run_goes_on_where_its_project_and_the_paths_in_its_settings_were_moved(
    tmp_path, monkeypatch
):
    text = """
import dataclasses, pathlib, brns
HERE = pathlib.Path(__file__).parent
@dataclasses.dataclass(frozen=True)
class Task:
    data: pathlib.Path = HERE / "data/robot.xml"
    gain: float = 1.0
    files: tuple = (f"{HERE}/data/ground.xml", "other")
    genotype_space = behavior_space = brns.Box([-1.0, -1.0], [1.0, 1.0])
    traceable = True
    def evaluate(self, genotypes, key):
        return brns.Evaluation(self.gain * genotypes)
own = brns.NoveltySearch(Task(), brns.VisitCounts(grids=2, rows=32), 4, 4)
"""
    (tmp_path / "laptop").mkdir()
    (tmp_path / "cluster").mkdir()
    for place in ("laptop", "cluster"):
        module = loaded(tmp_path / place, "moved_task", text, monkeypatch)
        if place == "laptop":
            asked = "run moved_task:own --set task.gain=0.5 --generations 1 --out run"
            call(*asked.split(), folder=tmp_path / place)
            (tmp_path / "laptop/run").rename(tmp_path / "cluster/run")
    asked = "resume run --generations 2 --search moved_task:own"
    call(*asked.split(), folder=tmp_path / "cluster")
    again = dataclasses.replace(module.own, task=module.Task(gain=0.5))
    run = tmp_path / "cluster/run"
    assert brns.Record(run, again).last_generation == 2
    another = dataclasses.replace(again, task=module.Task(module.HERE / "data/ant.xml", 0.5))
    with pytest.raises(brns.RecordError, match=r"data.path was .*robot.xml.* and is .*ant.xml"):
        brns.Record(run, another)


def test_a_set_in_a_lambda_is_the_same_in_whatever_order_a_process_has_it():
    code = (lambda n: n in {0, 8}).__code__
    one, other = (code.replace(co_consts=(None, frozenset(items))) for items in ([0, 8], [8, 0]))
    assert [*one.co_consts[1]] != [*other.co_consts[1]]
    assert digest_code(one) == digest_code(other)


def test_a_global_of_the_name_of_an_attribute_is_not_read():
    use = typed("def use(x):\n    return x.seed", seed=3)
    assert "seed" not in read_sources(search(Own(use))).texts


def test_an_object_is_known_by_the_lines_that_assign_it(tmp_path, monkeypatch):
    """In the module from which another imports it, or in the last cell of a notebook."""

    def lines(**names):
        use = typed("def use(x):\n    return next(steps)", **names)
        return read_sources(search(Own(use))).texts

    text = "import itertools\nsteps = itertools.count(2)  # two"
    module = loaded(tmp_path, "stepping", text, monkeypatch)
    assert lines(steps=module.steps)["steps"] == "steps = itertools.count(2)\n"
    cells = ["steps = iter([1])", "steps = iter( [2] )", "steps = = 3", "next(steps)"]
    cells += 2 * ["steps.advance()"]
    assert lines(get_ipython=None, steps=iter([2]))  # a name that a script has imported, too
    names = lines(get_ipython=None, In=cells, steps=iter([2]))
    assert names["steps"] == "steps = iter([2])\nsteps.advance()\n"


@pytest.mark.parametrize(("argument", "seen"), [("gain", True), ("generations", False)])
def test_of_a_programs_arguments_that_a_task_keeps_those_count_that_it_reads(argument, seen):
    class Throw:
        def __init__(self, args):
            self.args = args

        def __call__(self, x):
            return self.args.gain * x

    first, second = (argparse.Namespace(gain=1.0, generations=9) for _ in range(2))
    setattr(second, argument, 4)
    one, other = (search(Own(Throw(each))) for each in (first, second))
    assert not find_differences(part_to_json(one), part_to_json(other))
    edited = diff_code_by_name(read_sources(one).texts, read_sources(other))
    assert [name.rpartition(".")[2] for name in edited] == (["gain"] if seen else [])


def test_the_text_of_a_notebooks_class_is_found_beside_an_import(tmp_path):
    """IPython compiles a cell's statements one by one, Python those of a text differently."""
    cell = "import numpy as np\nclass Use:\n    def __call__(self, x):\n        return np.abs(x)\n"
    names, file = {"__name__": "typed"}, tmp_path / "cell.py"
    file.write_text(cell)
    for statement in ast.parse(cell).body:
        exec(compile(ast.Module([statement], []), file, "exec"), names)
    texts = read_sources(search(Own(names["Use"]()))).texts
    assert "return np.abs(x)" in texts["Use.__call__"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return 1\n", "return 2\n"),  # nobody calls it
        ("width: float = 1.0", "width: float = 2.0"),  # a default of an object that was given it
        ("generations=3", "generations=4"),  # an argument of the program that no function reads
        ("runs/one", "runs/two"),  # the same in a dictionary
        ("logging.INFO", "logging.DEBUG"),  # the level of a log
        ("return points**power", '"""To the power."""\n    return points**power'),
        ("return points**power", "# to the power\n\n    return (points ** power)"),
        ("def helper(genotypes):", "def helper(genotypes: np.ndarray) -> np.ndarray:"),
    ],
)
def test_what_means_the_same_is_the_same(written, before, after):
    first = read_sources(written().made()).texts
    assert diff_code_by_name(first, read_sources(written(before, after).made())) == {}


def test_code_without_a_file_is_known_by_what_was_compiled():
    def source(gain):
        return read_sources(search(Own(typed(f"def use(x):\n    return x * {gain}\n"))))

    assert diff_code_by_name(source(2).texts, source(2)) == {}
    assert list(diff_code_by_name(source(2).texts, source(3))) == ["use"]
    one, other = (read_sources(search(Own(each))) for each in (lambda x: x + 1, lambda x: x + 2))
    assert one.texts != other.texts
    assert read_sources(brns.NoveltySearch(brns.PlanarArm())).texts == {}


def test_threads_may_read_code_while_python_collects_garbage():
    """In Python 3.11 a thread that parses ends another's, as JAX frees its own between them."""
    before = gc.get_threshold()

    def give_way(*_):
        time.sleep(0)

    gc.callbacks.append(give_way)
    gc.set_threshold(700)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(parse_source, ["x = [1, 2, 3]\n" * 300] * 12))
            list(threads.map(get_source_text, [argparse.ArgumentParser] * 4))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(give_way)


def test_a_script_that_another_process_runs_is_known_by_what_it_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "import subprocess, sys\ndef use(x):\n"
    text += "    return subprocess.run([sys.executable, 'simulate.py']), 'own.py', x\n"
    codes = []
    for gain in (1.0, 2.0):
        (tmp_path / "simulate.py").write_text(f"print({gain})")
        module = loaded(tmp_path, "own", f"{text}# {gain}\n", monkeypatch)
        codes.append(read_sources(search(Own(module.use))))
    assert list(diff_code_by_name(codes[0].texts, codes[1])) == ["file simulate.py"]


DATA = """
import pathlib, pickle
class Robot:
    def __init__(self, file):
        self._model = pickle.loads(pathlib.Path(file).read_bytes())
"""


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("_model = pickle.load(open('robot.pkl', 'rb'))", True),
        ("_model = pickle.load(open('robot.pkl', 'rb'))\nhere = open('robot.json')", True),
        ("robot = Robot('robot.pkl')", True),
        ("robot = Robot(pathlib.Path('robot.pkl'))", True),
        ("robot = [*map(open, [])]\ndef helper():\n    return ('a.pkl', 'b/robot.pkl')", True),
        ("robot = open('robot.json')", False),
        ("robot = 'robot.pkl\\0'", False),
    ],
)
def test_a_data_file_that_is_named_is_known_by_what_it_holds(line, seen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = "robot" if "robot =" in line else "_model"
    text = f"{DATA}{line}\ndef use(x):\n    return {named}, x, {'helper' in line and 'helper()'}\n"
    (tmp_path / "b").mkdir()
    texts = []
    for gain in (1.0, 2.0):
        for name in ("robot.pkl", "robot.json", "b/robot.pkl"):
            (tmp_path / name).write_bytes(pickle.dumps(np.random.default_rng(int(gain))))
        now = read_sources(search(Own(loaded(tmp_path, "own", text, monkeypatch).use)))
        texts.append(now.texts)
    assert ("file robot.pkl" in diff_code_by_name(texts[0], now)) == seen
    for file in tmp_path.rglob("robot.pkl"):
        file.unlink()  # as from another working directory
    gone = read_sources(search(Own(typed("def use(x):\n    return open('robot.pkl'), x\n"))))
    assert not any(name.startswith("file") for name in diff_code_by_name(texts[0], gone))
