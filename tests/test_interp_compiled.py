"""Compiled callables in every form that people write, and what is traced: there arrays are tracers."""

import pytest

from jaxlint.sites import Confidence
from snippets import PRELUDE, check, check_marks, rows

COMPILED = {
    "a name that is given its compiled form": """
        def shift(x, n):
            return x + jnp.array([n] * 3)

        def update(x, n):
            return shift(x, n)

        update = jax.jit(update, static_argnums=1)

        def run():
            def again(x):
                return update(x, 3)

            for _ in range(10):
                again(jnp.ones(3))

        run()
    """,
    "a name that is given its compiled form if somebody wants it": """
        def shift(x, n):
            return x + jnp.array([n] * 3)  # h2d

        if flag:
            shift = jax.jit(shift, static_argnums=1)

        def run():
            shift(jnp.ones(3), 3)

        run()
    """,
    "a call": """
        f = jax.jit(lambda x: x + 1)
        print(f(1.0))  # d2h
    """,
    "settings under names that are not known": """
        def pick(x, n):
            if n == 1:
                return x
            if x > 1:  # tracer
                return x
        name = "static_argnums" if jax.device_count() == 1 else "static_broadcasted_argnums"
        jax.jit(pick, **{name: 1})(step(1.0), 0)
    """,
    "a filtered transform leaves alone what is no array": """
        import equinox as eqx
        class Model(eqx.Module):
            weights: jax.Array
            shape: tuple[int, ...]
            def __init__(self, key):
                self.weights = jax.random.normal(key, (3,))
                self.shape = (3, 4)
        @eqx.filter_jit
        def update(model):
            return model
        many = eqx.filter_vmap(Model)(jax.random.split(jax.random.key(0), 5))
        jnp.zeros(many.shape)
        jnp.zeros(update(many).shape)
        print(many.weights)  # d2h
        print(update(many).weights)  # d2h
        @eqx.filter_vmap
        def pick(x, n, k):
            if n > 2:
                return x[:k]
            if x > 1:  # tracer
                return x
        pick(step(jnp.ones(3)), 2, 3)
    """,
    "what the compiled function never asks for stays where it is": """
        def learn(state, batch):
            return state + 1
        def deleted(state, batch):
            del batch
            return state + 1
        def with_inner(state, batch):
            return (lambda: state + batch)()
        x = step(jnp.ones(3))
        jax.jit(learn)(x, np.ones(3))
        jax.jit(learn)(x, batch=np.ones(3))
        jax.jit(deleted)(x, np.ones(3))
        jax.jit(learn, keep_unused=True)(x, np.ones(3))  # h2d
        jax.pmap(learn)(x[None], np.ones((1, 3)))
        jax.jit(with_inner)(x, np.ones(3))  # h2d
    """,
    "what stands behind a tracer that is asked for its truth": """
        @jax.jit
        def check(x):
            if jnp.min(x) < 0 or float(x[0]) > 1:  # tracer
                raise ValueError
            return x
        check(step(jnp.ones(3)))
    """,
    "a call at once": """
        print(jax.jit(lambda x: x + 1)(1.0))  # d2h
        print(jax.jit(jnp.sin)(1.0))  # d2h
    """,
    "a decorator": """
        @jax.jit
        def f(x):
            return x
        print(f(1.0))  # d2h
    """,
    "a decorator with options": """
        @jax.jit(static_argnums=1)
        def f(x, n):
            return x * n
        print(f(1.0, 2))  # d2h
    """,
    "partial as a decorator": """
        from functools import partial
        @partial(jax.jit, static_argnums=(1,))
        def f(x, n):
            if n > 1:
                return x
            return x * 2
        print(f(1.0, 2))  # d2h
    """,
    "partial by names": """
        import functools
        @functools.partial(jax.jit, static_argnames=("n", "flag"), donate_argnums=0)
        def f(x, n, flag=True):
            for i in range(n):
                x = x + 1
            return x if flag else x * 2
        print(f(1.0, n=3))  # d2h
    """,
    "one static name": """
        from functools import partial
        @partial(jax.jit, static_argnames="mode")
        def f(x, mode):
            if mode == "a":
                return x
            return x * 2
        print(f(1.0, "a"))  # d2h
    """,
    "a partial that is kept": """
        from functools import partial
        my_jit = partial(jax.jit, static_argnums=1)
        @my_jit
        def f(x, n):
            if n:
                return x
            return x * 2
        print(f(1.0, 2))  # d2h
    """,
    "a static argument from the end": """
        from functools import partial
        @partial(jax.jit, static_argnums=-1)
        def f(x, n):
            if n:
                return x
            return x * 2
        print(f(1.0, 2))  # d2h
    """,
    "a partial of a compiled function": """
        from functools import partial
        f = partial(step, 1.0)
        print(f())  # d2h
        g = jax.jit(partial(lambda a, b: a + b, 1.0))
        print(g(2.0))  # d2h
    """,
    "what the compiled function compiles": """
        inner = jax.jit(lambda x: x * 2)
        @jax.jit
        def f(x):
            y = inner(x)
            if y > 1:  # tracer
                return y
            return x
        f(1.0)
    """,
    "a method as a decorator's target": """
        from functools import partial
        class T:
            @partial(jax.jit, static_argnums=0)
            def f(self, x):
                return x * 2
        print(T().f(1.0))  # d2h
    """,
    "an attribute": """
        class T:
            def __init__(self):
                self._step = jax.jit(self.step)
            def step(self, x):
                return x + 1
            def run(self):
                print(self._step(1.0))  # d2h
        T().run()
    """,
    "a method replaced by its compiled self": """
        class T:
            def __init__(self):
                self.step = jax.jit(self.step)
            def step(self, x):
                return x + 1
            def run(self):
                print(self.step(1.0))  # d2h
        T().run()
    """,
    "an attribute of the class": """
        class T:
            step = staticmethod(jax.jit(lambda x: x + 1))
            def run(self):
                print(self.step(1.0))  # d2h
        T().run()
    """,
    "a factory": """
        def make(scale):
            @jax.jit
            def f(x):
                return x * scale
            return f
        f = make(2.0)
        print(f(1.0))  # d2h
    """,
    "a factory of several": """
        def make(scale):
            def init():
                return 0.0
            def update(x):
                return x * scale
            return jax.jit(init), jax.jit(update)
        init, update = make(2.0)
        print(init())  # d2h
        print(update(1.0))  # d2h
    """,
    "a factory that takes the function": """
        def compiled(f):
            return jax.jit(f)
        @compiled
        def g(x):
            return x
        print(g(1.0))  # d2h
    """,
    "only where a flag says so": """
        def f(x):
            return x + 1
        def make(use_jit):
            return jax.jit(f) if use_jit else f
        print(make(True)(1.0))  # d2h
    """,
    "in a dict": """
        steps = {"train": jax.jit(lambda x: x)}
        print(steps["train"](1.0))  # d2h
        for name, f in steps.items():
            print(f(1.0))  # d2h
    """,
    "in a list by a comprehension": """
        fs = [jax.jit(lambda x, n=n: x * n) for n in range(3)]
        print(fs[0](1.0))  # d2h
    """,
    "ahead of time": """
        f = jax.jit(lambda x: x + 1)
        compiled = f.lower(1.0).compile()
        print(compiled(1.0))  # d2h
    """,
    "a compiled function that returns nothing": """
        @jax.jit
        def f(x):
            x + 1
        print(f(1.0))
    """,
    "a compiled function that returns a tree": """
        @jax.jit
        def f(x):
            return {"a": x, "b": [x, (x, 1)]}, None
        out, nothing = f(1.0)
        print(nothing)
        print(out["a"])  # d2h
        print(out["b"][1][1])  # d2h
    """,
    "a compiled function that returns what it was given": """
        @jax.jit
        def f(tree):
            return tree
        out = f({"a": np.ones(3), "n": 1})  # h2d
        print(out["a"])  # d2h
        print(out["n"])  # d2h
    """,
    "shard_map of old": """
        from jax.experimental.shard_map import shard_map
        from jax.sharding import Mesh, PartitionSpec as P
        mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
        def f(x):
            return x
        g = shard_map(f, mesh, in_specs=P("i"), out_specs=P("i"))
        print(g(jnp.ones(3)))  # d2h
    """,
    "pmap": """
        f = jax.pmap(lambda x: x + 1)
        print(f(jnp.ones((1, 3))))  # d2h
        @jax.pmap
        def g(x):
            return x
        print(g(jnp.ones((1, 3))))  # d2h
    """,
    "pmap with an axis by partial": """
        from functools import partial
        @partial(jax.pmap, axis_name="i")
        def g(x):
            return jax.lax.pmean(x, "i")
        print(g(jnp.ones((1, 3))))  # d2h
    """,
    "shard_map": """
        from functools import partial
        from jax.sharding import Mesh, PartitionSpec as P
        mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
        @partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
        def f(x):
            return x
        print(f(jnp.ones(3)))  # d2h
        g = jax.jit(jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
        print(g(jnp.ones(3)))  # d2h
    """,
    "vmap": """
        f = jax.vmap(lambda x: x + 1)
        print(f(jnp.ones(3)))  # d2h
        print(jax.vmap(jnp.dot, in_axes=(0, None))(jnp.ones((2, 3)), jnp.ones(3)))  # d2h
    """,
    "jit of vmap of grad": """
        f = jax.jit(jax.vmap(jax.grad(lambda x: x ** 2)))
        print(f(jnp.ones(3)))  # d2h
    """,
    "grad and value_and_grad": """
        def loss(w, x):
            return jnp.sum(w * x)
        g = jax.grad(loss)(jnp.ones(3), jnp.ones(3))
        print(g)  # d2h
        value, grads = jax.value_and_grad(loss)(jnp.ones(3), jnp.ones(3))
        print(value)  # d2h
        print(grads)  # d2h
    """,
    "value_and_grad with aux": """
        def loss(w, x):
            y = jnp.sum(w * x)
            return y, {"y": y * 2, "n": 3}
        (value, aux), grads = jax.value_and_grad(loss, has_aux=True)(jnp.ones(3), jnp.ones(3))
        print(aux["n"])
        print(value)  # d2h
        print(aux["y"])  # d2h
        print(grads)  # d2h
    """,
    "grads by several arguments and as a tree": """
        def loss(a, b):
            return jnp.sum(a["w"] * b)
        ga, gb = jax.grad(loss, argnums=(0, 1))({"w": jnp.ones(3)}, jnp.ones(3))
        print(ga["w"])  # d2h
        print(gb)  # d2h
    """,
    "nnx.jit": """
        from flax import nnx
        @nnx.jit
        def f(x):
            return x + 1
        print(f(1.0))  # d2h
    """,
    "nnx.jit with options": """
        from functools import partial
        from flax import nnx
        @partial(nnx.jit, static_argnames="n")
        def f(x, n):
            return x if n else x * 2
        print(f(1.0, n=1))  # d2h
    """,
    "eqx.filter_jit": """
        import equinox as eqx
        @eqx.filter_jit
        def f(x, n):
            if n > 1:
                return x
            return x * 2
        print(f(jnp.ones(3), 2))  # d2h
    """,
    "eqx.filter_value_and_grad": """
        import equinox as eqx
        @eqx.filter_value_and_grad
        def loss(w):
            return jnp.sum(w)
        value, grads = loss(jnp.ones(3))
        print(value)  # d2h
        print(grads)  # d2h
    """,
    "hk.transform": """
        import haiku as hk
        def forward(x):
            return hk.Linear(3)(x)
        model = hk.without_apply_rng(hk.transform(forward))
        params = model.init(jax.random.key(0), jnp.ones((1, 3)))
        print(model.apply(params, jnp.ones((1, 3))))  # d2h
    """,
    "a host array given to a compiled call": """
        n = np.ones(3)
        step(n)  # h2d
        step(jnp.ones(3))
        step(2.0)
        total = jax.jit(sum)
        total([np.ones(3), np.ones(3)])  # h2d
        total([jnp.ones(3), 2.0])
    """,
    "a host array in a tree given to a compiled call": """
        step2 = jax.jit(lambda b: b["x"] + 1)
        step2({"x": np.ones(3)})  # h2d
        step2({"x": jnp.ones(3)})
    """,
    "a static host array is no upload": """
        from functools import partial
        @partial(jax.jit, static_argnames="name")
        def f(x, name):
            return x
        f(jnp.ones(3), name="a")
    """,
    "what is annotated as static": """
        import jax_dataclasses as jdc
        @jdc.jit
        def f(x, n: jdc.Static[int]):
            if n:
                return x
            return x * 2
        print(f(1.0, 2))  # d2h
        for _ in range(10):
            f(np.ones(3), 2)  # h2d hot
    """,
    "a decorator that makes an object": """
        import dataclasses
        import functools

        @dataclasses.dataclass
        class Compiled:
            call: object

            def __call__(self, *args):
                return self.call(*args)

        class Mesh:
            def compile(self, f, shardings=None):
                return Compiled(jax.jit(f, in_shardings=shardings))

        mesh = Mesh()

        @functools.partial(mesh.compile, shardings=None)
        def learn(x, y):
            return jnp.dot(x, np.ones(3)) + y

        class Counted:
            def __init__(self, f):
                self.f, self.calls = f, 0

            def __call__(self, *args):
                self.calls += 1
                return self.f(*args)

        @Counted
        def shown(x):
            print(x)  # d2h

        for n in range(9):
            shown(learn(jnp.ones(3), jnp.ones(3)))

        class Bound:
            def __init__(self, f):
                self.f = f

            def __call__(self, *args):
                return self.f(*args)

            def __get__(self, obj, cls=None):
                return functools.partial(self, obj)

        class Agent:
            @Bound
            def act(self, x):
                print(x)  # d2h hot

        for n in range(9):
            Agent().act(jnp.ones(3))
    """,
}
COMPILED_GAPS: dict[str, str] = {}

