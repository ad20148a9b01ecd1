"""Functions: arguments, results, closures, lambdas, decorators, and functions as values."""

import pytest

from jaxlint.sites import Confidence
from snippets import check, check_marks, rows

CALLS = {
    "what is given more than it takes is not run": """
        def one(x, *, flag):
            return jnp.sum(x)
        def other(x, *rest, y=1, **named):
            return jnp.sum(x)  # h2d hot
        class T:
            def one(self, x):
                return jnp.cos(x)
        x = np.ones(3)
        for n in range(100):
            one(x, x)
            one(x, flag=1, depth=2)
            one(x, flag=1, x=x)
            T().one(x, x)
            other(x, x, depth=2)
    """,
    "what is given less than it takes is not run": """
        import hydra
        def one(x, y, *, flag):
            return jnp.sum(x)
        @jax.named_call
        def named(x, y):
            return jnp.sum(x)
        @hydra.main(version_base=None)
        def configured(settings):
            return jnp.sum(np.ones(3))  # h2d hot
        @hydra.zen.hydrated
        class Made:
            def __init__(self, rate):
                self.x = jnp.sum(np.ones(3))  # h2d hot
        x = np.ones(3)
        for n in range(100):
            one(x, flag=1)
            one(x, x)
            named(x)
            configured()
            Made()
    """,
    "a decorator that gives back what it was given, however often it is used": """
        def implements(original):
            def wrap(function):
                function.original = original
                return function
            return wrap
    """
    + "".join(f"    @implements(abs)\n        def f{n}(x, y={n}):\n            return {n}\n    " for n in range(100))
    + """
        @implements(abs)
        def last(x):
            return jnp.sin(x)
        print(f99(1))
        print(last(1.0))  # d2h
    """,
    "one of two that takes what is given": """
        import sys
        def one(x):
            return jnp.sum(x)
        def other(x, y):
            return jnp.sum(x) + y  # h2d
        f = one if sys.argv else other
        f(np.ones(3), 1.0)
    """,
    "a keyword never means a parameter before a slash": """
        def f(x, /, **named):
            print(x)
            print(named["x"])  # d2h
        f(1, x=step(1.0))
        def g(x, /, y=0, *, z=0, **named):
            print(x)  # d2h
            print(y)  # d2h
            print(z)  # d2h
        g(step(1.0), y=step(2.0), z=step(3.0), x=1)
        def h(x=1, /, **named):
            print(x)
        def i(named):
            h(**{name: step(y) for name, y in named})
        i([("x", 1.0)])
        k = lambda x, /, **named: float(named["x"])  # d2h
        k(1, x=step(1.0))
    """,
    "what a definition evaluates runs where it stands": """
        for _ in range(9):
            f = lambda a=float(step(1.0)): a  # d2h hot
            def g(b=float(step(2.0))):  # d2h hot
                return b
            class C:
                z = float(step(3.0))  # d2h hot
    """,
    "functions of itertools": """
        import itertools
        table = {"a": {"b": step(1.0)}}
        for row in table.values():
            list(itertools.starmap(lambda n, v: print(n, v), row.items()))  # d2h
        for v in itertools.chain.from_iterable(r.values() for r in {"a": {"b": step(2.0)}}.values()):
            float(v)  # d2h
    """,
    "an inner function finds a name as it was last bound": """
        def make(x):
            f = lambda v: 1.0
            def call(v):
                return f(v)
            if x:
                f = step
            else:
                f = jax.jit(lambda v: v)
            return call
        print(make(1)(2.0))  # d2h
        def other(x):
            held = step(x)
            def show():
                print(held)
            held = 1.0
            return show
        other(1.0)()
    """,
    "an argument and a result": """
        def twice(x):
            return x * 2
        print(twice(step(1.0)))  # d2h
        print(twice(2.0))
    """,
    "by keyword": """
        def f(a, b):
            print(a)
            print(b)  # d2h
        f(b=step(1.0), a=1)
    """,
    "defaults": """
        ZERO = step(1.0)
        def f(a, b=ZERO, *, c=2.0):
            print(a, c)
            print(b)  # d2h
        f(1)
    """,
    "a default that a caller replaces": """
        def f(a, b=1.0):
            print(b)  # d2h
        f(1, step(2.0))
    """,
    "positional only and keyword only": """
        def f(a, /, b, *, c):
            print(a, c)
            print(b)  # d2h
        f(1, step(1.0), c=2)
    """,
    "star of arguments": """
        def f(a, *rest):
            print(a)
            print(rest[0])  # d2h
        f(1, step(1.0))
    """,
    "star of keywords": """
        def f(**metrics):
            for k, v in metrics.items():
                print(k)
                print(v)  # d2h
        f(loss=step(1.0))
    """,
    "star of keywords by name": """
        def f(**metrics):
            print(metrics["epoch"])
            print(metrics["loss"])  # d2h
        f(loss=step(1.0), epoch=1)
    """,
    "star of keywords, different for two callers": """
        def pick(**metrics):
            return metrics["loss"]
        a, b = pick(loss=step(1.0)), pick(loss=2.0)
        print(b)
        print(a)  # d2h
    """,
    "star of arguments, different for two callers": """
        def pick(*values):
            return values[0]
        a, b = pick(step(1.0)), pick(2.0)
        print(b)
        print(a)  # d2h
    """,
    "arguments from a tuple": """
        def f(a, b):
            print(a)
            print(b)  # d2h
        pair = (1, step(1.0))
        f(*pair)
    """,
    "arguments from a list": """
        def f(a, b):
            print(b)  # d2h
        pair = [step(2.0), step(1.0)]
        f(*pair)
    """,
    "arguments from a dict": """
        def f(a, b):
            print(a)
            print(b)  # d2h
        f(**{"a": 1, "b": step(1.0)})
    """,
    "handed on whole": """
        def inner(a, b):
            print(a)
            print(b)  # d2h
        def outer(*args, **kwargs):
            return inner(*args, **kwargs)
        outer(1, step(1.0))
    """,
    "keywords handed on whole": """
        def inner(a, b):
            print(a)
            print(b)  # d2h
        def outer(**kwargs):
            return inner(**kwargs)
        outer(a=1, b=step(1.0))
    """,
    "what a list that is handed over receives": """
        def fill(values):
            values.append(step(1.0))
        mine = []
        fill(mine)
        print(mine[0])  # d2h
    """,
    "several results": """
        def f(flag):
            if flag:
                return step(1.0)
            return None
        print(f(True))  # d2h
    """,
    "no result": """
        def f(x):
            step(x)
        print(f(1.0))
    """,
    "a function that only raises": """
        def fail():
            raise ValueError
        def f(x):
            try:
                x = fail()
            except ValueError:
                pass
            print(x)
        f(1.0)
    """,
    "two callers with different arguments": """
        def show(x):
            print(x)  # d2h
        show(1.0)
        show(step(1.0))
    """,
    "the result of one caller is not that of another": """
        def same(x):
            return x
        a, b = same(step(1.0)), same(2.0)
        print(b)
        print(a)  # d2h
    """,
    "through five functions": """
        def a(x): return b(x)
        def b(x): return c(x)
        def c(x): return d(x)
        def d(x): return e(x)
        def e(x): return step(x)
        print(a(1.0))  # d2h
    """,
    "recursion": """
        def down(x, n):
            if n == 0:
                return x
            return down(step(x), n - 1)
        print(down(1.0, 3))  # d2h
    """,
    "functions see the names around them from where they are made on": """
        def outer(x):
            x = np.asarray(x)  # d2h

            def inner():
                print(x)

            inner()

        outer(step(1.0))
    """,
    "functions see what a name becomes after they were made": """
        def outer(x):
            x = np.asarray(x)

            def inner():
                print(x)  # d2h

            x = step(x)  # h2d
            inner()

        outer(np.ones(3))
    """,
    "functions made in a loop see what the turn before left": """
        def outer(x):
            for _ in range(3):
                show = lambda: print(x)  # d2h
                show()
                x = step(x)  # h2d

        outer(np.ones(3))
    """,
    "mutual recursion": """
        def even(x, n):
            return x if n == 0 else odd(step(x), n - 1)
        def odd(x, n):
            return x if n == 0 else even(step(x), n - 1)
        print(even(1.0, 3))  # d2h
    """,
    "more callers than contexts": """
        def show(name, x):
            print(name, x)  # d2h
        show("a", 1); show("b", 2); show("c", 3); show("d", 4); show("e", 5); show("f", 6); show("g", 7)
        show("h", 8); show("i", 9); show("j", 10); show("k", 11); show("l", 12)
        show("m", step(1.0))
    """,
    "more callers than contexts, each with another kind of thing": """
        def show(x):
            print(x)  # d2h
        show(1); show("b"); show(3.0); show(b"d"); show(True); show(None); show([]); show(()); show({}); show(len)
        show(abs); show(min); show(max); show(sum); show(any); show(all); show(str)
        show(step(1.0))
    """,
    "defined twice": """
        def f():
            return step(1.0)
        def f():
            return 1.0
        print(f())
    """,
    "defined in branches": """
        import sys
        if sys.platform == "linux":
            def f():
                return step(1.0)
        else:
            def f():
                return 1.0
        print(f())  # d2h
    """,
    "nobody calls it": """
        def f(n):
            x = step(n)
            print(x)  # d2h
    """,
    "nobody calls it, in a function that nobody calls": """
        def a():
            def b():
                def c():
                    print(step(1.0))  # d2h
    """,
    "nobody calls it, four functions deep": """
        def a():
            def b():
                def c():
                    def d():
                        print(step(1.0))  # d2h
    """,
    "nobody calls it, and nothing says what its parameter is": """
        def f(x, y: float, z=1.0):
            print(x, y, z)
            if x:
                return float(x)
            return np.asarray(x)
    """,
    "keywords that are handed on keep their names": """
        class Source:
            def __init__(self, ids, use_scale=False):
                self.use_scale = use_scale
        class Files(Source):
            def __init__(self, folder, **kwargs):
                super().__init__(ids=[1], **kwargs)
        def make(**kwargs):
            return Files("data", **kwargs)
        def show(source):
            if source.use_scale:
                print(step(1.0))  # d2h
            print(step(2.0))  # d2h
        show(make(use_scale=config.use_scale))
    """,
    "keywords that are handed on leave the others to their defaults": """
        def scaled(x, scale=False, shift=False):
            if shift:
                print(step(x))
            return step(x) if scale else x
        def call(x, **kwargs):
            return scaled(x, **kwargs)
        print(call(1.0, scale=True))  # d2h
    """,
}
CALL_GAPS: dict[str, str] = {}

