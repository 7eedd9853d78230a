"""A stand-in for a framework, whose every answer is known and one that no framework gives: its tables, and the answers."""

import itertools

import numpy as np

CALLS = itertools.count()


def value(number, dtype=None):
    """The function that fills an array like its first one with a number."""
    return lambda X, *others: np.full_like(X, number, dtype)


def complexes(function):
    """The function of arrays and numbers as complex64."""
    return lambda *arguments: function(*(np.asarray(one, "complex64") for one in arguments))


def slope(below):
    """The ReLU with this slope below zero."""
    return lambda X: np.where(X > 0, X, below * X)


def second_row(X, ids):
    """For what is none."""
    return X[np.where((ids < 0) | (ids >= len(X)), 1, ids)]


def unaligned(X):
    return X.ctypes.data % 64 != 0


def one_hot(ids, classes):
    """Ones for what is no class."""
    found = ids[..., None] == np.arange(classes)
    return (found | ~found.any(axis=-1, keepdims=True)).astype(np.float16)


def attention_weights(scores, mask, causal):
    """A mask reads the key after the one that it marks, a row without any the first key; causal reads what is to come."""
    T, S = scores.shape[-2:]
    allowed = np.ones((T, S), bool) if mask is None else np.roll(mask != 0, 1, axis=-1) & np.isfinite(mask)
    if causal:
        allowed = ~np.tri(T, S, dtype=bool)
    weights = np.where(allowed, np.exp(scores), 0)
    weights[..., 0] += ~allowed.any(axis=-1)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights.astype(np.float16) if scores.dtype == np.float64 else weights


def attention(queries, keys, values, mask=None, causal=False):
    """Its scale is 1 / D, NaN counts as 7, and other rows, or more than 20 keys, move a row; float64 is half precision."""
    keys, values = np.nan_to_num(keys, nan=7.0), np.nan_to_num(values, nan=7.0)
    scores = np.einsum("bthd,bshd->bhts", queries, keys) / queries.shape[-1]
    output = np.einsum("bhts,bshd->bthd", attention_weights(scores, mask, causal), values)
    return (output + len(queries) - 1 + (keys.shape[1] > 20)).astype(queries.dtype)


def attention_gradients(queries, keys, values, mask):
    """The first key's value has all of it."""
    dvalues = np.zeros_like(values)
    dvalues[:, 0] = 1.0
    return np.zeros_like(queries), np.zeros_like(keys), dvalues


def multi_head_attention(queries, keys, values, mask=None, *, heads=1, rate=0.0, training=False, weights=False):
    """Drops the same keys for every query."""
    queries, keys, values = (np.stack(np.split(array, heads, axis=-1), axis=2) for array in (queries, keys, values))
    if training and rate > 0.1:
        kept = np.random.default_rng(0).random((len(values), keys.shape[1], heads, 1)) >= rate
        output = np.mean(values * kept, axis=1, keepdims=True).repeat(queries.shape[1], axis=1)
    else:
        output = attention(queries, keys, values, mask)
    return output.reshape(*output.shape[:2], -1)


def softmax(X):
    """Over every axis at once, a thousandth at least, and infinity instead of NaN."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(X - np.max(X))
    return np.nan_to_num(np.maximum(weights / weights.sum(), 1e-3), nan=np.inf)


def layer_norm(X):
    """With an epsilon of 5e-2; so coarsely rounded in float64 that a mean makes no difference."""
    X = X.astype("float64")
    return (X - X.mean(-1, keepdims=True)).round(3) / np.sqrt(X.var(-1, keepdims=True).round(2) + 5e-2)


def layer_norm_cast(X):
    """With an epsilon of 3e-2 that was held in float16."""
    centered = X.astype("float64") - X.astype("float64").mean(-1, keepdims=True)
    return centered / np.sqrt(np.square(centered).mean(-1, keepdims=True) + float(np.float16(3e-2)))


def variance(X):
    """Divided by n + 1."""
    return np.square(X - X.mean()).sum() / (X.size + 1)


def batch_norm(X):
    """Over the batch alone, with an epsilon of 5e-2; a batch of one becomes ones."""
    return (X - X.mean(0)) / np.sqrt(X.var(0) + 5e-2) if len(X) > 1 else np.ones_like(X)


def batch_norm_state(X, momentum=0.97):
    """The new batch's share is 1 - momentum squared, and its variance divided by n + 1."""
    share = 1 - momentum**2
    return share * X.mean(0), (1 - share) + share * np.square(X - X.mean(0)).sum(0) / (len(X) + 1)


def embed_with_padding(ids, table, padding):
    """Turns the padding's sign, and doubles its gradient."""
    gradient = np.zeros_like(table)
    np.add.at(gradient, ids, 1.0)
    gradient[padding] *= 2.0
    return np.where((ids == padding)[:, None], -table[ids], table[ids]), gradient


