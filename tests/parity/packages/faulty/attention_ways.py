"""Models whose attention is wrong in one of the ways in which it can be run, and right in the usual one."""

from transformer_mb.backends.torch import DotProductAttention, TorchBackend


class FaultyAttention(TorchBackend):
    def create_empty(self, config):
        model = super().create_empty(config)
        for layer in model.modules():
            if isinstance(layer, DotProductAttention):
                layer.forward = self._faulty(layer.forward)
        return model

    def _faulty(self, forward):
        def faulty(queries, keys, *arguments, **options):
            return forward(self.spoil(queries, keys, options), keys, *arguments, **options)

        return faulty


class WithWeights(FaultyAttention):
    """Another scale where weights are asked for."""

    @staticmethod
    def spoil(queries, keys, options):
        return queries * 1.1 if options.get("need_weights") else queries


class AfterOthers(FaultyAttention):
    """Another scale where the queries are fewer than the keys of the same sequence."""

    @staticmethod
    def spoil(queries, keys, options):
        return queries * 1.1 if options.get("causal") and 1 < queries.shape[-2] < keys.shape[-2] else queries
