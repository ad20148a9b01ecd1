"""What only some runs do: the first turn of a loop, one of many callers, one of many instances, one side of a test."""

import pytest

from snippets import check_marks, rows

TURNS = {
    "nothing differs from turn to turn": """
        x = step(1.0)
        for _ in range(100):
            x = step(x)
            print(x)  # d2h hot
    """,
    "host data that a compiled call replaces": """
        x = np.ones(3)
        for _ in range(100):
            x = step(x)  # h2d cold
    """,
    "host data that an eager function replaces": """
        x = np.ones(3)
        while x.sum() > 0:  # d2h hot
            x = jnp.sin(x)  # h2d cold
    """,
    "a dict of host data that a compiled call replaces": """
        @jax.jit
        def learn(params, x):
            return jax.tree.map(lambda p: p + x, params)

        params = {"w": np.ones(3)}
        for n in range(100):
            params = learn(params, jnp.ones(3))  # h2d cold
    """,
    "a state of host data that a compiled call replaces": """
        from flax.training.train_state import TrainState

        class Averaged(TrainState):
            average: dict

        @jax.jit
        def learn(state, x):
            return state.apply_gradients(grads=jax.grad(lambda p: (p["w"] * x).sum())(state.params)), x.sum()

        def train(tx):
            params = {"w": np.ones(3)}
            state = TrainState.create(apply_fn=None, params=params, tx=tx)
            averaged = Averaged.create(apply_fn=None, params=params, average=params, tx=tx)
            for n in range(100):
                state, loss = learn(state, jnp.ones(3))  # h2d cold
                averaged, loss = learn(averaged, jnp.ones(3))  # h2d cold
    """,
    "host data beside a state that a compiled call replaces": """
        @jax.jit
        def learn(params, setting, x):
            return jax.tree.map(lambda p: p + x * setting["rate"], params)

        params, setting = {"w": np.ones(3)}, {"rate": np.ones(3)}
        for n in range(100):
            params = learn(params, setting, jnp.ones(3))  # h2d hot
    """,
    "a state that gets host data at each turn": """
        from flax.training.train_state import TrainState

        @jax.jit
        def learn(state, x):
            return state.apply_gradients(grads=jax.grad(lambda p: (p["w"] * x).sum())(state.params))

        def train(tx):
            state = TrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=tx)
            for n in range(100):
                state = state.replace(params={"w": np.ones(3)})
                state = learn(state, jnp.ones(3))  # h2d hot
    """,
    "host data that comes back at each turn": """
        x = np.ones(3)
        for _ in range(100):
            x = np.asarray(step(x))  # h2d hot, d2h hot
    """,
    "host data in a carried tuple": """
        carry = (np.ones(3), step(1.0))
        for _ in range(100):
            carry = jax.lax.scan(lambda c, _: (c, None), carry, None, 3)[0]  # h2d cold
    """,
    "what an unknown function gives back is taken for what there was": """
        def play(env):
            observation = np.ones(3)
            while True:
                action = step(observation)  # h2d hot
                observation, done = env.step(action)
                if done:
                    break
    """,
    "an array that stays has its host copy after the first turn": """
        x = step(1.0)
        for _ in range(100):
            print(x)  # d2h cold
    """,
    "an array that an inner loop fetches has its host copy in the next turn of the outer one": """
        x = step(1.0)
        for _ in range(100):
            for _ in range(3):
                print(x)  # d2h cold
    """,
    "rows are other arrays at each turn": """
        x, y = step(jnp.ones((3, 2))), step(jnp.ones(3))
        for row, item in zip(x, y):
            print(row)  # d2h hot
            print(item)  # d2h hot
    """,
    "leaves are other arrays at each turn": """
        for a, b in zip(jax.tree.leaves(step(jnp.ones(3))), jax.tree.leaves(step(jnp.ones(3)))):
            np.testing.assert_allclose(a, b)  # d2h periodic
    """,
    "a call that only the first turn makes with host data": """
        def show(x):
            print(jnp.sin(x))  # h2d cold, d2h hot

        x = np.ones(3)
        for _ in range(100):
            show(x)
            x = step(1.0)
    """,
    "a loop that leaves in its first turn": """
        for n in range(100):
            x = step(1.0)
            print(x)  # d2h cold
            break
    """,
    "what was made before the loop is known to be made inside of the trace": """
        def make():
            return []

        @jax.jit
        def traced(x):
            made = make()
            for _ in range(3):
                made.append(x)
            return made
    """,
    "an inner loop starts anew at each turn of the outer one": """
        for _ in range(100):
            x = np.ones(3)
            for _ in range(100):
                x = step(x)  # h2d hot
    """,
}
TURN_GAPS: dict[str, str] = {}

