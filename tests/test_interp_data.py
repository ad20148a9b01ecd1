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
    "what may be absent and is asked whether it is there": """
        def better(params, n):
            return params if n else None

        for n in range(9):
            best = better(step(1.0), len(jax.devices()))
            if best:
                print(n)
    """,
}
BATCH_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(BATCHES, BATCH_GAPS))
def test_batches(text: str) -> None:
    check_marks(text)