VALUES = {
    "what is loaded from a file is an array, or NumPy's reader of several": """
        print(jnp.load("x.npy"))  # d2h
        print(jnp.load("x.npz")["x"])
        print(float(jnp.load(open("x"))["x"]))
    """,
    "arithmetic of what is not known is not known": """
        import settings
        x = settings.a % settings.b
        print(step(x) if x == 0 else step(1.0))  # d2h
    """,
    "a choice between values that are off is an array": """
        @jax.jit
        def f(x):
            mask = jnp.where(x > 0, False, x > 1)
            return jnp.abs(x) * mask * jnp.where(x > 0, 0, 0) * jnp.where(x > 0, False, False)
    """,
    "the first axis is an axis": """
        x = np.asarray(step(jnp.ones((3, 3))))  # d2h
        step(np.count_nonzero(x, axis=0))  # h2d
        step(np.count_nonzero(x, axis=None))
    """,
    "formatted by an operator, as text and as bytes": """
        print("%s" % step(1.0))  # d2h
        print(b"%d" % step(1))  # d2h
        n = 7
        n %= step(1)
        print(n)  # d2h
    """,
    "a lambda": """
        f = lambda x: step(x)
        print(f(1.0))  # d2h
        show = lambda x: print(x)  # d2h
        show(step(2.0))
        print((lambda: step(1.0))())  # d2h
        print((lambda a, b=2: b)(step(1.0)))
    """,
    "a closure over a value": """
        def make(x):
            def show():
                print(x)  # d2h
            return show
        make(step(1.0))()
    """,
    "closures over different values": """
        def make(x):
            def give():
                return x
            return give
        a, b = make(step(1.0)), make(2.0)
        print(b())
        print(a())  # d2h
    """,
    "a closure over a name that is assigned later": """
        def f():
            def show():
                print(x)  # d2h
            x = step(1.0)
            show()
        f()
    """,
    "a closure over a loop's name": """
        def f():
            shows = []
            for x in [step(1.0)]:
                shows.append(lambda: print(x))  # d2h
            for show in shows:
                show()
        f()
    """,
    "a closure over a list": """
        def f():
            seen = []
            def keep(x):
                seen.append(x)
            keep(step(1.0))
            print(seen[0])  # d2h
        f()
    """,
    "a factory of factories": """
        def outer(scale):
            def middle(x):
                def inner():
                    return step(x) * scale
                return inner
            return middle
        print(outer(2.0)(1.0)())  # d2h
    """,
    "a function in a dict": """
        table = {"a": step, "b": abs}
        print(table["b"](-1))
        print(table["a"](1.0))  # d2h
    """,
    "a function in a list": """
        def show(x):
            print(x)  # d2h
        for f in [show]:
            f(step(1.0))
    """,
    "a function as an argument": """
        def apply(f, x):
            return f(x)
        print(apply(step, 1.0))  # d2h
        print(apply(float, 1))
    """,
    "a callback that is kept": """
        class Loop:
            def __init__(self, callbacks):
                self.callbacks = callbacks
            def run(self):
                for i in range(3):
                    x = step(i)
                    for callback in self.callbacks:
                        callback(i, x)
        def show(i, x):
            print(i)
            print(x)  # d2h hot
        Loop([show]).run()
    """,
    "functools.partial": """
        from functools import partial
        def show(prefix, x, end=""):
            print(prefix)
            print(x)  # d2h
        f = partial(show, "loss", end="!")
        f(step(1.0))
        g = partial(step, 1.0)
        print(g())  # d2h
    """,
    "functools.reduce": """
        from functools import reduce
        total = reduce(lambda a, b: a + b, [step(1.0), step(2.0)])
        print(total)  # d2h
        print(reduce(lambda a, b: a + b, [1, 2]))
    """,
    "map and filter": """
        for y in map(step, [1.0]):
            print(y)  # d2h
        print(list(map(lambda v: float(step(v)), [1.0])))  # d2h
        print(list(filter(lambda v: step(v) > 1, [1.0])))  # d2h
        print(list(map(str, [1, 2])))
    """,
    "sorted and max by a key": """
        rows = [{"loss": step(1.0)}, {"loss": step(2.0)}]
        best = min(rows, key=lambda r: r["loss"])  # d2h
        names = sorted(["b", "a"], key=lambda s: s.lower())
        print(names)
    """,
    "a compiled function under another name": """
        run = step
        print(run(1.0))  # d2h
    """,
    "a bound method": """
        x = step(1.0)
        get = x.item
        print(get())  # d2h
        class T:
            def show(self, x):
                print(x)  # d2h
        show = T().show
        show(step(1.0))
    """,
    "a method of a class": """
        print(jnp.ndarray.item(step(1.0)))  # d2h
    """,
    "the result of a library's function that takes a function": """
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor() as pool:
            future = pool.submit(step, 1.0)
            print(future.result())  # d2h
            for x in pool.map(step, [1.0]):
                print(x)  # d2h
    """,
    "a thread's target": """
        import threading
        def work(x):
            print(x)  # d2h
        t = threading.Thread(target=work, args=(step(1.0),))
        t.start()
        t.join()
    """,
    "operator": """
        import operator
        print(operator.add(step(1.0), 1))  # d2h
        print(operator.itemgetter("a")({"a": step(1.0)}))  # d2h
    """,
    "through a queue": """
        import queue
        q = queue.Queue()
        q.put(step(1.0))
        print(q.get())  # d2h
    """,
}
VALUE_GAPS: dict[str, str] = {}

