"""Classes: what instances hold, which method is meant, and what the usual ways to write a record mean."""

import pytest

from snippets import check_marks, rows

CLASSES = {
    "a partial function of a class is no method": """
        import functools

        def first(x, y=None):
            return x

        class A:
            pick = functools.partial(first, y=1)

        print(A().pick(step(1.0)))  # d2h
        print(A.pick(step(1.0)))  # d2h
    """,
    "a partial method is one": """
        import functools

        class A:
            def pick(self, k, x):
                return x if k else 0
            one = functools.partialmethod(pick, 1)

        print(A().one(step(1.0)))  # d2h
    """,
    "the function that a field has as its default is no method": """
        import dataclasses
        from typing import Callable

        def first(x, y=None):
            return x

        @dataclasses.dataclass
        class A:
            pick: Callable = first
            other: Callable = jax.jit(first)

        print(A().pick(step(1.0)))  # d2h
        print(A().other(step(1.0)))  # d2h
    """,
    "a function that is assigned in a class is a method": """
        def second(x, y=None):
            return y

        class A:
            pick = second
            x: int = 0

        print(A().pick(step(1.0)))  # d2h
    """,
    "a key is looked up in a branch of a tree": """
        import settings

        @jax.jit
        def run(batch):
            if settings.keys[0] not in batch["observations"]:
                batch = batch | {"observations": 1}
            return batch["observations"]
    """,
    "wrappers of environments": """
        import gymnasium as gym
        class Single(gym.ObservationWrapper):
            def __init__(self, env):
                super().__init__(env)
            def observation(self, observation):
                return observation.astype(np.float32)
        class Quick(gym.Wrapper):
            def step(self, action):
                return self.env.step(action)  # d2h
        step(Single(gym.make("x")).reset())  # h2d
        Quick(gym.make("x")).step(step(1.0))
    """,
    "an operation in place": """
        class Metric:
            def __init__(self):
                self.sum = 0.0
            def __iadd__(self, x):
                self.sum += float(x)  # d2h hot
                return self
            def __matmul__(self, x):
                print(x)
                return self
            def __imatmul__(self, x):
                print(x)  # d2h hot
                return x
            def __sub__(self, x):
                print(x)  # d2h hot
                return 1.0
        def f(n):
            a, b = Metric(), Metric()
            for i in range(n):
                a += step(i)
                b @= step(i)
                print(b)  # d2h hot
                c = Metric()
                c -= step(i)
                print(a.sum, c)
                b = Metric()
        f(3)
    """,
    "the keywords of a class are evaluated": """
        class A(tag=float(step(1.0)), **{"x": print(step(2.0))}):  # d2h
            pass
    """,
    "a body in a loop runs at each turn": """
        def f(n):
            for i in range(n):
                class A:
                    x = float(step(i))  # d2h hot
                    y = [float(step(i)) for _ in range(i)]  # d2h hot
        f(3)
    """,
    "a body under a guard is guarded": """
        def f():
            with jax.transfer_guard("disallow"):
                class A:
                    try:
                        x = float(step(1.0))  # d2h
                    except Exception:  # guard
                        pass
        f()
        def g():
            with jax.transfer_guard("disallow"):
                try:
                    class A:
                        x = float(step(1.0))  # d2h
                except Exception:  # guard
                    pass
        g()
    """,
    "a body in a trace is traced": """
        @jax.jit
        def f(x):
            class A:
                if x > 0:  # tracer
                    y = 1
                z = float(x)  # tracer
            return x
        f(1.0)
    """,
    "an attribute": """
        class T:
            def __init__(self, x):
                self.x = x
                self.n = 1
        t = T(step(1.0))
        print(t.n)
        print(t.x)  # d2h
    """,
    "an attribute that a method assigns": """
        class T:
            def __init__(self):
                self.x = None
            def update(self, n):
                self.x = step(n)
            def show(self):
                print(self.x)  # d2h
        t = T()
        t.update(1.0)
        t.show()
    """,
    "an attribute that somebody else assigns": """
        class T:
            def show(self):
                print(self.x)  # d2h
        t = T()
        t.x = step(1.0)
        t.show()
    """,
    "an attribute that setattr assigns and getattr reads": """
        class T:
            pass
        t = T()
        setattr(t, "x", step(1.0))
        print(getattr(t, "x"))  # d2h
        print(getattr(t, "missing", 1))
    """,
    "two instances": """
        class T:
            def __init__(self, x):
                self.x = x
        a, b = T(step(1.0)), T(2.0)
        print(b.x)
        print(a.x)  # d2h
    """,
    "an attribute of the class": """
        class T:
            x = step(1.0)
            n = 1
        print(T.n, T().n)
        print(T.x)  # d2h
        print(T().x + 1)  # d2h
    """,
    "an attribute of the class that an instance replaces": """
        class T:
            x = None
            def __init__(self):
                self.x = step(1.0)
        print(T().x)  # d2h
    """,
    "a method calls another": """
        class T:
            def one(self, n):
                return self.two(n)
            def two(self, n):
                return step(n)
        print(T().one(1.0))  # d2h
    """,
    "a method of a base": """
        class Base:
            def give(self):
                return step(1.0)
        class T(Base):
            pass
        print(T().give())  # d2h
    """,
    "a method that a subclass replaces": """
        class Base:
            def run(self):
                print(self.give())  # d2h
            def give(self):
                raise NotImplementedError
        class T(Base):
            def give(self):
                return step(1.0)
        T().run()
    """,
    "a method that a subclass replaces by a host value": """
        class Base:
            def run(self):
                print(self.give())
            def give(self):
                return step(1.0)
        class T(Base):
            def give(self):
                return 1.0
        T().run()
    """,
    "super": """
        class Base:
            def __init__(self, x):
                self.x = x
            def give(self):
                return self.x
        class T(Base):
            def __init__(self):
                super().__init__(step(1.0))
            def give(self):
                return super().give() + 1
        print(T().give())  # d2h
    """,
    "super by its names": """
        class Base:
            def give(self):
                return step(1.0)
        class T(Base):
            def give(self):
                return super(T, self).give()
        class U(Base):
            def give(self):
                return Base.give(self)
        print(T().give())  # d2h
        print(U().give())  # d2h
    """,
    "a diamond": """
        class Base:
            def give(self):
                return 1.0
        class Left(Base):
            pass
        class Right(Base):
            def give(self):
                return step(1.0)
        class T(Left, Right):
            pass
        print(T().give())  # d2h
    """,
    "super in a diamond": """
        class Base:
            def give(self):
                return 1.0
        class Left(Base):
            def give(self):
                return super().give()
        class Right(Base):
            def give(self):
                return step(1.0)
        class T(Left, Right):
            pass
        print(T().give())  # d2h
    """,
    "an abstract method": """
        import abc
        class Base(abc.ABC):
            @abc.abstractmethod
            def give(self): ...
            def run(self):
                return float(self.give())  # d2h
        class T(Base):
            def give(self):
                return step(1.0)
        T().run()
    """,
    "a property": """
        class T:
            def __init__(self):
                self._x = step(1.0)
            @property
            def x(self):
                return self._x
            @property
            def host(self):
                return float(self._x)  # d2h
        print(T().x)  # d2h
        print(T().host)
    """,
    "numbers of instances": """
        class T:
            def __init__(self, x):
                self.x = x
            def __float__(self):
                return float(self.x)  # d2h
            def __radd__(self, other):
                return T(other + self.x)
            def __lt__(self, other):
                return self.x < other
        print(float(T(step(1.0))))
        print((1 + T(step(2.0))).x)  # d2h
        if T(step(3.0)) < 2:  # d2h
            pass
    """,
    "a property that is set": """
        class T:
            @property
            def x(self):
                return self._x
            @x.setter
            def x(self, value):
                self._x = step(value)
        t = T()
        t.x = 1.0
        print(t.x)  # d2h
    """,
    "a cached property": """
        import functools
        class T:
            @functools.cached_property
            def x(self):
                return step(1.0)
        print(T().x)  # d2h
    """,
    "a cached property of what a trace was given": """
        import functools
        import equinox as eqx
        class T(eqx.Module):
            size: jax.Array
            @functools.cached_property
            def x(self):
                return jnp.arange(3) / self.size
            def y(self):
                return self.x
        @eqx.filter_jit
        def run(t):
            return t.x + t.y()
        t = T(step(1.0))
        run(t)
        print(t.x)  # d2h
    """,
    "a cached property of what a trace closes over": """
        import functools
        class T:
            @functools.cached_property
            def x(self):
                return jnp.arange(3) + 1  # tracer
        t = T()
        @jax.jit
        def run(x):
            return t.x + x
        run(step(1.0))
    """,
    "an attribute that an object has and an array has not": """
        import sys
        class Setting:
            def __init__(self, rate):
                self.rate = rate
                self.size = step(rate)
        class State:
            def __init__(self, held):
                self.held = held
        def use(state: State):
            if state.held.rate:
                print(state.held.size)  # d2h
        use(State(step(1.0)) if sys.argv else State(Setting(0.5)))
    """,
    "static and class methods": """
        class T:
            @staticmethod
            def static(n):
                return step(n)
            @classmethod
            def made(cls, n):
                t = cls()
                t.x = step(n)
                return t
        print(T.static(1.0))  # d2h
        print(T().static(1.0))  # d2h
        print(T.made(1.0).x)  # d2h
    """,
    "a method chain": """
        class T:
            def __init__(self, x):
                self.x = x
            def then(self):
                self.x = step(self.x)
                return self
        print(T(1.0).then().then().x)  # d2h
    """,
    "operators": """
        class V:
            def __init__(self, x):
                self.x = x
            def __add__(self, other):
                return V(self.x + other.x)
            def __getitem__(self, i):
                return self.x
            def __len__(self):
                return 3
            def __float__(self):
                return float(self.x)  # d2h
            def __bool__(self):
                return bool(self.x)  # d2h
            def __eq__(self, other):
                return bool((self.x + 1) == other.x)  # d2h
            def __contains__(self, item):
                return bool((self.x + 2) == item)  # d2h
        a = V(step(1.0))
        print((a + a).x)  # d2h
        print(a[0] + 1)  # d2h
        float(a)
        if V(step(2.0)):
            pass
        a == a
        1 in a
        print(len(a))
    """,
    "str of an instance": """
        class T:
            def __init__(self):
                self.x = step(1.0)
            def __str__(self):
                return f"{self.x}"  # d2h
        print(T())
        text = f"{T()}"
    """,
    "repr of an instance that says nothing of arrays": """
        class T:
            def __init__(self):
                self.x = step(1.0)
        print(T())
    """,
    "call of an instance": """
        class T:
            def __call__(self, x):
                return step(x)
        t = T()
        print(t(1.0))  # d2h
    """,
    "iteration over an instance": """
        class Loader:
            def __iter__(self):
                for i in range(3):
                    yield i, step(i)
        for i, x in Loader():
            print(i)
            print(x)  # d2h
    """,
    "iteration by __next__": """
        class Loader:
            def __iter__(self):
                return self
            def __next__(self):
                return step(1.0)
        for x in Loader():
            print(x)  # d2h
            break
    """,
    "an unknown attribute's hook": """
        class T:
            def __init__(self):
                self.inner = {"x": step(1.0)}
            def __getattr__(self, name):
                return self.inner[name]
        print(T().x)  # d2h
    """,
    "slots": """
        class T:
            __slots__ = ("x",)
            def __init__(self):
                self.x = step(1.0)
        print(T().x)  # d2h
    """,
    "a class in a function": """
        def make():
            class T:
                def give(self):
                    return step(1.0)
            return T()
        print(make().give())  # d2h
    """,
    "a class as an argument": """
        class T:
            def give(self):
                return step(1.0)
        def run(cls):
            return cls().give()
        print(run(T))  # d2h
    """,
    "a class in a registry": """
        REGISTRY = {}
        def register(cls):
            REGISTRY[cls.__name__] = cls
            return cls
        @register
        class T:
            def give(self):
                return step(1.0)
        print(REGISTRY["T"]().give())  # d2h
    """,
    "an enumeration": """
        import enum
        class Mode(enum.Enum):
            TRAIN = "train"
        print(Mode.TRAIN, Mode.TRAIN.value)
    """,
    "an instance of an instance": """
        class Inner:
            def __init__(self):
                self.x = step(1.0)
        class Outer:
            def __init__(self):
                self.inner = Inner()
        print(Outer().inner.x)  # d2h
    """,
    "self handed to a function": """
        def show(t):
            print(t.x)  # d2h
        class T:
            def __init__(self):
                self.x = step(1.0)
            def run(self):
                show(self)
        T().run()
    """,
    "a meter that gathers on the host": """
        class Meter:
            def __init__(self):
                self.total, self.count = 0.0, 0
            def update(self, value):
                self.total += float(value)  # d2h hot
                self.count += 1
            @property
            def average(self):
                return self.total / self.count
        m = Meter()
        for i in range(3):
            m.update(step(i))
        print(m.average)
    """,
    "a meter that gathers on the device": """
        class Meter:
            def __init__(self):
                self.total, self.count = 0.0, 0
            def update(self, value):
                self.total += value
                self.count += 1
            @property
            def average(self):
                return self.total / self.count
        m = Meter()
        for i in range(3):
            m.update(step(i))
        print(m.average)  # d2h cold
    """,
    "nobody makes one": """
        class T:
            def __init__(self, n):
                self.x = step(n)
            def show(self):
                print(self.x)  # d2h
    """,
    "nobody makes one, and a base of it is unknown": """
        from unheard_of import Base
        class T(Base):
            def setup(self):
                self.x = step(1.0)
            def show(self):
                print(self.x)  # d2h
    """,
    "the test case of JAX itself": """
        from jax import test_util as jtu
        class MathTest(jtu.JaxTestCase):
            def test_all(self):
                for n in range(10):
                    x = step(float(n))
                    self.assertAllClose(x, 1.0)  # d2h hot
                    self.assertTrue(jnp.all(step(x) > 0))  # d2h hot
    """,
    "setup of a module runs in whatever trace comes first": """
        import flax.linen as nn
        class Block(nn.Module):
            def setup(self):
                self.table = jnp.asarray(np.arange(8) * 2)
            def __call__(self, x):
                return x + self.table
        class Model(nn.Module):
            def setup(self):
                self.blocks = [Block() for _ in range(self.count)]
            def __call__(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        def main(params, x):
            model = Model()
            for _ in range(10):
                x = jax.jit(model.apply)(params, x)
    """,
}
CLASS_GAPS: dict[str, str] = {}

