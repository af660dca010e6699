# make quickstart   installs verigold into .venv and runs the whole job on real input
# make test         installs and runs the tests
# make test-peers   loads shards in the real verl, TRL and OpenRLHF, each in an environment of its own
# make test-vllm    installs a CPU build of vLLM in an environment of its own and tests the vLLM engine in it
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/quickstart
WHEELS ?= dist
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: quickstart test test-peers test-vllm lint types wheel clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --prefer-binary -e '.[dev]'
	touch $@

quickstart: $(VENV)/installed
	$(BIN)/verigold quickstart --out $(OUT)

test: $(VENV)/installed
	$(BIN)/python -m pytest -q

test-peers: $(VENV)/installed
	PYTHON=$(PYTHON) tests/peers/run.sh $(VENV)/peers

test-vllm: $(VENV)/installed
	PYTHON=$(PYTHON) tests/vllm/run.sh $(VENV)/vllm

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/installed
	$(BIN)/pyright

wheel: $(VENV)/installed
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEELS) .

clean:
	rm -rf $(VENV) dist build