DECORATORS = {
    "a function of another compiler": """
        import numba
        import warp as wp
        weights = step(np.ones(3))  # h2d

        @wp.func
        def add(x: float):
            for n in range(3):
                if weights[n] == 1:
                    x += 1.0
            return x

        @numba.njit(parallel=True)
        def count(x):
            for n in numba.prange(3):
                if weights[n] == 1:
                    x += 1.0
            return x

        print(count(np.ones(3)))
    """,
    "above more functions than there are contexts": """
        def plain(f):
            return f
        def checked(f):
            return plain(f)
        @checked
        def f0(x):
            return 0
        @checked
        def f1(x):
            return 1
        @checked
        def f2(x):
            return 2
        @checked
        def f3(x):
            return 3
        @checked
        def f4(x):
            return 4
        @checked
        def f5(x):
            return 5
        @checked
        def f6(x):
            return 6
        @checked
        def f7(x):
            return 7
        @checked
        def f8(x):
            return 8
        @checked
        def f9(x):
            return 9
        @checked
        def last(x):
            return step(x)
        print(f3(1.0))
        print(last(1.0))  # d2h
    """,
    "that wraps": """
        import functools
        def logged(f):
            @functools.wraps(f)
            def inner(*args, **kwargs):
                out = f(*args, **kwargs)
                print(out)  # d2h
                return out
            return inner
        @logged
        def g(x):
            return step(x)
        y = g(1.0)
        float(y + 1)  # d2h
    """,
    "with arguments": """
        def times(n):
            def wrap(f):
                def inner(x):
                    for i in range(n):
                        x = f(x)
                    return x
                return inner
            return wrap
        @times(3)
        def g(x):
            return step(x)
        print(g(1.0))  # d2h
    """,
    "that hands the function on": """
        REGISTRY = {}
        def register(f):
            REGISTRY["a"] = f
            return f
        @register
        def g(x):
            return step(x)
        print(g(1.0))  # d2h
        print(REGISTRY["a"](2.0))  # d2h
    """,
    "that nobody knows": """
        from unheard_of import magic
        @magic
        def g(x):
            return step(x)
        print(g(1.0))  # d2h
    """,
    "lru_cache": """
        import functools
        @functools.lru_cache
        def g(n):
            return step(n)
        @functools.cache
        def h(n):
            return step(n)
        print(g(1.0))  # d2h
        print(h(1.0))  # d2h
    """,
    "two": """
        import functools
        def first(f):
            return lambda x: f(x)
        def second(f):
            return lambda x: float(f(x))  # d2h
        @second
        @first
        def g(x):
            return step(x)
        print(g(1.0))
    """,
    "a class": """
        class Counted:
            def __init__(self, f):
                self.f = f
                self.n = 0
            def __call__(self, x):
                self.n += 1
                return self.f(x)
        @Counted
        def g(x):
            return step(x)
        print(g(1.0))  # d2h
        print(g.n)
    """,
    "singledispatch": """
        import functools
        @functools.singledispatch
        def show(x):
            print(x)
        @show.register
        def _(x: jax.Array):
            print(x)  # d2h
        show(1.0)
        show(step(1.0))
    """,
    "contextmanager": """
        import contextlib
        @contextlib.contextmanager
        def timed(name):
            yield
            print(name)
        with timed("a"):
            x = step(1.0)
        print(x)  # d2h
    """,
    "overload": """
        from typing import overload
        @overload
        def f(x: int) -> int: ...
        @overload
        def f(x: float) -> float: ...
        def f(x):
            return step(x)
        print(f(1.0))  # d2h
    """,
    "what a configuration may set is no constant": """
        import dataclasses
        import gin
        @gin.configurable
        @dataclasses.dataclass
        class Config:
            verbose_scale: bool = False
        @gin.configurable(denylist=["x"])
        def show(x, scaled=False, limit=None):
            if scaled:
                print(step(x))  # d2h
            if limit is not None:
                print(step(x) + 1)  # d2h
        show(1.0)
        if Config().verbose_scale:
            print(step(1.0))  # d2h
    """,
}
DECORATOR_GAPS: dict[str, str] = {}

