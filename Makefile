# Everything a newcomer needs: `make demo` and `make test` also make the virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test check learn faults bench bench-quality bench-growth clean

demo: $(READY)
	$(BIN)/regard demo

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check regard tests benchmarks
	$(BIN)/ruff format --check regard tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

learn: $(READY)
	$(BIN)/python -m pytest tests/learn

faults: $(READY)
	$(BIN)/python -m pytest tests/faults

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

$(BENCH)/ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BENCH)/bin/python -m pip install --quiet -c constraints.txt -e . -r benchmarks/requirements.txt
	touch $@

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
