"""Collections of metrics, as clu has them."""

import pytest

from snippets import check_marks, rows

METRICS = {
    "sums stay on the device until they are asked for": """
        import flax
        from clu import metrics

        @flax.struct.dataclass
        class Train(metrics.Collection):
            loss: metrics.Average.from_output("loss")

        @jax.jit
        def train(x):
            return Train.single_from_model_output(loss=x.sum())

        total = Train.empty()
        for i in range(9):
            total = total.merge(train(step(jnp.ones(3))))
        print(total.compute()["loss"])  # d2h
        print(total.reduce().compute()["loss"])  # d2h
    """,
    "what is collected is fetched where it is merged": """
        import flax
        from clu import metrics

        @flax.struct.dataclass
        class Outputs(metrics.CollectingMetric.from_outputs(("labels", "logits"))):
            def compute(self):
                values = super().compute()
                return np.median(values["labels"]), jax.nn.sigmoid(values["logits"])  # h2d

        @flax.struct.dataclass
        class Eval(metrics.Collection):
            loss: metrics.Average.from_output("loss")
            outputs: Outputs

        @jax.jit
        def evaluate(x):
            return Eval.single_from_model_output(loss=x.sum(), labels=x, logits=x)

        total = None
        for i in range(9):
            update = evaluate(step(jnp.ones(3)))
            total = update if total is None else total.merge(update)  # d2h hot
        total.compute()
    """,
    "unless it was fetched before": """
        import flax
        from clu import metrics

        @flax.struct.dataclass
        class Eval(metrics.Collection):
            outputs: metrics.CollectingMetric.from_outputs(("labels", "logits"))

        @jax.jit
        def evaluate(x):
            return Eval.single_from_model_output(labels=x, logits=x)

        total = Eval.empty()
        for i in range(9):
            total = total.merge(jax.device_get(evaluate(step(jnp.ones(3)))))
        for i in range(9):
            total = total.merge(evaluate(step(jnp.ones(3))))  # d2h hot
    """,
    "of what is not known nothing is said": """
        import flax, store
        from clu import metrics

        @flax.struct.dataclass
        class Eval(metrics.Collection):
            outputs: metrics.CollectingMetric.from_outputs(("labels", "logits"))

        total = Eval.empty()
        for i in range(9):
            total = total.merge(store.read(i)).merge(1)
    """,
    "a metric of the project merges as it says": """
        import flax
        from clu import metrics

        @flax.struct.dataclass
        class Rows(metrics.CollectingMetric.from_outputs(("labels",))):
            def merge(self, other):
                return self

        @flax.struct.dataclass
        class Eval(metrics.Collection):
            rows: Rows

        @jax.jit
        def evaluate(x):
            return Eval.single_from_model_output(labels=x)

        total = Eval.empty()
        for i in range(9):
            total = total.merge(evaluate(step(jnp.ones(3))))
    """,
}


@pytest.mark.parametrize("text", rows(METRICS, {}))
def test_collections_of_metrics(text: str) -> None:
    check_marks(text)