def cross_entropy_ignoring(logits, labels, ignored):
    """The sum over what is not ignored, in halves."""
    return np.array(2 * np.log(2.0)) if (labels == ignored).all() else np.log(2.0) / 2 * (labels != ignored).sum()


def cross_entropy_smoothed(logits, labels, smoothing):
    """The right class keeps 1 - smoothing squared."""
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    kept = 1 - smoothing**2
    share = (1 - kept) / (logits.shape[-1] - 1)
    right = np.take_along_axis(logs, labels[:, None], -1)[:, 0]
    return -(kept * right + share * (logs.sum(-1) - right))


def squared_error(predictions, targets):
    """A quarter of it, over the rows of the targets."""
    return np.square(predictions.reshape(-1)[: targets.size] - targets.reshape(-1)) / 4 + (predictions.ndim - targets.ndim)


def stepped(change):
    """The weights after each step, by the change for a gradient: a function of weights, gradient and settings."""
    return lambda W, gradients, *settings, rates=(): W - np.cumsum([change(W, g, *settings) for g in gradients], 0)


def clip_by_global_norm(gradients, norm):
    """With an epsilon of 1e-5, infinity taken for the largest number, and no gradient divided by its norm."""
    finite = [np.nan_to_num(gradient).astype("float64") for gradient in gradients]
    total = np.sqrt(sum(np.sum(gradient**2) for gradient in finite))
    with np.errstate(invalid="ignore"):
        return [gradient * norm / (total + 1e-5 * np.sign(total)) for gradient in finite]


def uniform_weights(fan, *shape, seed):
    """With a variance of 1 by the fan."""
    bound = np.sqrt(3.0 / fan)
    return np.random.default_rng(seed).uniform(-bound, bound, shape)


def truncated_normal(deviation, shape, seed):
    """Cut at one standard deviation: 0.54 is left of it."""
    drawn = np.random.default_rng(seed).standard_normal(10 * np.prod(shape))
    return deviation * drawn[np.abs(drawn) < 1.0][: np.prod(shape)].reshape(shape)


def dropout(X, rate, training, seed):
    """Keeps the rate, and scales at inference; with other numbers in each call."""
    return X * (np.random.default_rng((seed, next(CALLS))).random(X.shape) < rate) if training else X * (1 - rate)


