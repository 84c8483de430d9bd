# Headscope. `make run` and `make test` set up all they need, in .venv.
# Plain make (3.81 and later) and a POSIX shell: Linux, macOS, WSL.

VENV   := .venv
PY     := $(VENV)/bin/python
# The tools that Headscope is compared with have an environment of their own.
PEERS  := .venv-peers
PIP    := $(PY) -m pip --disable-pip-version-check
# The Python that .venv is made with: the first of the usual names that is 3.11 or later.
PYTHON ?=
# Another port for `make run`. Without it Streamlit takes 8501, or the next free one.
PORT   ?=
# More arguments for pytest (`make test`), the benchmark (`make bench`) or the pictures.
ARGS   ?=
# `make test BROWSER=no` leaves the browser tests out and needs no Chromium.
BROWSER ?= yes
# `make test COV=1` also reports the lines that no test reached.
COV    ?=

.DEFAULT_GOAL := help
.PHONY: help run test check format bench bench-peers images smollm2 clean

help:
	@echo 'make run      start Headscope and open it in the browser  (PORT=8600: on another port)'
	@echo 'make test     run every test, in a real browser too       (ARGS="-k masks", BROWSER=no, COV=1)'
	@echo 'make check    lint, formatting, types; changes nothing'
	@echo 'make format   format the code and put right what the linter can'
	@echo 'make bench    time the attention implementations here     (ARGS="--heads 1,4,16")'
	@echo 'make bench-peers  time Headscope against other tools, in .venv-peers  (ARGS="runs --quick")'
	@echo 'make smollm2  fetch SmolLM2 (135M, 270 heads; 93 MB) and put it where the page lists models'
	@echo 'make images   take the pictures that README shows, of the page as it is  (ARGS="grid")'
	@echo 'make clean    remove .venv, .venv-peers and everything built'
	@echo
	@echo 'Each sets up what it needs in .venv.  PYTHON=/path/to/python3.12 chooses the Python.'
	@echo 'A Linux machine without an NVIDIA GPU saves a few GB of downloads with'
	@echo '  PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make run'

run: $(VENV)/.runtime
	@exec $(PY) -m streamlit run app.py $(if $(PORT),--server.port $(PORT))

# The browser's tests run beside the others: each keeps about one core busy.
test: $(VENV)/.dev
ifneq ($(BROWSER),no)
	@$(PY) -m tests.browser.chromium
endif
	@BROWSER='$(BROWSER)' sh scripts/run-tests $(PY) $(if $(COV),--cov) $(ARGS)

check: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(VENV)/.dev
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

bench: $(VENV)/.runtime
	$(PY) -m attention bench $(ARGS)

bench-peers: $(PEERS)/.installed
	@$(PEERS)/bin/python -m tests.browser.chromium
	$(PEERS)/bin/python -m tests.bench.peers $(ARGS)

images: $(VENV)/.dev
	@$(PY) -m tests.browser.chromium
	$(PY) -m tests.browser.readme_images $(ARGS)

smollm2: $(VENV)/.runtime
	@$(PY) -m attention.smollm2

clean:
	rm -rf $(VENV) $(PEERS) build htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than the requirements once these are installed, so a second `make run` starts
# at once. They live inside .venv: removing it forgets them.
$(PY):
	@PYTHON='$(PYTHON)' sh scripts/make-venv $(VENV)

$(VENV)/.runtime: $(PY) requirements.txt
	@echo 'Installing what Headscope needs into $(VENV) (minutes the first time: torch is large)'
	$(PIP) install -r requirements.txt
	@touch $@

$(VENV)/.dev: $(PY) requirements.txt requirements-dev.txt
	@echo 'Installing what the tests need into $(VENV) (minutes the first time: torch is large)'
	$(PIP) install -r requirements-dev.txt
	@touch $@ $(VENV)/.runtime

$(PEERS)/bin/python:
	@PYTHON='$(PYTHON)' sh scripts/make-venv $(PEERS)

$(PEERS)/.installed: $(PEERS)/bin/python requirements.txt requirements-peers.txt
	@echo 'Installing Headscope and what it is compared with into $(PEERS)'
	$(PEERS)/bin/python -m pip --disable-pip-version-check install -r requirements-peers.txt
	@touch $@