CALLERS = {
    "items and leaves are as rare as the step that they belong to": """
        def show(values):
            for name, value in values.items():
                print(name, value)  # d2h periodic

        def show_all(values):
            for name, value in values.items():
                print(name, value)  # d2h hot

        def check(values):
            jax.tree.map(np.testing.assert_allclose, values, values)  # d2h periodic

        def save(values):
            for name, value in values.items():
                for row in range(100):
                    print(value + row)  # d2h hot

        for n in range(100):
            metrics = {"loss": step(n), "accuracy": step(-n)}
            show_all({"loss": step(n + 1)})
            if n % 10 == 0:
                show(metrics)
                check({"loss": step(n + 2), "accuracy": step(n + 3)})
                save({"loss": step(n + 4), "accuracy": step(n + 5)})
    """,
    "a map over a list that is written there": """
        for n in map(jnp.sin, [np.ones(3), np.ones(4)]):  # h2d cold
            pass
        for n in filter(jnp.any, [np.ones(3), np.ones(4)]):  # h2d cold, d2h cold
            pass
        for n in map(jnp.sin, [np.ones(n) for n in range(100)]):  # h2d hot
            pass
    """,
    "leaves are as rare as the step that they belong to": """
        x = step(jnp.ones(3))
        for n in range(100):
            x = step(x)
            if n % 10 == 0:
                for a, b in zip(jax.tree.leaves({"x": x}), jax.tree_util.tree_leaves({"x": x})):
                    print(a + b)  # d2h periodic
    """,
    "a loop that turns once": """
        from tqdm import tqdm
        for n in range(1):
            print(step(n))  # d2h cold
        for n in tqdm(range(1), desc="once"):
            print(step(n))  # d2h cold
        for n in tqdm(range(2)):
            print(step(n))  # d2h hot
    """,
    "items of a file of data": """
        import h5py
        for name, value in h5py.File("data").items():
            step(np.asarray(value))  # h2d hot
        for n, (name, value) in enumerate(h5py.File("data").items()):
            step(np.asarray(value))  # h2d hot
    """,
    "items that belong to no step": """
        def show(values):
            for name, value in values.items():
                print(name, value)  # d2h periodic

        show({"loss": step(1.0), "accuracy": step(2.0)})
    """,
    "a constructor beyond the eighth compiles one instance's own method": """
        class Solver:
            def __init__(self, jit):
                if jit:
                    self.update = jax.jit(self.update)

        class Plain(Solver):
            def update(self, x):
                return jnp.sin(x)

        class Other(Solver):
            def update(self, x):
                return jnp.cos(x)

        def solve(x):
            solvers = [
                Plain(True), Plain(True), Plain(True), Plain(True), Plain(True), Plain(True), Plain(True), Plain(True),
                Other(False), Other(False), Other(False),
            ]
            fast, slow = Plain(True), Other(False)
            for _ in range(100):
                print(fast.update(jnp.ones(3)))  # d2h hot
                slow.update(jnp.ones(3))
            return solvers
    """,
    "a function that only a cold caller of many brings": """
        def apply(function, x):
            return function(x)

        def one(x):
            return jnp.sin(np.ones(3)) + x  # h2d cold

        def other(x):
            return x

        for _ in range(100):
            apply(other, step(1.0))
        apply(lambda x: x + 1, 1); apply(lambda x: x + 2, 1); apply(lambda x: x + 3, 1); apply(lambda x: x + 4, 1)
        apply(lambda x: x + 5, 1); apply(lambda x: x + 6, 1); apply(lambda x: x + 7, 1); apply(lambda x: x + 8, 1)
        apply(one, step(1.0))
    """,
    "what is sure of a cold call says nothing of a hot one": """
        def show(x):
            return jnp.sin(x)  # h2d cold

        show(np.ones(3))
        for _ in range(100):
            show(jnp.ones(3))
    """,
    "a tree of one leaf is no loop": """
        def double(x):
            return jnp.sin(x)  # h2d cold

        jax.tree.map(double, np.ones(3))
        jax.tree.map(double, (np.ones(3), np.ones(4)))
    """,
    "a loop over a list of few literals by its name is not hot": """
        names, sizes = ["a", "b"], [[1, 2], [3, 4]]
        for name, many in zip(names, sizes):
            for size in many:
                print(step(size))  # d2h cold
    """,
    "what is shown to a function that only raises": """
        def fail(text):
            raise ValueError(text)

        for n in range(100):
            x = step(n)
            if n > 50:
                fail(f"{x} is too much")  # d2h cold
    """,
    "all turns but one of n": """
        def train(x, n):
            for i in range(100):
                x = step(x)
                if i % n < n - 1:
                    print(x)  # d2h hot
                else:
                    print(x)  # d2h periodic
    """,
    "a list that grows is": """
        names = ["a", "b"]
        while len(names) < 100:
            names.append(input())
        for name in names:
            print(step(1.0))  # d2h hot
    """,
    "a list to which one more item is added is not": """
        def run(fine):
            steps = [1, 4, 32]
            if fine:
                steps.append(128)
            for n in steps:
                print(step(n))  # d2h cold
        run(flag)
    """,
    "a list that somebody else may add to is": """
        def run(find):
            names = ["a", "b"]
            names.append("c")
            find(names)
            for name in names:
                print(step(1.0))  # d2h hot
        run(find)
    """,
    "a list of the module is not": """
        NAMES = ["a", "b"]

        def run():
            for name in NAMES:
                print(step(1.0))  # d2h cold
        run()
    """,
    "a list of the module that grows is": """
        names = ["a", "b"]

        def add(name):
            names.append(name)

        def run():
            for name in names:
                print(step(1.0))  # d2h hot
        run()
    """,
}
CALLER_GAPS: dict[str, str] = {}