RECORDS = {
    "a class whose flattening does not name its children has settings and arrays": """
        import dataclasses

        def tree(cls):
            cls = dataclasses.dataclass(cls)
            names = [f.name for f in dataclasses.fields(cls)]
            cls.children = lambda self: [getattr(self, n) for n in names]

            def flatten(obj):
                return tuple(obj.children()), ()

            jax.tree_util.register_pytree_node(cls, flatten, lambda aux, children: cls(*children))
            return cls

        @tree
        class Conf:
            shape: tuple
            weights: jax.Array

        @jax.jit
        def f(x, conf):
            if conf.weights.sum() > 0:  # tracer
                return x
            return x + jnp.zeros(conf.shape)

        f(jnp.ones((2, 3)), Conf((2, 3), step(1.0)))
    """,
    "a class whose flattening names its children has no other": """
        @jax.tree_util.register_pytree_node_class
        class Conf:
            def __init__(self, shape, weights):
                self.shape, self.weights = shape, weights

            def tree_flatten(self):
                return (self.shape,), self.weights

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(children[0], aux)

        @jax.jit
        def f(x, conf):
            return x + jnp.zeros(conf.shape)  # tracer

        f(jnp.ones((2, 3)), Conf((2, 3), 1))
    """,
    "what a dataclass does not take": """
        import dataclasses
        import typing
        from dataclasses import KW_ONLY, dataclass, field
        from typing import ClassVar
        @dataclass
        class A:
            n: ClassVar[int] = 3
            m: "typing.ClassVar" = 3
            o: object = field(init=False, default=1)
            x: object = None
            _: KW_ONLY
            y: object = None
        def f(a):
            print(a.n, a.m, a.o, a.y)
            print(a.x)  # d2h
        f(A(step(1.0)))
        match A(step(3.0)):
            case A(x):
                print(x)  # d2h
        @dataclass
        class B(A):
            o: object = dataclasses.field(init=False)
            z: object = None
        def g(b):
            print(b.x, b.y)
            print(b.z)  # d2h
        g(B(1, y=2, z=step(1.0)))
        def h(b):
            print(b.x)
            print(b.y)  # d2h
        h(B(1, y=step(2.0)))
    """,
    "a dataclass": """
        import dataclasses
        @dataclasses.dataclass
        class T:
            x: jax.Array
            n: int = 1
            more: list = dataclasses.field(default_factory=list)
        t = T(step(1.0))
        print(t.n, t.more)
        print(t.x)  # d2h
    """,
    "a dataclass shows its fields": """
        from dataclasses import dataclass
        @dataclass
        class T:
            x: jax.Array
        print(T(step(1.0)))  # d2h
        @dataclass
        class U:
            n: int
        print(U(1))
    """,
    "a dataclass that is frozen and has keywords": """
        from dataclasses import dataclass
        @dataclass(frozen=True, kw_only=True)
        class T:
            n: int
            x: jax.Array
        t = T(x=step(1.0), n=2)
        print(t.n)
        print(t.x)  # d2h
    """,
    "a dataclass after its fields are set": """
        from dataclasses import dataclass, field
        @dataclass
        class T:
            n: float
            x: jax.Array = field(init=False)
            def __post_init__(self):
                self.x = step(self.n)
        print(T(1.0).x)  # d2h
    """,
    "a dataclass of a dataclass": """
        from dataclasses import dataclass
        @dataclass
        class Base:
            x: jax.Array
        @dataclass
        class T(Base):
            n: int
        t = T(step(1.0), 2)
        print(t.n)
        print(t.x)  # d2h
    """,
    "replace, asdict and astuple": """
        import dataclasses
        @dataclasses.dataclass
        class T:
            x: jax.Array
            n: int
        t = dataclasses.replace(T(step(1.0), 2), n=3)
        print(t.n)
        print(t.x)  # d2h
        u = T(step(2.0), 2)
        print(dataclasses.asdict(u)["x"])  # d2h
    """,
    "a named tuple": """
        from typing import NamedTuple
        class T(NamedTuple):
            x: jax.Array
            n: int = 1
        t = T(step(1.0))
        print(t.n, t._fields)
        print(t.x)  # d2h
    """,
    "a named tuple's items": """
        from typing import NamedTuple
        class T(NamedTuple):
            x: jax.Array
            n: int
        x, n = T(step(1.0), 2)
        print(n)
        print(x)  # d2h
        t = T(step(1.0), 2)
        print(t[1])
        print(t[0])  # d2h
        u = T(step(2.0), 3)._replace(n=4)
        print(u.x)  # d2h
    """,
    "a named tuple is shown with its fields": """
        from typing import NamedTuple
        class T(NamedTuple):
            x: jax.Array
        print(T(step(1.0)))  # d2h
    """,
    "namedtuple": """
        from collections import namedtuple
        T = namedtuple("T", ["x", "n"])
        U = namedtuple("U", "x n")
        t = T(step(1.0), 2)
        print(t.n)
        print(t.x)  # d2h
        print(U(x=step(2.0), n=1).x)  # d2h
    """,
    "out of a compiled function": """
        from typing import NamedTuple
        class T(NamedTuple):
            x: jax.Array
            n: jax.Array
        @jax.jit
        def make(x):
            return T(x + 1, 2)
        t = make(1.0)
        print(t.x)  # d2h
        print(t.n)  # d2h
    """,
    "through a compiled function": """
        from typing import NamedTuple
        class T(NamedTuple):
            x: jax.Array
            n: float
        @jax.jit
        def update(t):
            return t._replace(x=t.x + 1)
        t = update(T(1.0, 2.0))
        print(t.x)  # d2h
        print(t.n)  # d2h
    """,
    "a struct of flax": """
        from flax import struct
        @struct.dataclass
        class T:
            x: jax.Array
            name: str = struct.field(pytree_node=False, default="a")
        t = T(x=step(1.0)).replace(name="b")
        print(t.name)
        print(t.x)  # d2h
    """,
    "a module of equinox": """
        import equinox as eqx
        class T(eqx.Module):
            w: jax.Array
            n: int = eqx.field(static=True)
            def __init__(self, n):
                self.w = jnp.ones(n)
                self.n = n
            def __call__(self, x):
                return self.w * x
        t = T(3)
        print(t.n)
        print(t(2.0))  # d2h
        print(t.w)  # d2h
    """,
    "a class that is registered as a tree": """
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
        def update(t):
            return T(t.x + 1)
        print(update(T(1.0)).x)  # d2h
    """,
    "a static field keeps host data out of the tree": """
        import dataclasses
        import jax_dataclasses
        from jax_dataclasses import Static
        @jax_dataclasses.pytree_dataclass
        class Model:
            scale: jax.Array
            table: Static[np.ndarray]
            sizes: Static[tuple[int, ...]]
            def dofs(self):
                return sum(self.sizes[1:])
        @jax.jit
        def apply(model, x):
            if model.dofs() > 3:
                return x * model.scale + model.table.sum()
            return x
        model = Model(jnp.ones(3), np.ones(4), tuple([6] + [1 for _ in range(3)]))
        for _ in range(10):
            apply(model, step(1.0))
    """,
    "a static field of a class above": """
        import flax.struct
        @flax.struct.dataclass
        class Base:
            n: int = flax.struct.field(pytree_node=False)
        @flax.struct.dataclass
        class T(Base):
            x: jax.Array
        @jax.jit
        def update(t):
            return t.replace(x=t.x + 1) if t.n else t
        t = update(T(3, jnp.ones(3)))
        print(t.n)
        print(t.x)  # d2h
    """,
    "a field that is no leaf by what it is made with": """
        import equinox as eqx
        class T(eqx.Module):
            x: jax.Array
            n: int = eqx.static_field()
        @jax.jit
        def update(t):
            return t.x if t.n else t.x + 1
        update(T(jnp.ones(3), 3))
    """,
}
RECORD_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(CLASSES, CLASS_GAPS))
def test_classes(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(RECORDS, RECORD_GAPS))
def test_records(text: str) -> None:
    check_marks(text)