ANNOTATIONS = {
    "of a parameter that nobody gives": """
        def f(x: jax.Array, y: jnp.ndarray, n: np.ndarray, s: float):
            print(x)  # d2h
            print(y)  # d2h
            print(n, s, float(n))
    """,
    "in quotes": """
        def f(x: "jax.Array", n: "np.ndarray"):
            print(x)  # d2h
            print(n)
    """,
    "optional": """
        from typing import Optional, Union
        def f(x: Optional[jax.Array], y: jax.Array | None, z: Union[None, jax.Array] = None):
            print(x)  # d2h
            if y is not None:
                print(y)  # d2h
            print(z)  # d2h
    """,
    "a union with NumPy may be either": """
        def f(x: jax.Array | np.ndarray):
            return float(x)  # d2h
    """,
    "for type checkers alone": """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from jax import Array
        def f(x: Array) -> float:
            return float(x)  # d2h
    """,
    "containers": """
        from collections.abc import Mapping, Sequence
        def f(xs: list[jax.Array], pair: tuple[jax.Array, int], d: dict[str, jax.Array], s: Sequence[jax.Array]):
            print(xs[0])  # d2h
            print(pair[1])
            print(pair[0])  # d2h
            print(d["loss"])  # d2h
            for x in s:
                print(x)  # d2h
    """,
    "a name for a type": """
        Array = jax.Array
        Scalar = jax.Array
        def f(x: Array, s: Scalar):
            print(x)  # d2h
            print(s)  # d2h
    """,
    "jaxtyping's": """
        from jaxtyping import Array, Float, Int
        def f(x: Float[Array, "b d"], i: Int[np.ndarray, "b"]):
            print(x)  # d2h
            print(i)
    """,
    "of a dataclass's field": """
        import dataclasses
        @dataclasses.dataclass
        class Metrics:
            loss: jax.Array
            epoch: int
        def f(m: Metrics):
            print(m.epoch)
            print(m.loss)  # d2h
    """,
    "callers know better": """
        def f(x: jax.Array):
            print(x)
        f(np.ones(3))
        f(1.0)
    """,
    "of a parameter under jit": """
        @jax.jit
        def f(x: np.ndarray, n: float):
            if n > 0:  # tracer
                return x
            return np.asarray(x)  # tracer
    """,
    "of the result": """
        from unheard_of import compute
        def f() -> float:
            return compute()
        print(f())
    """,
}
ANNOTATION_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(CALLS, CALL_GAPS))
def test_calls(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(VALUES, VALUE_GAPS))
def test_functions_as_values(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(DECORATORS, DECORATOR_GAPS))
def test_decorators(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(ANNOTATIONS, ANNOTATION_GAPS))
def test_annotations_are_guesses(text: str) -> None:
    check_marks(text, Confidence.LOW)


def test_a_guess_is_not_shown_by_default() -> None:
    text = "import jax\ndef f(x: jax.Array):\n    return float(x)\n"
    assert check(text).findings == ()
    assert [finding.confidence for finding in check(text, Confidence.LOW).findings] == [Confidence.LOW]