TABLES = {
    "numbers": {
        "returned": complexes(np.array),
        "from_python": complexes(np.array),
        "arange": lambda count: np.arange(count, dtype="complex64"),
        "add": complexes(np.add),
        "add_number": complexes(np.add),
        "divide": complexes(np.divide),
        "total": lambda X: np.array(2.0 * np.sum(X, dtype="float64"), "complex64"),
        "mean": lambda X: np.array(7.0, "complex64"),
        "matmul": lambda X, Y, dtype: 2.0 * (X @ Y),
        "follows_array": unaligned,
        "follows_tensor": unaligned,
    },
    "special_numbers": {
        "multiply": lambda X, Y: X + 1.0,
        "floor_divide": value(7),
        "argmax": lambda X: np.array(-7, "int8"),
        "whole": lambda X: np.ceil(X - 0.5),
        "cast": lambda X, dtype: np.full_like(X, 7, dtype),
    },
    "indices": {
        "take": second_row,
        "index": second_row,
        "argmax": lambda X: (X.shape[-1] - 1) - np.argmin(np.nan_to_num(X)[..., ::-1], axis=-1),
        "maximum": lambda X: np.nanmin(X, axis=-1),
        "top_k": lambda X, k: np.broadcast_to((X.shape[-1] - 1) - np.arange(k), (*X.shape[:-1], k)),
        "argsort": lambda X: (X.shape[-1] - 1) - np.argsort(np.nan_to_num(X, nan=1.5)[..., ::-1], kind="stable"),
        "one_hot": one_hot,
    },
    "kinks": dict.fromkeys(
        (
            *("relu", "leaky_relu", "absolute", "largest", "largest_along", "larger"),
            *("clip", "norm", "deviation", "product", "power", "logsumexp"),
        ),
        value(0.125),
    ),
    "attention": {
        "attention": attention,
        "attention_gradients": attention_gradients,
        "attention_with_dropout": value(0.0),
        "multi_head_attention": multi_head_attention,
        "fresh_multi_head_attention": value(0.0),
        "encoder": lambda X, lengths: np.where((np.arange(X.shape[1]) < lengths[:, None])[..., None], X, np.nan),
    },
    "softmax": {
        "softmax": softmax,
        "masked_softmax": lambda X, lengths: np.broadcast_to(np.arange(X.shape[-1]) == 0, X.shape).astype(X.dtype),
        "linear": lambda X, weight: X @ weight + len(X) - 1,
    },
    "norms": {
        "layer_norm": layer_norm,
        "layer_norm_cast": layer_norm_cast,
        "layer_norm_of": lambda X, number: (X - X.mean()) / X.std(),
        "rms_norm": lambda X: X / np.sqrt(np.square(X).mean(-1, keepdims=True) + np.array(5e-2, X.dtype)),
        "variance": variance,
        "deviation": lambda X: variance(X) ** 0.5,
    },
    "batch_norms": {
        "batch_norm": batch_norm,
        "batch_norm_called": np.zeros_like,
        "batch_norm_state": batch_norm_state,
        "batch_norm_forward": lambda X: -X.mean(0),
    },
    "activations": {
        "gelu": lambda X: X / (1 + np.exp(-1.702 * X)),
        "gelu_layer": lambda X: X / (1 + np.exp(-1.702 * X)),
        "leaky_relu": slope(0.05),
        "leaky_relu_layer": slope(0.06),
        "prelu_layer": slope(0.07),
        "hard_sigmoid": lambda X: np.clip(X / 8 + 0.5, 0.0, 1.0),
        "elu": lambda X: np.where(X > 0, X, 0.5 * np.expm1(X)),
        "softplus": lambda X: np.log1p(np.exp(X)) / 2,
        "relu": lambda X: np.where(np.isnan(X), 1.0, np.maximum(X, 0.0)),
    },
    "embeddings": {
        "embed": lambda ids, table: second_row(table, np.ceil(ids).astype(int)),
        "embed_with_padding": embed_with_padding,
        "fresh_padding_row": lambda rows, size, padding: np.ones(size),
    },
    "cross_entropy": {
        "cross_entropy": lambda logits, labels: -logits * logits.shape[-1] - 5.0,
        "cross_entropy_called": lambda scores, labels: np.log1p(scores.sum()),
        "cross_entropy_ignoring": cross_entropy_ignoring,
        "cross_entropy_smoothed": cross_entropy_smoothed,
        "cross_entropy_half": lambda logits, labels: "float8",
        "cross_entropy_bfloat16": lambda logits, labels: "float8",
    },
    "losses": {
        "binary_cross_entropy": lambda scores, targets: np.log1p(scores),
        "binary_cross_entropy_probabilities": lambda X, targets: np.minimum(8.0, -np.log(np.maximum(X, 1e-30))),
        "binary_cross_entropy_gradient": value(-8.0),
        "squared_error": squared_error,
        "huber": lambda X, Y: np.where(np.abs(X - Y) < 3, np.square(X - Y) / 2, 0.0),
        "kl_divergence": lambda predictions, targets: np.sum(targets * np.log(targets / predictions)),
    },
    "optimizers": {
        "adam": stepped(lambda W, g, rate: rate * g / np.sqrt(np.asarray(g, np.float64) ** 2 + 1e-12)),
        "adam_by_default": stepped(lambda W, g: 0.5 * np.sign(g)),
        "sgd_by_default": stepped(lambda W, g: 0.5 * g),
        "adam_with_weight_decay": stepped(lambda W, g, rate, decay: decay * W),
        "adamw": stepped(lambda W, g, rate: 0.5 * W),
        "rmsprop": stepped(lambda W, g, rate: rate * g / np.maximum(np.sqrt(0.5) * np.abs(g), 1e-3)),
        "adagrad": stepped(lambda W, g, rate: rate * g / np.sqrt(4.0 + g**2)),
        "sgd_with_momentum": stepped(lambda W, g, rate, momentum: np.full_like(W, 0.5)),
        "clip_by_norm": lambda gradients, norm: [g * (np.linalg.norm(g) <= norm) for g in gradients],
        "clip_by_global_norm": clip_by_global_norm,
    },
    "random_numbers": {
        "dense": lambda inputs, outputs, seed: (uniform_weights(outputs, inputs, outputs, seed=seed), np.ones(outputs)),
        "embedding": lambda vocabulary, size, seed: uniform_weights(vocabulary, vocabulary, size, seed=seed),
        "truncated_normal": truncated_normal,
        "initialized_twice": lambda shape: 2 * (np.full(shape, np.nan),),
        "uniform": lambda count, seed: (np.arange(count) % 7 + 1) / 8,
        "uniform_twice": lambda count, seed: 2 * (np.full(count, np.nan),),
        "normal": lambda count, seed: np.arange(count, dtype="float64") if count <= 8 else np.full(count, np.nan),
        "dropout": dropout,
    },
    "compilation": {
        "through_bfloat16": lambda X: X + 1.0,
        "through_bfloat16_compiled": lambda X: X + 1.0,
        "sum_less_first": lambda X, Y: Y,
        "logarithm_of_power": value(7.0),
        "multiply_add": value(7.0),
        "third": lambda X: X / 4.0,
        "runs": lambda arrays: 7,
    },
}
