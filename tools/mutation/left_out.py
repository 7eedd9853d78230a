"""The code in which no mistakes are made, by file, function, attribute or name: one line says why."""

from __future__ import annotations

import re

# What no cell does to a layer, and where it is tried.
HELD = "transformer_mb/conformance/test_shortcuts.py, tests/native/test_mxnet_watched.py and test_torch_tools.py hold it"
REPLACED = f"whether a user has replaced the layer; {HELD}"
WATCHED = f"whether a user has put hooks on the layer; {HELD}"
SHOWN = "is shown, not computed with; transformer_mb/conformance/test_printed_values.py holds it"
SEVERAL = "whether several models decode as one, as in no cell; transformer_mb/conformance/test_rows_apart.py holds it"
ON_GPU = "which branch is taken on another device; `make parity` on a GPU and tests/native/test_torch_on_gpu.py hold it"
ALIKE = "whether layers are of one kind, as all but those in eight bits; tests/native/test_numpy_tools.py holds others"

# Files without mathematics of the layers.
FILES_LEFT_OUT = {
    "__init__.py": "names and documentation; tests/meta/test_contract.py holds them",
    "given.py": "refuses what a caller gives wrongly; transformer_mb/conformance/test_bad_*.py hold it",
    "numpy/rounding.py": "what the verdict measures two-byte formats by; tests/parity/test_rounding.py holds it",
    "numpy/int8.py": "what the verdict measures eight bits by; tests/parity/test_yardsticks.py holds it",
    "jax/shortcuts/compilation.py": "how thoroughly a program is compiled; tests/native/test_jax_compiled.py holds it",
    "mxnet/shim.py": "makes MXNet importable, once for a process; tests/native/test_mxnet.py holds it",
    "mxnet/shortcuts/threads.py": "how many threads compute; tests/native/test_mxnet_threads.py holds it",
    "paddle/shortcuts/threads.py": "how many threads compute; tests/native/test_paddle.py holds it",
    "torch/shortcuts/threads.py": "how many threads compute; tests/native/test_torch_short_ways.py holds it",
    "torch/shortcuts/one_row.py": "which library multiplies; tests/native/test_torch_short_ways.py holds it",
    "torch/shortcuts/recorded_steps.py": "of a GPU; tests/native/test_torch_recorded_steps.py and test_torch_on_gpu.py hold it",
    "shared/decoding/ensemble.py": "of several models: no cell has any; transformer_mb/conformance/test_rows_apart.py holds it",
    "shared/decoding/inputs.py": "refuses what a caller gives wrongly; transformer_mb/conformance/test_bad_*.py hold it",
    "shared/decoding/prompts.py": "rows set apart, as in no cell; transformer_mb/conformance/test_prompts.py holds it",
    "shared/decoding/generation_config.py": "given to transformers' searches; tests/porting/test_generation.py holds it",
    "shared/decoding/generate.py": "transformers' searches, as in no cell; tests/porting/test_decoders_generation.py holds it",
    "shared/decoding/score_rules.py": "transformers' rules, as in no cell; tests/porting/test_decoders_generation.py holds it",
    "shared/training/schedules.py": "no cell has a schedule; tests/core/test_training_loop.py holds it",
    "shared/checkpoint/averaging.py": "no cell averages; tests/core/test_best_models.py holds it",
}
UNASKED = ("training/schedules.py", "checkpoint/averaging.py")  # what all share too, and no cell asks for
FUNCTIONS_LEFT_OUT = {
    "import_paths": "of a Python without setuptools; tests/native/test_torch_compiled.py holds it",
    **dict.fromkeys(("extra_repr", "__repr__"), SHOWN),
    "eval": "the mode between calls: cells say that of each; transformer_mb/conformance/test_modes.py holds it",
    "__post_init__": "refuses options; tests/core/test_training_steps.py holds it",
    "keep_freed_memory": "how soon the machine gives memory again, not what is computed",
    "expect": "of several processes; tests/distributed/test_*.py hold it",
    "version": "is shown, not computed with",
    **dict.fromkeys(("devices", "find_device"), "of other devices than the tests have; `make parity` on a GPU holds it"),
    "device_name": "is shown, not computed with",
    "_register_namedtuple": "what torch.export writes of caches; tests/native/test_torch_tools_page.py holds it",
    "cuts_bfloat16": "of other processors; tests/native/test_tensorflow_bf16.py holds what follows from it",
    "_remember": "what Keras' export asks for; tests/native/test_tensorflow_tools.py holds it",
    "get_config": "saving by Keras itself; tests/native/test_tensorflow_files.py holds it",
    "leave_room": "when JAX forgets programs; tests/native/test_jax.py holds it",
    "keep_programs": "what later processes load; tests/native/test_jax_compilation_cache.py holds it",
    **dict.fromkeys(("is_watched", "_is_read"), WATCHED),
    "is_one_node": "which of two ways is taken; tests/native/test_torch_short_ways.py holds which",
    "seeded_dropout": "each framework's own random numbers; transformer_mb/conformance/test_dropout.py holds it",
    "_are_all_in_one": "Keras' own calls with one list; tests/native/test_tensorflow.py holds them",
    "_named_inputs": "Keras' own calls with names; tests/native/test_tensorflow.py holds them",
    "untrack": "Keras' own account of a layer's parts; tests/native/test_tensorflow_files.py holds it",
    "compute_output_spec": "shapes that Keras asks for; tests/native/test_tensorflow.py holds them",
}
ATTRIBUTES_LEFT_OUT = {
    "alike": ALIKE,
    "kinds": "whether a user has put hooks on a variable; tests/native/test_jax_compiled.py holds it",
    "writeable": "whether a table that many share may be written into; tests/core/test_positions.py holds it",
    "built": "Keras' own account of what it has built; tests/native/test_tensorflow.py holds it",
    "supports_masking": "Keras' own masks; tests/native/test_tensorflow.py holds them",
    "_allow_non_tensor_positional_args": "Keras' own calls with lists of numbers; tests/native/test_tensorflow.py holds them",
}
# What a contract declares with its type.
DECLARED_LEFT_OUT = {
    "seed": "its default alone; tests/core/test_training_steps.py holds it",
    "compiles": "what a trainer offers; transformer_mb/conformance/test_trainer.py holds it",
    "always_compiles": "what a report says of a trainer; tests/core/test_training_reports.py holds it",
    "few_shapes": "how a program batches; tests/core/test_batch_tokens.py holds it",
    "imitates_int8": "what the command line says of a speed; tests/core/test_slower_precision.py holds it",
}
CONSTANTS_LEFT_OUT = {
    "always_compiles": "what a report says of a trainer; tests/core/test_training_reports.py holds it",
    "traced": "whether a framework's tool traces a call, as none in a cell; tests/native/test_torch_short_ways.py holds it",
    "imitates_int8": "what the command line says of a speed; tests/core/test_slower_precision.py holds it",
    "__all__": "names; tests/meta/test_contract.py holds them",
    **dict.fromkeys(("COLDEST", "SMALLEST_SHARE"), "a limit of a check; transformer_mb/conformance/test_sampling.py holds it"),
    "LARGEST_BEAM": "a limit of a check; tests/cli/test_given_files.py holds it",
    "LARGEST_LENGTH_PENALTY": "a limit of a check; tests/cli/test_translate_lines.py holds it",
    "LARGEST_COVERAGE_PENALTY": "a limit of a check; tests/cli/test_search_commands.py holds it",
}
# By what they are called: arguments, defaults, and the names that an ``or`` gives a default.
NAMES_LEFT_OUT = {
    "reduce_range": "products of processors without some instructions; tests/native/test_torch_int8.py holds it",
    "rngs": "JAX' own random numbers; tests/native/test_jax.py and transformer_mb/conformance/test_dropout.py hold them",
    "seed": "its default alone; tests/core/test_training_steps.py holds it",
    "trainable": "its default alone, which Keras reads; tests/native/test_tensorflow.py holds it",
    "top_p": "its default alone; transformer_mb/conformance/test_sampling.py holds it",
    "param_dtype": "its default alone: the dtype of a JAX layer where nobody says one; tests/native/test_jax.py holds it",
}
ON_PROCESSORS = ("device", "device_type")  # which are of type "cpu" in every cell
# Names, attributes and keys by which a condition asks what is answered alike wherever cells run.
CONDITIONS_LEFT_OUT = {
    **dict.fromkeys((*ON_PROCESSORS, "is_cuda", "fused"), ON_GPU),
    "devices": "which branch is taken on several devices; tests/distributed/test_*.py hold it",
    **dict.fromkeys(("models", "sessions"), SEVERAL),
    **dict.fromkeys(("forward", "call"), REPLACED),
    **dict.fromkeys(("is_watched", "_is_read", "_forward_hooks", "_forward_pre_hooks", "_forward_post_hooks"), WATCHED),
    **dict.fromkeys(("__setattr__", "train"), "whether a layer's class is the user's own; tests/native/test_torch.py holds it"),
    "is_autocast_enabled": "whether a user lets torch cast; tests/native/test_torch_short_ways.py holds it",
    "is_tracing": "whether torch.jit traces a call, as in no cell; tests/native/test_torch_tools.py holds it",
    "is_compiling": "whether torch compiles or exports a call, as in no cell; tests/native/test_torch_compiled.py holds it",
    "_are_functorch_transforms_active": "whether torch.func maps; tests/native/test_torch_tools.py holds it",
    "rounded_to": "whether NumPy rounds its numbers, as the verdict's measure does; tests/parity/test_rounding.py holds it",
    "executing_eagerly": "whether a graph is made, as in no cell here; tests/native/test_tensorflow.py holds it",
    "traced": "whether a framework's tool traces a call, as none in a cell; tests/native/test_torch_short_ways.py holds it",
    "processes": "which branch is taken in several processes, which no cell has; tests/distributed/test_*.py hold it",
    "complete": "whether a function makes arrays but by operators, as none in a cell; tests/native/test_mxnet.py holds it",
    "alike": ALIKE,
}
# Those of them that are false in every cell.
FALSE_IN_CELLS = ("is_cuda", "is_tracing", "is_compiling", "_are_functorch_transforms_active", "is_autocast_enabled")
LEFT_OUT = (FILES_LEFT_OUT, FUNCTIONS_LEFT_OUT, ATTRIBUTES_LEFT_OUT, DECLARED_LEFT_OUT, CONSTANTS_LEFT_OUT)
LEFT_OUT += (NAMES_LEFT_OUT, CONDITIONS_LEFT_OUT)
# Keyword arguments that change where or how fast something is computed; ``kwargs`` are Keras' own, which
# tests/native/test_tensorflow.py holds.
KEYWORDS_LEFT_OUT = ("device", "fused", "strict", "copy", "ctx", "place", "name", "rngs", "kwargs", "reduce_range")
# Calls that only refuse; what they are given matters to no cell, since cells make no errors.
CHECKS = re.compile(r"_?(check|refuse)_\w+|features|floats|known_sizes|lengths|token_ids|attention_mask|refuse\w*")
