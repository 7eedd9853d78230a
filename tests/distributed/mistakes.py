"""What goes wrong where training in several processes goes wrong, planted: each must be seen."""

from transformer_mb.distributed import share

CLIP_NORM = 0.5

MISTAKES = ("mean of each process", "mean of the engine", "clipped before the sum", "rows lost", "width of each process")


class Wrapped:
    """Processes whose reduction of gradients is another."""

    def __init__(self, processes, reduce):
        self.inner, self.reduce = processes, reduce

    def __getattr__(self, name):
        return getattr(self.inner, name)


def factor(parts, clip_norm=CLIP_NORM):
    return min(1.0, clip_norm / max(sum(float((part * part).sum()) for part in parts) ** 0.5, 1e-30))


def of_tensorflow(parts, clip_norm=CLIP_NORM):
    """Amid a compiled step, where nothing has a value yet."""
    import tensorflow as tf

    return tf.minimum(tf.ones([], parts[0].dtype), clip_norm / (tf.linalg.global_norm(parts) + 1e-30))


def planted(mistake, processes):
    """A share, processes and options with one mistake."""

    def other_share(*arguments):
        mine = share(*arguments)
        lengths = mine.batch.target_valid_lens
        if mistake == "mean of each process":
            return mine._replace(weight=1.0 / processes.size)
        if mistake == "rows lost" and processes.rank == 1:
            return mine._replace(batch=mine.batch._replace(target_valid_lens=0 * lengths))
        if mistake == "width of each process":
            return mine._replace(weight=mine.weight * mine.batch.target_out.shape[1] / max(int(lengths.max()), 1))
        return mine

    def reduce(gradients):
        parts, by = gradients if isinstance(gradients, list) else [gradients], 1.0
        if mistake == "mean of the engine":
            by = 1.0 / processes.size
        if mistake == "clipped before the sum":
            by = (of_tensorflow if "tensorflow" in type(parts[0]).__module__ else factor)(parts)
        if "torch" in type(parts[0]).__module__:  # sums in place
            for part in parts:
                part *= by
            return processes.reduce(gradients)
        scaled = [part * by for part in parts]
        return processes.reduce(scaled if isinstance(gradients, list) else scaled[0])

    changes = {"clip_norm": None} if mistake == "clipped before the sum" else {}
    return other_share, Wrapped(processes, reduce), changes
