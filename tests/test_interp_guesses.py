"""Where a finding rests on one reading among several it is no finding by default; where it is sure it is one."""

import pytest

from snippets import check_marks, rows

GUESSES = {
    "a keyword of an unknown name": """
        def rotate(image, angle=0.0, fill=0.0):
            return jnp.sin(image) * fill

        def check(**ranges):
            name, _ = list(ranges.items())[0]
            rotate(step(1.0), **{name: np.ones(3)})

        check(angle=(0, 1))
    """,
    "an item under a text: of a dict, whatever else is known": """
        def pad(batch):
            batch = jax.tree.map(np.asarray, batch)
            batch["mask"] = step(1.0)
            return batch

        for batch in read():
            pad(batch)
    """,
    "an item under a number": """
        def pad(batch):
            batch = np.zeros(len(batch))
            batch[0] = step(1.0)  # d2h hot
            return batch

        for batch in read():
            pad(batch)
    """,
    "an array of this library": """
        def show(rows):
            for row in rows:
                if isinstance(row, jax.Array):
                    print(np.asarray(row.flatten()))  # d2h
    """,
    "what a setting moves to the device": """
        import flax

        def read(settings):
            batches = iter(load())
            batches = map(lambda b: {"x": np.asarray(b)}, batches)
            if settings.get("prefetch"):
                batches = flax.jax_utils.prefetch_to_device(batches, 2)
            return batches

        for batch in read(settings):
            step(batch)
    """,
    "what nothing moves to the device": """
        def read(settings):
            batches = iter(load())
            return map(lambda b: {"x": np.asarray(b)}, batches)

        for batch in read(settings):
            step(batch)  # h2d hot
    """,
    "where an array of another library lies": """
        from torch.utils.dlpack import to_dlpack

        for t in tensors:
            print(jax.dlpack.from_dlpack(to_dlpack(t)))
    """,
    "a keyword of a known name": """
        def rotate(image, fill=0.0):
            return jnp.sin(image) * fill  # h2d

        rotate(step(1.0), **{"fill": np.ones(3)})
    """,
    "an item among others whose number is not known": """
        def train(n, states):
            return n + 1, *step(states)

        def run(states):
            n, state = train(0, states)
            print(n)
    """,
    "an item among the like": """
        def train(states):
            return step(1.0), *step(states)

        def run(states):
            n, state = train(states)
            print(n)  # d2h
    """,
    "the truth of what may be a dict": """
        def ask(parts):
            return [part for part in parts if part]

        ask([step(1.0), {"scale": step(2.0)}])
    """,
    "the truth of what is an array": """
        def ask(parts):
            return [part for part in parts if part]  # d2h

        ask([step(1.0), step(2.0)])
    """,
    "a tracer as the index of what may be on the device": """
        class Domain:
            def __init__(self, parallel):
                self.parallel = parallel
                sizes = np.ones(3)
                if parallel:
                    sizes = step(sizes)  # h2d
                self.sizes = sizes

            def size(self, i):
                return self.sizes[i]

        domain = Domain(flag)
        jax.jit(domain.size)(1)
    """,
    "a tracer as the index of a NumPy array": """
        sizes = np.ones(3)

        @jax.jit
        def size(i):
            return sizes[i]  # tracer

        size(1)
    """,
    "a literal number is no list": """
        def noise(sigma):
            if isinstance(sigma, list):
                return jnp.array([s for s in sigma])
            return sigma

        for _ in range(100):
            noise(0.26)
    """,
    "an array and what is no operand": """
        empty = dict

        def ask(x):
            return 1 if x == empty else 2 if x != None else 3

        ask(step(1.0))
    """,
    "the special method of an array": """
        def walk(tree):
            if getattr(tree, "__getitem__", None):
                return 1

        walk(step(1.0))
    """,
    "compiled all the same": """
        @jax.jit
        def add(x):
            return x + np.ones(3)

        with jax.disable_jit(False):
            add(step(1.0))
    """,
    "not compiled": """
        @jax.jit
        def add(x):
            return x + np.ones(3)  # h2d

        with jax.disable_jit():
            add(jnp.sin(1.0))
    """,
    "what a dict of settings got under some other key": """
        settings = {"copies": 1, "crop": None}

        def change(**given):
            for key in given:
                settings[key] = given[key]

        change(crop=step(1.0))
        print(settings["copies"])
    """,
    "a copy of a tree, into which something else is put": """
        settings = {"rate": np.ones(3), "step": step(1.0)}
        mine = jax.tree.map(lambda x: x, settings)
        mine["rate"] = step(2.0)
        other = settings.copy()
        other["rate"] = step(3.0)
        print(settings["rate"])
        print(mine["step"])  # d2h
    """,
    "a key of a tree whose branches may be arrays": """
        def put(tree, path, value):
            branch = tree
            for key in path[:-1]:
                if key not in branch:
                    branch[key] = {}
                branch = branch[key]
            branch[path[-1]] = value

        put({}, source().split("/"), step(1.0))
    """,
    "a sum under each key": """
        sums = {"loss": 0.0, "accuracy": 0.0}
        for key, value in read():
            sums[key] += step(value)
        print(sums["loss"])  # d2h
    """,
    "what may be NumPy with what may be on the device": """
        scale = np.ones(3) if flag else 1.0
        x = step(1.0) if flag else 2.0
        x * scale
    """,
    "what is NumPy with what may be on the device": """
        x = step(1.0) if flag else 2.0
        x * np.ones(3)  # h2d
    """,
    "a mask for what may be on the device": """
        x = step(jnp.ones(3))
        x = x.numpy() if hasattr(x, "numpy") else x
        y = source().numpy()
        z = step(1.0).numpy()
        print(y[np.ones(3, bool)], z[np.ones(3, bool)])
    """,
    "a list is a list": """
        def noise(sigma):
            if isinstance(sigma, list):
                return jnp.array([s for s in sigma])  # h2d hot
            return sigma

        for _ in range(100):
            noise([0.26, 0.3])
    """,
    "an argument of many, where the parameter has a default": """
        def apply(x, y, train=False):
            if train:
                return x
            return y

        def run(batches):
            apply(*[step(batch) for batch in batches])
    """,
    "the truth of what is used as a dict": """
        def split(variables):
            if variables:
                return [name for name, _ in variables.items()]

        split(model.init(step(1.0)))
        split(step(1.0))
    """,
    "a key of what is indexed by it": """
        def merge(old, new):
            for name, value in new.items():
                if name in old and isinstance(old[name], dict):
                    merge(old[name], value)

        merge(step(1.0), step(2.0))
    """,
    "the truth of what is indexed by numbers": """
        def first(values, n):
            return values[n] if values else None  # d2h

        first(step(1.0), 0)
    """,
}


@pytest.mark.parametrize("text", rows(GUESSES, {}))
def test_of_several_readings_none_is_reported(text: str) -> None:
    check_marks(text)
