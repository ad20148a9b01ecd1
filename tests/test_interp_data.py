"""Data: what iterators of data sets and of replay bring, and the functions of libraries that move it."""

import pytest

from snippets import check_marks, rows

BATCHES = {
    "an iterator of a data set that nothing is known of": """
        import mylab

        class Learner:
            def __init__(self, where):
                self._iterator = mylab.open(where).as_numpy_iterator()
                self._params = jnp.ones(3)

                @jax.jit
                def update(params, batch):
                    return params + batch.data.observation

                self._update = update

            def update(self):
                batch = next(self._iterator)
                self._params = self._update(self._params, batch=batch)  # h2d
                self._params = self._update(self._params, batch.data)  # h2d

        learner = Learner("here")
        while True:
            learner.update()
    """,
    "replay of acme": """
        from acme import datasets
        from acme.jax import utils

        data = datasets.make_reverb_dataset(server_address="here").as_numpy_iterator()
        for batch in data:
            x = step(batch)  # h2d
            print(utils.to_numpy({"x": x}))  # d2h
        for batch in utils.prefetch(data):
            step(batch)  # h2d
        for batch in utils.prefetch(data, device=jax.devices()[0]):
            step(batch)
        for batch in utils.multi_device_put(data, jax.devices()):
            step(batch)
        y = utils.replicate_in_all_devices(step(1.0))
        print(utils.get_from_first_device(y))
        print(utils.get_from_first_device(y, as_numpy=False))  # d2h
        print(utils.add_batch_dim(np.ones(3)))  # h2d, d2h
    """,
    "distributions": """
        import distrax
        import tensorflow_probability as tfp
        tfd = tfp.experimental.substrates.jax.distributions

        a = np.ones(3)
        d = distrax.Normal(a, a)
        print(d.sample(seed=jax.random.key(0)))  # d2h
        t = tfd.Uniform(low=a, high=a)  # h2d
        print(t.sample(seed=jax.random.key(0)))  # d2h
    """,
    "an experiment of jaxline": """
        from jaxline import experiment, utils

        class Experiment(experiment.AbstractExperiment):
            def __init__(self, mode, init_rng=None):
                super().__init__(mode=mode, init_rng=init_rng)
                self._input = utils.py_prefetch(self._build)
                self._params = utils.bcast_local_devices(jnp.ones(3))
                self._update = jax.pmap(self._learn, axis_name="i")

            def _build(self):
                for n in range(10):
                    yield np.ones(n)

            def _learn(self, params, batch, rng):
                return params, {"loss": batch.sum(), "rng": rng}

            def step(self, global_step, rng, writer, **unused):
                self._params, scalars = self._update(self._params, next(self._input), rng)  # h2d hot
                scalars = utils.get_first(scalars)
                print(scalars["loss"])  # d2h hot
                return scalars

            def evaluate(self, global_step, rng, writer, **unused):
                global_step = utils.get_first(global_step)
                print(f"{global_step}")  # d2h hot
                print("step", global_step)
                return None

        Experiment("train").step(1, jnp.ones(3), None)
    """,
    "an experiment of jaxline that is made for other modes than a test's": """
        from jaxline import experiment

        class Base(experiment.AbstractExperiment):
            def evaluate(self, global_step, rng, writer):
                for _ in range(10):
                    out = self._evaluate(np.ones(3), rng)  # h2d hot
                return out

        class Experiment(Base):
            def __init__(self, mode, init_rng):
                super().__init__(mode=mode)
                self.mode = mode
                if mode == "train":
                    self._update = jax.pmap(self._update)
                else:
                    self._evaluate = jax.jit(self._evaluate)

            def _update(self, batch):
                return jnp.equal(batch, np.ones(3))

            def _evaluate(self, batch, rng):
                return jnp.equal(batch, np.ones(3))

            def step(self, global_step, rng, writer):
                return self._update(np.ones(3))  # h2d hot

        Experiment("train", jnp.ones(3))
    """,
    "a learner that acme drives": """
        import acme

        class Learner(acme.core.Learner):
            def __init__(self, data):
                self.loss = step(1.0)

            def step(self):
                self.loss = step(self.loss)
                print(self.loss)  # d2h hot

            def get_variables(self, names):
                return [np.asarray(self.loss)]  # d2h cold
    """,
    "an actor that acme drives": """
        import acme

        class Actor(acme.Actor):
            def __init__(self):
                self.policy = jax.jit(lambda x: x + 1)

            def select_action(self, observation):
                return np.asarray(self.policy(observation))  # h2d hot, d2h hot
    """,
    "an environment that somebody else drives": """
        import gymnasium

        class Env(gymnasium.Env):
            def step(self, action):
                print(step(1.0))  # d2h hot
    """,
    "an environment of functions, and one whose step is compiled": """
        import functools
        import gymnasium

        class Env(gymnasium.Env):
            def step(self, state, action):
                return jnp.add(state, np.ones(3))

        class Compiled(gymnasium.Env):
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, action):
                return jnp.add(action, np.ones(3))

        steps = jax.jit(jax.vmap(Env().step))
        for n in range(9):
            steps(jnp.ones(3), jnp.ones(3))
    """,
    "a method of the same name that no library asks for": """
        class Env:
            def step(self, action):
                print(step(1.0))  # d2h cold
    """,
    "batches that dm-tree makes of several, and that can be looked at before": """
        import more_itertools
        import tree

        def stack(arrays):
            return np.stack(arrays)

        def batches(several):
            for examples in several:
                yield tree.map_structure(lambda *args: stack(args), *examples)

        def main(several):
            for batch in batches(several):
                x = step(batch)  # h2d hot
                tree.map_structure(np.asarray, {"x": x})  # d2h hot
            data = more_itertools.peekable(batches(several))
            while True:
                y = {"y": step(next(data))}  # h2d hot
                for leaf in tree.flatten(y):
                    print(leaf)  # d2h
    """,
    "trees of a list that others fill": """
        def main(fill):
            found = []
            fill(found)
            y = jax.tree.map(lambda *x: jnp.concatenate(x), *found)
            print(y)  # d2h
    """,
    "two trees that are made of the trees of a list": """
        @jax.jit
        def evaluate(x):
            return {"loss": x.mean()}

        def main(batches):
            kept = [evaluate(batch) for batch in batches]
            mean = jax.tree.map(lambda *x: jnp.mean(jnp.stack(x)), *kept)
            most = jax.tree.map(lambda *x: jnp.max(jnp.stack(x)), *kept)
            print(mean["loss"])  # d2h
            print(most["loss"])  # d2h
            print(kept[0]["loss"])  # d2h
            for n in range(9):
                mean = jax.tree.map(lambda *x: jnp.mean(jnp.stack(x)), *kept)
                print(mean["loss"])  # d2h hot

        main([jnp.ones(3)])
    """,
    "sums of trees": """
        acc = {"sum": np.zeros(3), "n": 0}
        for n in range(9):
            acc = jax.tree.map(lambda a, b: a + b, acc, {"sum": step(n), "n": 1})  # h2d cold
        print(acc)  # d2h
    """,
    "trees of a list that are stacked": """
        @jax.jit
        def evaluate(x):
            return {"loss": x.mean()}

        def main(batches):
            kept = []
            for batch in batches:
                kept.append(jax.device_get(evaluate(batch)))
            print(jax.tree.map(lambda *args: np.stack(args), *kept))
            print(jax.tree.map(lambda *args: jnp.stack(args), *kept))  # h2d, d2h
            print(jax.tree.map(lambda *args: jnp.stack(args), *[{"a": np.ones(3)}, {"a": np.ones(3)}]))  # h2d, d2h

        main([jnp.ones(3)])
    """,
    "what is restored from bytes": """
        import flax.serialization

        def restore(path, like=None):
            with open(path, "rb") as f:
                return flax.serialization.from_bytes(like, f.read())

        params = restore("a")
        others = restore("b", {"w": jnp.ones(3)})
        for _ in range(9):
            step(params)  # h2d hot
            step(others)  # h2d hot
    """,
    "a method of a writer that is taken away in one case": """
        from flax.metrics import tensorboard

        writer = tensorboard.SummaryWriter("here")
        if jax.process_index():
            writer.scalar = lambda *args: None
        for n in range(9):
            writer.scalar("loss", step(n), n)  # d2h hot
    """,
    "a tree that may be absent and is asked whether it is there": """
        import mylab

        @jax.jit
        def learn(params):
            return {"params": mylab.descend(params), "loss": 0.0}

        def better(state, n):
            return state["params"] if n else None

        for n in range(9):
            best = better(learn(mylab.load()), len(jax.devices()))
            if best:
                print(n)
    """,
    "a flag that may be absent": """
        stop = None
        for n in range(9):
            if stop:  # d2h hot
                break
            stop = step(n) > 2
    """,
}
BATCH_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(BATCHES, BATCH_GAPS))
def test_batches(text: str) -> None:
    check_marks(text)
