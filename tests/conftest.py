"""For every test: shapes in annotations are checked at run time,
and what one test compiled the others need not.

Most of the tests' time goes into compiling programs that run for milliseconds. So they are compiled
with few optimizations, as they round a little otherwise: where every bit counts, a test takes the
fixture `users_compiler`."""

import gc
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import jaxtyping
import pytest

WITH_SHAPES = "core estimators interoperation metrics operators pictures search tasks comparison"
"""the parts of brns in which arrays have shapes; in the others checking costs time alone"""

checked = [f"brns.{part}" for part in WITH_SHAPES.split()]
jaxtyping.install_import_hook(checked, "beartype.beartype").__enter__()

FEW = "JAX_DISABLE_MOST_OPTIMIZATIONS"
os.environ.setdefault(FEW, "1")  # before JAX is imported; `make test-slow` says 0
if os.environ[FEW] == "1":  # a tenth of the time of compiling, and a third
    flags = "--xla_cpu_parallel_codegen_split_count=1"
    if version("jaxlib") < "0.11":  # later ones may not know it
        flags += " --xla_cpu_use_fusion_emitters=false"
    os.environ.setdefault("XLA_FLAGS", flags)
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # programs need not say where from

gc.set_threshold(50_000, 20, 100)  # Python's garbage is a fifth of the time of tracing programs

CHROMIUM = Path("/usr/bin/chromium")
CACHE = Path(__file__).parents[1] / ".cache"
COMPILED = CACHE / "compiled"
LARGEST = 1e9
"""bytes, above which all that was compiled is thrown away, so that it does not grow for ever"""

# once; the test processes begun by this one inherit these
if sys.dont_write_bytecode:  # as in containers, where each process would compile JAX's modules anew
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(CACHE / "modules")
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    if sum(file.stat().st_size for file in COMPILED.glob("*")) > LARGEST:
        shutil.rmtree(COMPILED)
    os.environ |= {
        "JAX_COMPILATION_CACHE_DIR": str(COMPILED),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


@pytest.fixture(autouse=True)
def forgotten():
    """What another test's tasks were: one of the same name here is no edit of it."""
    if edits := sys.modules.get("brns.settings.edits"):
        edits._TEXTS.clear()


@pytest.fixture
def unchecked(monkeypatch):
    """Annotations are not checked, as users have it."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def keep_compiled(monkeypatch):
    """An edit discards no program, where none has the code that is edited: all would be compiled
    anew."""
    import jax

    monkeypatch.setattr(jax, "clear_caches", lambda: None)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A record of four generations with every checkpoint, to be read only."""
    from searches import search

    import brns

    folder = tmp_path_factory.mktemp("finished")
    return brns.run(search(), 4, out=folder / "run", checkpoint_every=1)[0]


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The files of a run of 10 generations that never stopped, to be read only."""
    from searches import search

    import brns

    path = tmp_path_factory.mktemp("whole") / "run"
    brns.run(search(), 10, out=path, seed=7, checkpoint_every=3)
    return path


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    how = "needs playwright: pip install playwright"
    playwright = pytest.importorskip("playwright.sync_api", reason=how)
    with playwright.sync_playwright() as engines:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = engines.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def users_compiler():
    """LLVM's optimizations, here and in processes begun here, as users have them."""
    import jax

    def compile_with(few: str) -> None:
        os.environ[FEW] = few
        jax.config.update(FEW.lower(), few == "1")
        jax.clear_caches()

    before = os.environ[FEW]
    compile_with("0")
    yield
    compile_with(before)