TRACED = {
    "evaluated while compiling": """
        @jax.jit
        def scale(x):
            with jax.ensure_compile_time_eval():
                c = jnp.mean(jnp.linspace(0.0, 1.0, 100))
                if jnp.allclose(c, 1.0):  # d2h cold
                    return x
                y = float(x)  # tracer
            if jnp.allclose(c, 1.0):  # tracer
                return y
            return x * c

        scale(1.0)
    """,
    "a name of a function that the trace itself runs": """
        def counted(key):
            def decorate(fn):
                def wrapped(x):
                    nonlocal key
                    key, own = jax.random.split(key)
                    return fn(own, x)
                return wrapped
            return decorate

        @jax.jit
        def run(x, key):
            @counted(key)
            def add(key, x):
                return x + jax.random.normal(key)

            return add(add(x))

        run(jnp.ones(3), jax.random.key(0))
    """,
    "jit: arguments": """
        @jax.jit
        def f(x, n):
            if x > 0:  # tracer
                return x
            return x
        f(1.0, 2)
    """,
    "jit: what is computed": """
        @jax.jit
        def f(x):
            y = jnp.sum(x) + 1
            return float(y)  # tracer
        f(1.0)
    """,
    "jit: what is made inside": """
        @jax.jit
        def f(x):
            y = jnp.ones(3)
            if y.sum() > 0:  # tracer
                return x
            return y
        f(1.0)
    """,
    "jit: shapes are no tracers": """
        @jax.jit
        def f(x):
            if x.ndim > 1 and x.shape[0] > 2 and len(x) > 2 and x.dtype == jnp.float32:
                return x
            for i in range(x.shape[0]):
                x = x + i
            return jnp.zeros(x.shape)
        f(jnp.ones((3, 3)))
    """,
    "jit: a function that it calls": """
        def helper(x):
            if x > 0:  # tracer
                return x
            return -x
        @jax.jit
        def f(x):
            return helper(x * 2)
        f(1.0)
    """,
    "jit: a function that both sides call": """
        def helper(x):
            return np.asarray(x)  # tracer
        @jax.jit
        def f(x):
            return helper(x)
        f(1.0)
    """,
    "jit: a closure's host value is no tracer": """
        def make(n):
            @jax.jit
            def f(x):
                if n > 1:
                    return x
                return x * 2
            return f
        make(2)(1.0)
    """,
    "jit: a method's self holds tracers": """
        @jax.tree_util.register_pytree_node_class
        class T:
            def __init__(self, x):
                self.x = x
            def tree_flatten(self):
                return (self.x,), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)
            @jax.jit
            def f(self):
                if self.x > 0:  # tracer
                    return self.x
                return -self.x
        T(1.0).f()
    """,
    "jit: a static self holds no tracers": """
        from functools import partial
        class T:
            def __init__(self, n):
                self.n = n
            @partial(jax.jit, static_argnums=0)
            def f(self, x):
                if self.n > 0:
                    return x
                return -x
        T(1).f(2.0)
    """,
    "jit: nobody calls it": """
        @jax.jit
        def f(x):
            if x > 0:  # tracer
                return x
            return jnp.sum(x)
    """,
    "jit: is None and isinstance are no reads": """
        @jax.jit
        def f(x, y=None):
            if y is None:
                y = x
            if isinstance(x, jax.Array):
                return x
            return y
        f(1.0)
    """,
    "jit: indexing": """
        TABLE = [1, 2, 3]
        @jax.jit
        def f(x, i):
            y = x[i]
            z = x[x > 0]  # tracer
            return TABLE[i]  # tracer
        f(jnp.ones(3), 1)
    """,
    "jit: range and shapes": """
        @jax.jit
        def f(x, n):
            y = jnp.zeros(n)  # tracer
            for i in range(n):  # tracer
                x = x + i
            return x
        f(1.0, 2)
    """,
    "jit: print and logging": """
        import logging
        @jax.jit
        def f(x):
            print(x)  # tracer
            print(x.shape, "tracing")
            jax.debug.print("{x}", x=x)
            return x
        f(1.0)
    """,
    "jit: item, tolist and NumPy": """
        f = jax.jit(lambda x: x.item())  # tracer
        g = jax.jit(lambda x: np.sin(x))  # tracer
        h = jax.jit(lambda x: x.tolist())  # tracer
        k = jax.jit(lambda x: jnp.asarray(x, dtype=x.dtype))
        for fun in (f, g, h, k):
            fun(1.0)
    """,
    "jit: device_get": """
        @jax.jit
        def f(x):
            return jax.device_get(x)
        f(1.0)
    """,
    "jit: and, or, not, while, assert, ternary": """
        @jax.jit
        def f(x, y):
            return x > 0 and y > 0  # tracer
        f(1.0, 2.0)
        g = jax.jit(lambda x: not x)  # tracer
        g(1.0)
        @jax.jit
        def h(x):
            while x < 3:  # tracer
                x = x + 1
            return x
        h(1.0)
        @jax.jit
        def k(x):
            assert x > 0  # tracer
            return 1 if x > 0 else 2  # tracer
        k(1.0)
    """,
    "jit: builtin min, max and sum": """
        f = jax.jit(lambda x, y: max(x, y))  # tracer
        f(1.0, 2.0)
        g = jax.jit(lambda x: sum([x, x]))
        g(1.0)
    """,
    "jit: nobody calls it, and it asks for values": """
        @jax.jit
        def f(x):
            return float(x)  # tracer
        @jax.jit
        def g(x):
            return x.item()  # tracer
        @jax.jit
        def h(x):
            return np.sin(x)  # tracer
        @jax.jit
        def k(x):
            return x.sum().tolist()  # tracer
    """,
    "shard_map": """
        from functools import partial
        from jax.sharding import Mesh, PartitionSpec as P
        mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
        @partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
        def f(x):
            if x.sum() > 0:  # tracer
                return x
            return x
        f(jnp.ones(3))
    """,
    "vmap": """
        def f(x):
            if x > 0:  # tracer
                return x
            return -x
        jax.vmap(f)(jnp.ones(3))
    """,
    "vmap: an axis that is None is no tracer": """
        def f(x, n):
            if n > 0:
                return x
            return -x
        jax.vmap(f, in_axes=(0, None))(jnp.ones(3), 2)
    """,
    "grad": """
        def loss(w):
            y = jnp.sum(w)
            return float(y)  # tracer
        jax.grad(loss)(jnp.ones(3))
    """,
    "grad: what it shows has a value, and is fetched": """
        def loss(w):
            print(w)  # d2h
            return jnp.sum(w)
        jax.grad(loss)(jnp.ones(3))
    """,
    "grad: a test of what it differentiates has a value": """
        def loss(w):
            if w > 0:  # d2h
                return w
            return -w
        jax.grad(loss)(1.0)
    """,
    "jit of grad: nothing has a value": """
        def loss(w):
            if w > 0:  # tracer
                return w
            return -w
        jax.jit(jax.grad(loss))(1.0)
    """,
    "grad: only what it differentiates is a tracer": """
        def loss(w, n):
            if n > 0:
                return jnp.sum(w)
            return jnp.mean(w)
        jax.grad(loss)(jnp.ones(3), 2)
    """,
    "value_and_grad": """
        @jax.value_and_grad
        def loss(w):
            y = jnp.sum(w)
            return float(y)  # tracer
        loss(jnp.ones(3))
    """,
    "scan": """
        def body(carry, x):
            if x > 0:  # tracer
                carry = carry + x
            return carry, x
        jax.lax.scan(body, 0.0, jnp.ones(3))
    """,
    "scan: what comes out is on the device": """
        def body(carry, x):
            return carry + x, (carry, 1)
        carry, (ys, ones) = jax.lax.scan(body, 0.0, jnp.ones(3))
        print(carry)  # d2h
        print(ys)  # d2h
        print(ones)  # d2h
    """,
    "scan: a lambda and a partial": """
        from functools import partial
        def body(n, carry, x):
            if n > 0:
                return carry + x, None
            return carry, None
        carry, _ = jax.lax.scan(partial(body, 2), 0.0, jnp.ones(3))
        print(carry)  # d2h
        c, y = jax.lax.scan(lambda c, x: (c + float(x), x), 0.0, jnp.ones(3))  # tracer
    """,
    "scan: a carry that is a tree": """
        def body(state, x):
            count, total = state
            if total > 3:  # tracer
                pass
            return (count + 1, total + x), None
        jax.lax.scan(body, (0, 0.0), jnp.ones(3))
    """,
    "scan: nothing to scan over": """
        def body(carry, x):
            assert x is None
            return carry * 2, carry
        carry, ys = jax.lax.scan(body, 1.0, None, length=3)
        print(ys)  # d2h
    """,
    "while_loop": """
        def cond(state):
            i, x = state
            return i < 3
        def body(state):
            i, x = state
            print(x)  # tracer
            return i + 1, x * 2
        i, x = jax.lax.while_loop(cond, body, (0, 1.0))
        print(i)  # d2h
        print(x)  # d2h
    """,
    "while_loop: a test that asks for the truth": """
        def cond(x):
            return x > 0 and x < 3  # tracer
        jax.lax.while_loop(cond, lambda x: x + 1, 1.0)
    """,
    "fori_loop": """
        def body(i, x):
            if i == 0:  # tracer
                return x
            return x + i
        jax.lax.fori_loop(0, 3, body, 1.0)
    """,
    "fori_loop: what comes out": """
        print(jax.lax.fori_loop(0, 3, lambda i, x: x + i, 1.0))  # d2h
    """,
    "cond and switch": """
        def yes(x):
            return float(x)  # tracer
        def no(x):
            return x
        jax.lax.cond(True, yes, no, 1.0)
        def one(x):
            print(x)  # tracer
            return x
        jax.lax.switch(0, [one, no], 1.0)
    """,
    "cond: what comes out": """
        print(jax.lax.cond(step(1.0) > 0, lambda x: x, lambda x: -x, 1.0))  # d2h
        print(jax.lax.switch(1, [lambda x: x, lambda x: -x], 1.0))  # d2h
    """,
    "checkpoint": """
        @jax.checkpoint
        def f(x):
            if x > 0:  # tracer
                return x
            return -x
        f(1.0)
    """,
    "checkpoint: what comes out": """
        from functools import partial
        @partial(jax.checkpoint, static_argnums=1)
        def f(x, n):
            if n > 0:
                return x * 2
            return x
        print(f(1.0, 2))  # d2h
        print(jax.remat(lambda x: x * 2)(1.0))  # d2h
    """,
    "grad: what is not differentiated is uploaded": """
        @jax.jit
        def inner(w, x):
            return jnp.sum(w * x)
        def loss(w, x):
            return inner(w, x)  # h2d
        jax.grad(loss)(jnp.ones(3), np.ones(3))
    """,
    "custom_vjp": """
        @jax.custom_vjp
        def f(x):
            return x * 2
        def forward(x):
            return f(x), x
        def backward(kept, g):
            if g > 0:  # d2h
                return (g * kept,)
            return (g,)
        f.defvjp(forward, backward)
        jax.grad(f)(1.0)
    """,
    "custom_vjp: what comes out": """
        @jax.custom_vjp
        def f(x):
            return x * 2
        f.defvjp(lambda x: (f(x), x), lambda kept, g: (g * kept,))
        print(f(jnp.ones(())))  # d2h
    """,
    "custom_jvp": """
        @jax.custom_jvp
        def f(x):
            return x * 2
        @f.defjvp
        def rule(primals, tangents):
            x, = primals
            t, = tangents
            return f(x), float(t)  # tracer
        jax.grad(f)(1.0)
    """,
    "eval_shape": """
        def f(x):
            return float(x)  # tracer
        jax.eval_shape(f, 1.0)
    """,
    "lax.map and associative_scan": """
        def f(x):
            print(x)  # tracer
            return x * 2
        print(jax.lax.map(f, jnp.ones(3)))  # d2h
        print(jax.lax.associative_scan(jnp.add, jnp.ones(3)))  # d2h
    """,
    "pure_callback: its function runs on the host": """
        def host(x):
            return np.sin(x)
        @jax.jit
        def f(x):
            return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)
        print(f(1.0))  # d2h
    """,
    "debug.callback: its function runs on the host": """
        def host(x):
            print(float(x))
        @jax.jit
        def f(x):
            jax.debug.callback(host, x)
            return x
        print(f(1.0))  # d2h
    """,
    "a leak to a list": """
        seen = []
        @jax.jit
        def f(x):
            seen.append(x)  # tracer
            return x
        f(1.0)
    """,
    "a leak to self": """
        class T:
            def __init__(self):
                self.last = None
                self.f = jax.jit(self._f)
            def _f(self, x):
                self.last = x  # tracer
                return x
        T().f(1.0)
    """,
    "a leak to a global name": """
        LAST = None
        @jax.jit
        def f(x):
            global LAST
            LAST = x  # tracer
            return x
        f(1.0)
    """,
    "a list that lives in the trace is no leak": """
        @jax.jit
        def f(x):
            seen = []
            for i in range(3):
                seen.append(x)
                x = x + 1
            return jnp.stack(seen)
        print(f(1.0))  # d2h
    """,
    "disable_jit": """
        @jax.jit
        def f(x):
            print(x)
            return x
        with jax.disable_jit():
            f(1.0)
    """,
    "with jit disabled Python runs the bodies of loops": """
        def body(i, x):
            if x > 1:  # d2h hot
                return x * 2
            return x + i
        def longer(x):
            while x > 0:  # d2h hot
                x = x - 1
            return x
        with jax.disable_jit():
            jax.lax.fori_loop(0, 3, body, jnp.ones(()))
            jax.lax.scan(lambda c, x: (longer(c), x), jnp.ones(()), None, 3)
    """,
    "with jit disabled Python runs the chosen branch": """
        def one(x):
            print(float(x))  # d2h cold
            return x
        with jax.disable_jit():
            jax.lax.cond(True, one, lambda x: x + 1, jnp.ones(()))
    """,
    "with jit disabled what is mapped is traced all the same": """
        def one(x):
            if x > 1:  # tracer
                return x
            return x + 1
        with jax.disable_jit():
            jax.vmap(lambda x: jax.lax.cond(True, one, one, x))(jnp.ones(3))
    """,
    "the sum over an axis of what the host has is a number": """
        def body(x):
            n = jax.lax.psum(1, "i")
            m = jax.lax.psum(x, "i")
            for k in range(n):
                x = x + k
            for k in range(m):  # tracer
                x = x + k
            return x / jax.lax.pmean(2.0, axis_name="i")

        jax.pmap(body, axis_name="i")(x)
    """,
    "what a function is not differentiated by is no tracer to its rules": """
        import functools
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def f(x, block):
            return x * block
        def forward(x, block):
            count, rest = divmod(block, 128)
            if rest or block % 2:
                raise ValueError
            if x > 0:  # d2h cold
                return x, x
            return x * block, x
        def backward(block, kept, g):
            if block > 2:
                return (g,)
            if g > 0:  # d2h cold
                return (g,)
            return (g * kept,)
        f.defvjp(forward, backward)
        @functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
        def h(function, n, x):
            return function(x) * n
        @h.defjvp
        def rule(function, n, primals, tangents):
            if n > 2:
                return h(function, n, *primals), tangents[0]
            x, = primals
            if x > 0:  # d2h cold
                return x, x
            return x, tangents[0]
    """,
    "what is not differentiated by name": """
        import functools
        @functools.partial(jax.custom_vjp, nondiff_argnames=["block"])
        def f(x, block):
            return x * block
        def forward(x, block):
            if block > 2:
                return x, x
            return x * block, x
        f.defvjp(forward, lambda block, kept, g: (g * kept,))
    """,
    "what is sure is an array stays one in sums with others": """
        @jax.jit
        def step(x, n):
            count, rest = divmod(n, 128)
            if rest:  # tracer
                raise ValueError
            return x
    """,
    "filtered transforms leave flags and numbers alone": """
        import equinox as eqx
        import haliax

        def loss(params, flag, scale=2):
            if flag:
                params = params * 2
            if scale > 1:
                params = params + 1
            return (params * flag).sum()

        def paired(both):
            params, flag = both
            if flag:
                params = params * 2
            return params.sum()

        x = jnp.ones(3)
        for _ in range(9):
            eqx.filter_eval_shape(loss, x, True, scale=3)
            eqx.filter_make_jaxpr(loss)(x, True, scale=3)
            eqx.filter_grad(paired)((x, True))
            eqx.filter_value_and_grad(loss)(x, True, scale=3)
            haliax.named_jit(loss)(x, True, scale=3)
    """,
    "filtered transforms trace arrays": """
        import equinox as eqx

        def loss(params):
            if params.sum() > 0:  # tracer
                params = params * 2
            return params.sum()

        print(eqx.filter_eval_shape(loss, jnp.ones(3)))
        print(eqx.filter_make_jaxpr(loss)(jnp.ones(3)))
    """,
    "texts that are given keep their places": """
        def loss(name, params):
            if name == "mse":
                return params.sum()
            return params.mean()

        print(jax.eval_shape(loss, "mse", jnp.ones(3)))
    """,
}
TRACED_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(COMPILED, COMPILED_GAPS))
def test_compiled_callables(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(TRACED, TRACED_GAPS))
def test_traced_bodies(text: str) -> None:
    check_marks(text)


def test_host_data_on_one_of_two_paths_is_a_guess() -> None:
    text = "def f(batch, flag):\n    if flag:\n        batch = jnp.ones(3)\n    step(batch)\n\nf(np.ones(3), len([]))\n"
    assert [f.confidence for f in check(PRELUDE + text, Confidence.LOW).findings] == [Confidence.LOW]
