# Everything a newcomer needs: `make demo` and `make test` also create the virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test browser pictures check settings wheel learn faults cluster iproute bench bench-quality bench-growth bench-mixers bench-scan bench-listops bench-turing bench-alignments clean

demo: $(READY)
	$(BIN)/regard demo

# One process per core, four at most; each test uses one thread.
test: $(READY) browser
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

# Pages are tested in a real Chromium. Where there is none and none can be installed, those tests are
# skipped with a note.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    chromium chromium-driver fonts-dejavu-core >/dev/null; } || \
	  echo "Chromium is not installed (packages chromium and chromium-driver): page tests are skipped."

# The pictures of docs/serve.md, taken of the page itself; trains two small runs unless they exist.
PAGE_RUNS ?= benchmarks/runs/page

pictures: $(READY) browser
	$(BIN)/python -m benchmarks.page --data $(DATA) --runs $(PAGE_RUNS) --output docs/pictures

check: $(READY)
	$(BIN)/ruff check regard tests benchmarks
	$(BIN)/ruff format --check regard tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py tests/test_house.py

# The page is generated from the config classes; a test fails when it is stale.
settings: $(READY)
	$(BIN)/regard settings --markdown > docs/settings.md

# Into dist/. What an earlier build left behind would become part of the wheel, so it is removed.
wheel: $(READY)
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-deps --build-constraint constraints.txt --wheel-dir dist .

learn: $(READY)
	$(BIN)/python -m pytest tests/learn

# Reports go to build/faults; "make faults CAMPAIGNS=damage SEED=2" runs one of them with another seed.
CAMPAIGNS ?=
SEED ?= 1

faults: $(READY)
	cd tests && PYTHONPATH=.. OMP_NUM_THREADS=1 ../$(BIN)/python -m faults $(CAMPAIGNS) --seed $(SEED)

# Two hosts are two network namespaces, which need root and ip; where there are none, those tests are
# skipped with a note.
cluster: $(READY) iproute
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[ray]"
	$(BIN)/python -m pytest tests/cluster

iproute:
	@command -v ip >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iproute2 >/dev/null; } || \
	  echo "ip is not installed (package iproute2): tests on two hosts are skipped."

DATA ?= ../shared/data/multi30k
BENCH := .venv-bench

bench: $(BENCH)/ready
	$(BENCH)/bin/python -m benchmarks.speed --data $(DATA) --output benchmarks/results.json

QUALITY_DATA ?= ../shared/data/multi30k-tok
QUALITY_RUNS ?= benchmarks/runs

bench-quality: $(BENCH)/ready
	$(BENCH)/bin/python -m benchmarks.quality --data $(QUALITY_DATA) --runs $(QUALITY_RUNS) --output benchmarks/quality.json

GROWTH_PAIRS ?= ../shared/data/tatoeba-en-de/train.tsv.gz

bench-growth: $(BENCH)/ready
	$(BENCH)/bin/python -m benchmarks.growth --pairs $(GROWTH_PAIRS) --output benchmarks/growth.json

bench-mixers: $(READY)
	$(BIN)/python -m benchmarks.mixers --output benchmarks/mixers.json --figure benchmarks/mixers.svg

SCAN_DATA ?= ../shared/data/scan
SCAN_RUNS ?= benchmarks/runs/scan
LISTOPS_RUNS ?= benchmarks/runs/listops
TURING_RUNS ?= benchmarks/runs/turing

bench-scan: $(READY)
	$(BIN)/python -m benchmarks.scan --data $(SCAN_DATA) --runs $(SCAN_RUNS) --output benchmarks/scan.json

bench-listops: $(READY)
	$(BIN)/python -m benchmarks.listops --runs $(LISTOPS_RUNS) --output benchmarks/listops.json

bench-turing: $(READY)
	$(BIN)/python -m benchmarks.turing --runs $(TURING_RUNS) --output benchmarks/turing.json

TATOEBA ?= ../shared/data/tatoeba-en-de
GOLD ?= ../shared/data/word-alignment
ALIGNMENT_RUNS ?= benchmarks/runs/alignments

bench-alignments: $(READY)
	$(BIN)/python -m benchmarks.alignments --pairs $(TATOEBA) --gold $(GOLD) --runs $(ALIGNMENT_RUNS) --output benchmarks/alignments.json

$(BENCH)/ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BENCH)/bin/python -m pip install --quiet -c constraints.txt -e . -r benchmarks/requirements.txt
	touch $@

$(READY): pyproject.toml constraints.txt
	@echo "Installing regard and its dependencies into $(VENV): torch alone is about 200 MB, so this takes a few minutes."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