TESTS = {
    "a test for tracers in a function of its own": """
        def has_tracers(tree):
            '''Whether it holds any.'''
            return any(isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves(tree))

        def check(x, y):
            if has_tracers((x, y)):
                return
            print(float(x))  # d2h

        @jax.jit
        def traced(x):
            check(x, x)
            return x

        traced(1.0)
        check(step(1.0), step(2.0))
    """,
    "a test for tracers in place": """
        @jax.jit
        def traced(x):
            if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(x)):
                return x
            return float(x)
    """,
    "a test that a lambda makes": """
        is_host = lambda x: isinstance(x, np.ndarray)

        def upload(x):
            return x if is_host(x) else np.asarray(x)

        upload(np.ones(3))
        upload(step(1.0))
    """.replace("np.asarray(x)\n", "np.asarray(x)  # d2h\n"),
    "another test opens nothing": """
        def is_ready(x):
            return x is not None

        @jax.jit
        def traced(x):
            if is_ready(x):
                return float(x)  # tracer
            return x
    """,
    "a test that asks itself ends": """
        def deep(x):
            return deep(x)

        def f(x):
            if deep(x):
                print(step(x))  # d2h
    """,
    "the type of a number is not that of an array": """
        def scale(x):
            if type(x) == float:
                return jnp.ones(3) * x
            return jnp.sin(x)  # h2d

        scale(0.5)
        scale(np.ones(3))
    """,
    "what is not of a type may be anything else": """
        def scale(x):
            if type(x) is not float:
                return jnp.sin(x)  # h2d
            return x

        scale(np.ones(3))
    """,
    "None is found by identity": """
        box = [step(1.0), None]
        if None in box:
            box.remove(None)
        if step(2.0) in box:  # d2h
            pass
    """,
    "what a field is given goes through its converter": """
        import equinox

        class Model(equinox.Module):
            times: jax.Array = equinox.field(converter=jnp.asarray)
            host: np.ndarray

        model = Model(np.ones(3), host=np.ones(3))
        jnp.sin(model.times)
        jnp.sin(model.host)  # h2d
    """.replace("Model(np.ones(3), host=np.ones(3))", "Model(np.ones(3), host=np.ones(3))  # h2d"),
    "what is no child of a tree stays a number": """
        @jax.tree_util.register_pytree_node_class
        class Grid:
            def __init__(self, x, size):
                self._x = x
                self.size = size
                self.kwargs = {"size": size}

            @property
            def x(self):
                return self._x

            def tree_flatten(self):
                children = (self.x,)
                return children, self.kwargs

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, **aux)

        @jax.jit
        def run(grid):
            for n in range(grid.size):
                float(grid.x)  # tracer
            return grid

        run(Grid(jnp.ones(3), 3))
    """,
    "what a class sets besides its fields is no leaf": """
        class Base:
            limits: tuple = ()

            def __init__(self, x, count):
                self.x = x
                self.count = count

        moved = jax.tree.map(lambda a: jnp.sin(a), Base(jnp.ones(3), 3))
        if moved.count > 2:
            print(moved.x)  # d2h
    """,
    "a leaf that the program names may be no array": """
        class Term:
            def prod(self, x):
                return x

        @jax.jit
        def run(x):
            return jax.tree.map(lambda t, y: t.prod(y), Term(), x, is_leaf=lambda t: isinstance(t, Term))
    """,
    "what lies at a leaf of the first tree may be a tree": """
        class Term:
            def __init__(self, x):
                self.x = x

            def prod(self, x):
                return x

        @jax.jit
        def run(flags, x):
            return jax.tree.map(lambda _, t, y: t.prod(y), flags, Term(x), x)
    """,
    "what failed has its host copy when a handler shows it": """
        for n in range(100):
            x = step(n)
            try:
                np.testing.assert_allclose(x, 1.0)  # d2h hot
            except AssertionError:
                print(x)
    """,
    "a mask that picks keeps its host copy": """
        for n in range(100):
            x, p = step(jnp.ones(3)), np.ones(3)
            mask = x > 1
            y = x[mask]  # d2h hot, h2d hot
            z = x[mask]  # h2d hot
            q = p[mask]
            w = x.at[mask].set(0)  # h2d hot
            print(mask)
    """,
    "what only some positions come of keeps no host copy": """
        for n in range(100):
            mask = step(jnp.ones(3)) > 1
            a = jnp.nonzero(mask)  # d2h hot
            b = jnp.nonzero(mask)  # d2h hot
            print(mask)  # d2h hot
            c = jnp.where(mask)  # d2h hot
    """,
    "what is fetched by name is paid for": """
        for n in range(100):
            x = step(n)
            jax.device_get(x)
            np.asarray(x)
    """,
}
TEST_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(TURNS, TURN_GAPS))
def test_turns_of_a_loop(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(CALLERS, CALLER_GAPS))
def test_callers(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(TESTS, TEST_GAPS))
def test_tests_that_narrow(text: str) -> None:
    check_marks(text)
