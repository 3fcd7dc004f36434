# Two commands: `make demo` runs the main job, `make test` the tests. Both make .venv with all that they need.

PYTHON ?= python3
BIN = .venv/bin
EXTRAS = --extra ant --extra report --extra pandas --extra dask --extra peers --group test --group docs
LOCK = $(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-header --no-annotate -q

.PHONY: demo test test-slow test-browser docs lint lock clean

demo: .venv/.core
	@if [ -e runs/demo/run.json ]; then $(BIN)/brns resume runs/demo; else $(BIN)/brns run maze --out runs/demo; fi

test: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: .venv/.dev
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 $(BIN)/python -m pytest -m slow

test-browser: .venv/.dev
	$(BIN)/python -m pytest -m browser

docs: .venv/.dev
	$(BIN)/python -m sphinx -W -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

lint: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/.uv
	$(LOCK) -o requirements.lock
	$(LOCK) $(EXTRAS) -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf .venv

.venv/.uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "brns needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) --version 2>&1`."; \
	  echo "Install a later one and name it: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || { \
	  echo "This Python has no venv module. On Debian and Ubuntu: apt-get install python3-venv"; rm -rf .venv; exit 1; }
	@echo "Setting up .venv (about a minute, once)"
	@$(BIN)/pip install --quiet --disable-pip-version-check uv
	@touch $@

.venv/.core: .venv/.uv requirements.lock pyproject.toml
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

.venv/.dev: .venv/.uv requirements-dev.lock pyproject.toml
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@ .venv/.core
