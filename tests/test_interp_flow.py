"""Control flow: what holds on every path, what on some, and what is over after a fetch."""

import pytest

from snippets import check_marks, rows

BRANCHES = {
    "integers compared": """
        def turned(x, size=0, limit=3):
            if size > 0:
                x = float(x)
            if limit >= 4:
                x = float(x)
            if size <= limit:
                float(x)  # d2h cold
            return x
        turned(step(1.0))
        count = 0
        for x in range(9):
            if count > 3:
                float(step(1.0))  # d2h
            count += 1
    """,
    "joined: on the device on one path": """
        def f(flag, n):
            if flag:
                x = step(n)
            else:
                x = 1.0
            print(x)  # d2h
        f(True, 1.0)
    """,
    "joined: on the host on both": """
        def f(flag, n):
            if flag:
                x = float(step(n))  # d2h
            else:
                x = 1.0
            print(x)
        f(True, 1.0)
    """,
    "known: the other branch is dead": """
        if False:
            print(step(1.0))
        if not True:
            print(step(2.0))
        if True:
            print(step(3.0))  # d2h
        else:
            print(step(4.0))
    """,
    "known: a text among texts": """
        def start(modes, x):
            if "noise" in modes:
                print(step(x))
            if "zeros" in modes:
                print(step(x))  # d2h
            if "zeros" not in modes:
                print(step(x))
        start(("zeros", "ones"), 1.0)
    """,
    "known: nothing is in an empty list": """
        def start(x, modes=None):
            if modes is None:
                modes = []
            if "noise" in modes:
                print(step(x))
        start(1.0)
    """,
    "known: a flag of the module": """
        DEBUG = False
        def f(x):
            x = step(x)
            if DEBUG:
                print(x)
            return x
        f(1.0)
    """,
    "elif": """
        def f(mode, n):
            x = step(n)
            if mode == "a":
                x = 1
            elif mode == "b":
                x = np.asarray(x)  # d2h
            elif mode == "c":
                x = 2.0
            else:
                raise ValueError(mode)
            print(x)
        f("b", 1.0)
    """,
    "after return": """
        def f(n):
            x = step(n)
            return x
            print(x)
        f(1.0)
    """,
    "after raise": """
        def f(n):
            raise ValueError
            print(step(n))
        try:
            f(1.0)
        except ValueError:
            pass
    """,
    "a ternary": """
        def f(flag, n):
            x = step(n) if flag else None
            print(x)  # d2h
        f(True, 1.0)
    """,
    "or and and": """
        def f(given, n):
            x = given or step(n)
            print(x)  # d2h
        f(None, 1.0)
    """,
    "the truth of an array": """
        x = step(1.0)
        if x:  # d2h
            pass
        y = step(2.0)
        if not y:  # d2h
            pass
        z = step(3.0)
        w = z and 1  # d2h
        v = step(4.0)
        u = 1 if v else 2  # d2h
        t = step(5.0)
        assert t  # d2h
    """,
    "comparisons of arrays": """
        x = step(1.0)
        y = x > 1
        print(y.shape)
        if x > 1:  # d2h
            pass
        if 0 < step(1.0) < 3:  # d2h
            pass
        if x is None or x.ndim == 0 and x.dtype == np.float32:
            pass
    """,
}
BRANCH_GAPS: dict[str, str] = {}

NARROWING = {
    "what := names in a test": """
        def f(flag, n):
            if (x := step(n) if flag else None) is None:
                print(x)
            else:
                print(x)  # d2h
            if not isinstance((y := step(n) if flag else np.ones(3)), np.ndarray):
                print(y)  # d2h
            else:
                print(y)
            if hasattr((z := step(n) if flag else 1.0), "devices"):
                print(z)  # d2h
            if type(w := step(n) if flag else 1.0) is float:
                print(w)
            match (v := step(n) if flag else 1.0):
                case float():
                    print(v)
        f(True, 1.0)
    """,
    "a dict of an annotated name": """
        def f(n):
            d: dict = {"x": step(n), "n": 1}
            d["x"] = 1.0
            print(d["x"])
        f(1.0)
    """,
    "the guard of a case": """
        def f(flag, n):
            match step(n) if flag else None:
                case x if x is None:
                    print(x)
                case x if False:
                    print(x)
                case x if x is not None:
                    print(x)  # d2h
        f(True, 1.0)
    """,
    "is None": """
        def f(flag, n):
            x = step(n) if flag else None
            if x is None:
                print(x)
            else:
                print(x)  # d2h
        f(True, 1.0)
    """,
    "is not None": """
        def f(flag, n):
            x = step(n) if flag else None
            if x is not None:
                print(x)  # d2h
            else:
                print(x)
        f(True, 1.0)
    """,
    "is None, and out": """
        def f(flag, n):
            x = step(n) if flag else None
            if x is None:
                return
            print(x)  # d2h
        f(True, 1.0)
    """,
    "is None, and a default": """
        def f(x=None):
            if x is None:
                x = step(1.0)
            print(x)  # d2h
        f()
    """,
    "a default of the host": """
        def f(x=None):
            if x is None:
                x = 1.0
            print(x)
        f()
        f(2.0)
    """,
    "isinstance of jax.Array": """
        def f(x):
            if isinstance(x, jax.Array):
                print(x)  # d2h
            else:
                print(x)
        f(step(1.0))
        f(1.0)
    """,
    "isinstance of NumPy's class": """
        def f(x):
            if isinstance(x, np.ndarray):
                print(x)
            elif isinstance(x, (float, int)):
                print(x)
            else:
                print(x)  # d2h
        f(step(1.0))
        f(1.0)
        f(np.ones(3))
    """,
    "isinstance of several": """
        def f(x):
            if isinstance(x, (int, float, str)):
                return x
            return x.item()  # d2h
        f(step(1.0))
        f(1.0)
    """,
    "not isinstance": """
        def f(x):
            if not isinstance(x, jax.Array):
                print(x)
                return
            print(x)  # d2h
        f(step(1.0))
        f(1.0)
    """,
    "isinstance in an assertion": """
        def f(x):
            assert isinstance(x, np.ndarray)
            print(x)
        f(np.ones(3))
    """,
    "isinstance of numbers: a number of Python or NumPy, never an array of JAX": """
        import numbers
        def f(x):
            if isinstance(x, numbers.Number):
                print(x)
            elif isinstance(x, (numbers.Real, numbers.Integral)):
                print(x)
            else:
                print(x)  # d2h
        def g(x):
            if not isinstance(x, (numbers.Rational, numbers.Complex, np.integer, complex, bytes)):
                return x.item()  # d2h
            return print(x)
        for h in (f, g):
            h(step(1.0))
            h(jnp.float32(1.0))
            h(1.0)
            h(np.float32(1.0))
    """,
    "what stays a number is uploaded": """
        import numbers
        def f(x):
            if isinstance(x, numbers.Number):
                jnp.sin(x)  # h2d
            if isinstance(x, np.floating):
                jnp.sin(x)  # h2d
        f(step(1.0))
        f(np.ones(3).sum())
    """,
    "isinstance of classes of the standard library": """
        import collections, datetime, decimal, enum, fractions, io, os, pathlib
        from collections.abc import Callable, Hashable, Iterator, MutableSequence, Sequence, Set
        def f(x):
            if isinstance(x, (decimal.Decimal, fractions.Fraction)):
                print(x)
            if isinstance(x, (str, pathlib.Path, os.PathLike)):
                print(x)
            if isinstance(x, (datetime.date, enum.Enum, io.IOBase)):
                print(x)
            if isinstance(x, (Sequence, Set, MutableSequence, Iterator)):
                print(x)
            if isinstance(x, (Callable, Hashable)):
                print(x)
            print(x)  # d2h
        f(step(1.0))
        f(load())
    """,
    "what every array is": """
        import collections.abc
        from typing import Iterable, SupportsFloat
        def f(x):
            if isinstance(x, collections.abc.Sized):
                print(x)  # d2h
            else:
                print(x)
            x = x + 1
            if isinstance(x, Iterable):
                return print(x)  # d2h
            print(x)
        def g(x):
            if isinstance(x, SupportsFloat):
                print(x)  # d2h
            x = x + 1
            if isinstance(x, object):
                print(x)  # d2h
            x = x + 1
            if isinstance(x, (str, load())):
                print(x)  # d2h
        for h in (f, g):
            h(step(1.0))
            h(1.0)
    """,
    "a literal text is a sequence, and an array is no container of the standard library": """
        from collections.abc import Sequence
        def f(x):
            if isinstance(x, Sequence):
                print(step(1.0))  # d2h
        f("text")
        def g(x):
            if isinstance(x, (Sequence, dict)):
                return print(x)
            print(x)  # d2h
        g(step(1.0))
    """,
    "isinstance of a tracer": """
        def f(x):
            if isinstance(x, jax.core.Tracer):
                return x
            print(x)  # d2h
            return x
        jax.jit(f)(1.0)
        f(step(1.0))
    """,
    "isinstance together with another test": """
        def f(x, verbose):
            if verbose and isinstance(x, jax.Array):
                print(x)  # d2h
            if not isinstance(x, jax.Array) and verbose:
                print(x)
        f(step(1.0), True)
        f(1.0, True)
    """,
    "hasattr of a method of arrays": """
        def f(x):
            if hasattr(x, "item"):
                x = x.item()  # d2h
            print(x)
        f(step(1.0))
        f(1.0)
    """,
    "an array in a ternary": """
        def f(x):
            return x.item() if isinstance(x, jax.Array) else x  # d2h
        print(f(step(1.0)))
        print(f(1.0))
    """,
    "a ternary by None": """
        def f(x=None):
            y = 0.0 if x is None else x
            print(y)
        f()
        f(2.0)
    """,
    "isinstance of an attribute": """
        import flax.struct
        @flax.struct.dataclass
        class Quantized:
            value: jax.Array
            def empty(self):
                if isinstance(self.value, list) and not self.value:
                    return True
                return isinstance(self.value, jax.Array) and bool(self.value.sum())  # d2h
        Quantized(step(1.0)).empty()
        Quantized([]).empty()
    """,
}
NARROWING_GAPS: dict[str, str] = {}

LOOPS = {
    "few items that differ are taken one by one": """
        for n in range(9):
            loss = step(n)
            for name, value in [("loss", loss), ("n", 1)]:
                print(name)
                if name == "n":
                    print(value)
            for name, value in {"loss": loss, "n": 2}.items():
                if name == "n":
                    print(value)
                    break
            for name, value in (("n", 3), ("loss", loss)):
                if name == "n":
                    continue
                print(value)  # d2h
    """,
    "keywords that are handed out": """
        def one(x):
            return jnp.concatenate([x, x])
        def other(x, y):
            return x
        def call(**given):
            for name, value in given.items():
                if isinstance(value, list):
                    {"one": one, "other": other}[name](*value)
                else:
                    {"one": one, "other": other}[name](value)
        call(one=step(1.0), other=[step(2.0), np.ones(3)])
    """,
    "batches are what collates them": """
        from functools import partial
        from torch.utils.data import DataLoader
        def collate(dtype, batch):
            return jnp.array(batch, dtype), jnp.array(batch)
        for x, y in DataLoader([1, 2, 3], batch_size=2, collate_fn=partial(collate, float)):
            print(jnp.dot(x, y))  # d2h hot
        for x, y in DataLoader([1, 2, 3], batch_size=2, collate_fn=lambda batch: (np.array(batch), np.array(batch))):
            jnp.dot(x, y)  # h2d hot
        for x in DataLoader([1, 2, 3]):
            step(x)  # h2d hot
    """,
    "what the items leave behind": """
        found = 1
        for name, value in (("a", 2), ("b", step(1.0))):
            if name == "a":
                found = value
            last = value
        else:
            print(found)
        print(last)  # d2h
        for kind, value in (("a", step(2.0)), ("b", 3)):
            if kind == "a":
                break
        print(value)  # d2h
    """,
    "keys that are numbers": """
        d = {0: step(1.0), 1: "a"}
        for n, value in d.items():
            print(d[n])  # d2h
    """,
    "indices that NumPy counts are Python's": """
        y = jnp.ones((3, 4))
        rows = list(range(5))
        for index in np.ndindex(3, 4):
            if index[0] > 1:
                rows[index[0]] = index
            step(y, index[1])
        for i, j in np.ndindex(y.shape):
            rows[i] = j
            float(y[i, j])  # d2h
    """,
    "to a fixpoint: on the device from the second turn on": """
        def f():
            x = 1.0
            for i in range(3):
                print(x)  # d2h hot
                x = step(x)
        f()
    """,
    "to a fixpoint over two names": """
        def f():
            a = b = 1.0
            for i in range(4):
                print(b)  # d2h hot
                b = a
                a = step(1.0)
        f()
    """,
    "to a fixpoint over four names": """
        def f():
            a = b = c = d = 1.0
            for i in range(6):
                print(d)  # d2h hot
                d = c
                c = b
                b = a
                a = step(1.0)
        f()
    """,
    "a name that is reset each turn": """
        def f():
            x = step(1.0)
            for i in range(3):
                x = 1.0
                print(x)
                x = step(x)
        f()
    """,
    "what break leaves with": """
        def f():
            x = 1.0
            while True:
                x = step(x)
                break
            print(x)  # d2h
        f()
    """,
    "what continue carries on": """
        def f():
            x = 1.0
            for i in range(3):
                print(x)  # d2h hot
                if i:
                    x = step(x)
                    continue
                x = 2.0
        f()
    """,
    "a loop that may not run": """
        def f(n):
            x = 1.0
            for i in range(n):
                x = step(x)
            print(x)  # d2h
        f(2)
    """,
    "after for, its name": """
        def f():
            for x in [step(1.0)]:
                pass
            print(x)  # d2h
        f()
    """,
    "over an array's rows": """
        def f(x):
            for row in step(x):  # h2d
                print(row)  # d2h hot
        f(np.ones(3))
    """,
    "over the numbers of a fetched array": """
        def f(x):
            for v in np.asarray(step(x)):  # h2d, d2h cold
                print(v)
            for v in step(x).tolist():  # h2d, d2h cold
                print(v)
        f(np.ones(3))
    """,
    "over range of a fetched number": """
        def f(x):
            for i in range(int(step(x))):  # d2h cold
                pass
            for i in range(x.shape[0] if hasattr(x, "shape") else 3):
                pass
        f(2)
    """,
    "nested: the inner one's state is the outer one's": """
        def f():
            x = 1.0
            for i in range(3):
                for j in range(3):
                    print(x)  # d2h hot
                x = step(x)
        f()
    """,
}
LOOP_GAPS: dict[str, str] = {}

BLOCKS = {
    "try: what may have been assigned": """
        def f(g):
            x = 1.0
            try:
                x = step(x)
                g()
            except ValueError:
                print(x)  # d2h
        def fails():
            raise ValueError
        f(fails)
    """,
    "try: the value of the failed statement is not there": """
        def f():
            x = 1.0
            try:
                x = float(step(x))  # d2h
            except ValueError:
                pass
            print(x)
        f()
    """,
    "try: what was assigned before a raise": """
        def f(n):
            try:
                x = step(n)
                raise ValueError
            except ValueError:
                print(x)  # d2h
            y = 1.0
            try:
                y = step(n)
                raise ValueError
            except ValueError:
                pass
            finally:
                print(y)  # d2h
        f(1.0)
    """,
    "try: what was assigned before a return": """
        def f(n):
            x = 1.0
            try:
                x = step(n)
                return 1 / n
            except ZeroDivisionError:
                print(x)  # d2h
        f(0.0)
    """,
    "try: else and finally": """
        def f():
            try:
                x = step(1.0)
            except ValueError:
                x = 0.0
            else:
                print(x)  # d2h
            finally:
                y = step(2.0)
                print(y)  # d2h
        f()
    """,
    "finally after a return": """
        def f():
            x = step(1.0)
            try:
                return 1
            finally:
                print(x)  # d2h
        f()
    """,
    "finally where every way out returns": """
        def f(flag):
            x = step(1.0)
            try:
                if flag:
                    return 1
                return 2
            finally:
                float(x)  # d2h
        f(True)
    """,
    "an error's group": """
        def f():
            x = step(1.0)
            try:
                raise ExceptionGroup("g", [ValueError()])
            except* ValueError:
                print(x)  # d2h
        f()
    """,
    "with": """
        import contextlib
        def f(path):
            with open(path) as file, contextlib.suppress(ValueError):
                x = step(1.0)
                file.closed
            print(x)  # d2h
        f("/dev/null")
    """,
    "with a class of one's own": """
        class Timer:
            def __enter__(self):
                self.x = step(1.0)
                return self
            def __exit__(self, *args):
                print(self.x)  # d2h
        with Timer() as t:
            pass
    """,
    "what a class of one's own hands out": """
        class Held:
            def __enter__(self):
                return step(1.0)
            def __exit__(self, *args):
                pass
        with Held() as x:
            print(x)  # d2h
    """,
    "with a generator's manager": """
        import contextlib
        @contextlib.contextmanager
        def held():
            x = step(1.0)
            yield x
            print(step(2.0))  # d2h
        with held() as x:
            print(x)  # d2h
    """,
    "raise evaluates what it is raised from": """
        def f(x):
            try:
                raise ValueError(f"{step(x)}") from KeyError(float(step(2.0)))  # d2h
            except ValueError:
                pass
        f(1.0)
    """,
    "del evaluates what its targets name": """
        class Store:
            def __delitem__(self, key):
                print(key)  # d2h
        def kept(x):
            print(step(x))  # d2h hot
            return Store()
        def f(d, xs, o):
            for i in range(100):
                loss = step(1.0)
                del d[int(loss)]  # d2h hot
                del xs[step(2) :], (o[float(step(3.0))].a, [d[0]])  # d2h hot
                del kept(i).x
            del xs[step(4)]  # d2h
            del Store()[step(5.0)]
        f({}, [1, 2], {})
    """,
    "del forgets what was kept": """
        def f(d: dict, o, key):
            d["a"] = 1.0
            d["b"] = 1.0
            o.x = d
            del d["a"], d[key], o.x, d
            d = step(1.0)
            print(d)  # d2h
        f({}, np, "b")
    """,
    "match by value": """
        def f(mode):
            match mode:
                case "a":
                    x = step(1.0)
                case "b" | "c":
                    x = 1.0
                case _:
                    x = None
            print(x)  # d2h
        f("a")
    """,
    "match that takes a tuple apart": """
        def f(pair):
            match pair:
                case (x, n):
                    print(n)
                    print(x)  # d2h
                case [x, *rest]:
                    print(x)  # d2h
        f((step(1.0), 2))
        f((step(1.0), 2, 3))
    """,
    "match that takes a dict apart": """
        def f(d):
            match d:
                case {"loss": x, "epoch": n}:
                    print(n)
                    print(x)  # d2h
        f({"loss": step(1.0), "epoch": 1})
    """,
    "match that takes an object apart": """
        import dataclasses
        @dataclasses.dataclass
        class Point:
            x: jax.Array
            n: int
        def f(p):
            match p:
                case Point(x=x, n=1):
                    print(x)  # d2h
                case Point(x, n) if n > 0:
                    print(n)
                    print(x)  # d2h
        f(Point(step(1.0), 1))
        f(Point(step(2.0), 2))
    """,
    "match by a class of arrays": """
        def f(x):
            match x:
                case jax.Array():
                    print(x)  # d2h
                case float():
                    print(x)
        f(step(1.0))
        f(1.0)
    """,
    "match against a number compares": """
        def f():
            match step(1.0):
                case 2.0:  # d2h
                    pass
        f()
    """,
    "match against a value: each comparison is one of its own": """
        class Limits:
            low = 3.0
            high = jnp.ones(())
        def f(n: int):
            x = step(1.0)
            match x:
                case Limits.low:  # d2h
                    print(x)  # d2h
                case 4.0:  # d2h
                    pass
            match n, step(2.0):
                case Limits.high, _:  # d2h
                    pass
                case 4, 5.0:  # d2h
                    pass
        f(1)
    """,
    "match with a star among the patterns": """
        def f(n):
            match (np.ones(3), step(1.0), 3, 4, np.ones(2)):
                case [a, *rest, last]:
                    print(a, last, rest[1])
                    print(rest[0])  # d2h
            match (step(1.0), 1, 2):
                case [*rest, a, b]:
                    print(a, b)
                    print(rest)  # d2h
            match (1, step(2.0)):
                case [a, b, c]:
                    print(b)
                case [a, b, c, *_]:
                    print(b)
                case [a, b, *rest]:
                    print(rest)
                    print(b)  # d2h
            match [step(x) for x in range(n)]:
                case [a, *rest]:
                    print(rest[0])  # d2h
        f(3)
    """,
    "match with the rest of a dict": """
        def f(key):
            match {"a": step(0.0), "n": 1, "loss": step(1.0)}:
                case {"a": _, **rest}:
                    print(rest["n"])
                    print(rest["loss"])  # d2h
                    for name, x in rest.items():
                        print(name, x)  # d2h
            match {"a": step(0.0), "n": 1}:
                case {"a": _, **rest}:
                    for name, x in rest.items():
                        print(name, x)
        f("a")
    """,
    "match with patterns of classes inside": """
        def f(x):
            match x:
                case int(k) | float(k):
                    print(k)
                case jax.Array() as k:
                    print(k)  # d2h
            y = step(2.0)
            match (y, 1):
                case (float() as k, _):
                    print(k)
                case (jax.Array() as k, int(n)):
                    print(n)
                    print(k)  # d2h
            z = step(3.0)
            match z, 1:
                case float(), _:
                    print(z)
        f(step(1.0))
    """,
    "assert with a message": """
        def f():
            x = step(1.0)
            assert x.ndim == 0, f"{x}"
            print(x)  # d2h
        f()
    """,
}
BLOCK_GAPS: dict[str, str] = {}

COMPREHENSIONS = {
    "an asynchronous one waits under a guard": """
        async def f(xs):
            with jax.transfer_guard("disallow"):
                made = [x async for x in xs]  # guard
                later = (x async for x in xs)
                return made, later, [x for x in made]
    """,
    "their names are their own: in a function": """
        x = step(1.0)
        def f(data, made=[]):
            made.append([x for x in range(3)])
            made.append({k: x for k, x in {}.items()})
            made.append({x for a in data for x in a})
            made.append(list(x for x, (y, *z) in ()))
            print(x)  # d2h
        f([])
    """,
    "their names are their own: in a module and a class": """
        x = step(1.0)
        class A:
            made = [x for x in range(3)]
            print(x)  # d2h
        y = step(2.0)
        print([y for y in range(3)])
        print(y)  # d2h
        z = 1
        made = [z for z in (step(3.0), step(4.0))]
        def f():
            print(z)
        f()
    """,
    "their names are their own: a global and a captured name": """
        total = step(1.0)
        def f(data):
            global total
            made = [total for total in data]
            print(total)  # d2h
        f([1])
        def g(data):
            x = 1
            def inner():
                print(x)
            made = [x for x in (step(2.0), step(3.0))]
            inner()
        g([1])
    """,
    "their names are their own: the first iterable is that of the outside": """
        def f(x):
            print([float(x) for x in x])  # d2h
            print([n for x in x for n in (1, 2)])
        f([step(1.0), step(2.0)])
    """,
    "their names are their own: a loop does not bind them": """
        def f(data):
            x = np.ones(3)
            y = step(1.0)
            for i in range(100):
                made = [x for x in data]
                step(x)  # h2d hot
                float(y)  # d2h cold
                made = [float(y) for y in [step(2.0), step(x)]]  # d2h hot, h2d hot
        f([1])
    """,
    "a name that := binds is the function's": """
        def f(data):
            print(any((x := step(n)) is None for n in data))
            print(x)  # d2h
        f([1.0])
        def g(data):
            for i in range(100):
                y = [x := np.ones(n) for n in data]
                step(x)  # h2d
        g([1])
    """,
    "functions inside see their names": """
        n = 1.0
        def f(data):
            made = [lambda: print(n) for n in (step(1.0), step(2.0))]  # d2h
            for g in made:
                g()
        f([1])
        class A:
            made = [lambda: float(x) for x in (step(1.0), step(2.0))]
    """,
    "a list": """
        print([step(v) for v in range(3)][0])  # d2h
        print([float(step(v)) for v in range(3)])  # d2h
        print([v + 1 for v in range(3)])
    """,
    "a dict": """
        d = {k: step(1.0) for k in "ab"}
        print(d["a"])  # d2h
        host = {k: float(v) for k, v in {k: step(1.0) for k in "ab"}.items()}  # d2h
        print(host)
    """,
    "a set": """
        print({float(step(v)) for v in range(3)})  # d2h
    """,
    "a condition": """
        print(len([v for v in range(3) if step(v) > 1]))  # d2h
    """,
    "nested": """
        print([[float(step(v)) for v in row] for row in [[1, 2], [3]]])  # d2h
        print([float(step(v)) for row in [[1, 2], [3]] for v in row])  # d2h
    """,
    "its names stay inside": """
        x = 1
        y = [x for x in [step(1.0)]]
        print(x)
    """,
    "a generator's values": """
        g = (step(v) for v in range(3))
        for v in g:
            print(v)  # d2h
        print(sum(float(step(v)) for v in range(3)))  # d2h
    """,
    "of what was fetched": """
        host = jax.device_get([step(1.0), step(2.0)])
        print([float(v) for v in host])
    """,
    "over an array's rows": """
        x = step(jnp.arange(3.0))
        print([float(v) for v in x])  # d2h
    """,
    "a sum of arrays stays on the device": """
        total = sum(step(v) for v in range(3))
        print(total)  # d2h
        print(sum([1.0, 2.0]))
    """,
}
COMPREHENSION_GAPS: dict[str, str] = {}

GENERATORS = {
    "yield": """
        def made():
            for i in range(3):
                yield i, step(i)
        for i, x in made():
            print(i)
            print(x)  # d2h
    """,
    "yield from": """
        def inner():
            yield step(1.0)
        def outer():
            yield from inner()
        for x in outer():
            print(x)  # d2h
    """,
    "next": """
        def made():
            yield step(1.0)
        print(next(made()))  # d2h
    """,
    "list of one": """
        def made():
            yield step(1.0)
        print(list(made())[0])  # d2h
    """,
    "host values": """
        def made():
            for i in range(3):
                yield float(step(i))  # d2h hot
        for v in made():
            print(v)
    """,
    "what is sent": """
        def echo():
            x = yield 1
            print(x)  # d2h
            yield 2
        g = echo()
        next(g)
        g.send(step(1.0))
    """,
    "what it returns": """
        def inner():
            yield 1
            return step(1.0)
        def outer():
            x = yield from inner()
            print(x)  # d2h
        for v in outer():
            pass
    """,
    "asynchronous": """
        import asyncio
        async def made():
            for i in range(2):
                yield step(i)
        async def one():
            return step(1.0)
        async def main():
            async for x in made():
                print(x)  # d2h
            y = await one()
            print(y)  # d2h
            z, = await asyncio.gather(one())
            print(z)  # d2h
        asyncio.run(main())
    """,
    "through itertools": """
        import itertools
        for i, x in zip(itertools.count(), [step(1.0)]):
            print(x)  # d2h
        for x in itertools.islice((step(v) for v in range(9)), 2):
            print(x)  # d2h
        for x in itertools.chain([step(1.0)], [step(2.0)]):
            print(x)  # d2h
    """,
}
GENERATOR_GAPS: dict[str, str] = {}

FETCHED = {
    "fetched on each way, whichever array it is": """
        def run(flag):
            best = 0.0
            for n in range(10):
                if flag:
                    x = step(n)
                    print(x)  # d2h
                else:
                    x = step(2 * n)
                    print(x)  # d2h
                if n % 2:
                    best = x
                print(x, best)
        run(flag)
    """,
    "fetched on one way, and made anew on the other": """
        def run(flag):
            x = step(1.0)
            if flag:
                print(x)  # d2h
            else:
                x = step(2.0)
            print(x)  # d2h
        run(flag)
    """,
    "made at each turn, on one of two ways, and never named": """
        def run(rate):
            for n in range(10):
                print(step(n) if flag else rate)  # d2h
        run(0.1)
    """,
    "fetched on one way only": """
        def run(flag):
            x = step(1.0)
            y = x
            if flag:
                print(x)  # d2h
            else:
                x = step(2.0)
            print(y)  # d2h
        run(flag)
    """,
    "an array in a dict or list that is written where it is read": """
        import json
        def run():
            for n in range(10):
                x = step(n)
                print(x)  # d2h
                print({"x": x}, [n, x], {f"x/{n}": x})
                print({"x": x, "y": step(n)})  # d2h
        run()
    """,
    "the second fetch of one array is free": """
        x = step(1.0)
        print(x)  # d2h
        print(x)
        float(x)
        np.asarray(x)
    """,
    "a new array is a new fetch": """
        x = step(1.0)
        print(x)  # d2h
        x = step(x)
        print(x)  # d2h
    """,
    "another name for it": """
        x = step(1.0)
        y = x
        print(x)  # d2h
        print(y)
    """,
    "what is computed from it is new": """
        x = step(1.0)
        print(x)  # d2h
        print(x + 1)  # d2h
    """,
    "on one path only": """
        def f(flag):
            x = step(1.0)
            if flag:
                print(x)  # d2h
            float(x)  # d2h
        f(False)
        f(True)
    """,
    "on both paths": """
        def f(flag):
            x = step(1.0)
            if flag:
                print(x)  # d2h
            else:
                float(x)  # d2h
            np.asarray(x)
        f(True)
        f(False)
    """,
    "one of two arrays": """
        def f(flag):
            a, b = step(1.0), step(2.0)
            x = a if flag else b
            print(x)  # d2h
            print(a)  # d2h
            print(b)  # d2h
        f(True)
        f(False)
    """,
    "an array or a number": """
        def f(flag):
            a = step(1.0)
            x = a if flag else 2.0
            print(x)  # d2h
            print(a)  # d2h
        f(True)
        f(False)
    """,
    "two arrays that change places": """
        def f(n):
            a, b = step(1.0), 2.0
            for i in range(n):
                a, b = b, a
            print(a)  # d2h
            print(b)  # d2h
        f(1)
        f(2)
    """,
    "before the loop": """
        def f():
            x = step(1.0)
            float(x)  # d2h
            for i in range(3):
                print(x)
        f()
    """,
    "once in a loop of turns that do not change it": """
        def f():
            x = step(1.0)
            for i in range(3):
                x = step(x)
                print(x)  # d2h hot
                float(x)
        f()
    """,
    "device_get fetches": """
        x = step(1.0)
        h = jax.device_get(x)
        print(x)
        print(h)
    """,
    "block_until_ready does not": """
        x = step(1.0).block_until_ready()
        print(x)  # d2h
        y = jax.block_until_ready(step(2.0))
        print(y)  # d2h
    """,
    "in a function that is called": """
        def show(x):
            print(x)  # d2h
        x = step(1.0)
        show(x)
        float(x)
    """,
    "before a function that is called": """
        def show(x):
            print(x)
        x = step(1.0)
        float(x)  # d2h
        show(x)
    """,
    "an attribute": """
        class T:
            pass
        t = T()
        t.x = step(1.0)
        print(t.x)  # d2h
        print(t.x)
        t.x = step(2.0)
        print(t.x)  # d2h
    """,
    "an attribute of an attribute": """
        class T:
            pass
        t, u = T(), T()
        u.t = t
        u.t.x = step(1.0)
        print(u.t.x)  # d2h
        print(u.t.x)
    """,
    "an attribute of self": """
        class T:
            def __init__(self):
                self.x = step(1.0)
            def f(self):
                print(self.x)  # d2h
                print(self.x)
        T().f()
    """,
    "an item of a list": """
        m = [step(1.0)]
        print(m[0])  # d2h
        print(m[0])
    """,
    "an item of a dict": """
        m = {"loss": step(1.0)}
        print(m["loss"])  # d2h
        print(m["loss"])
    """,
    "parts of a fetched whole": """
        pair = (step(1.0), step(2.0))
        print(pair)  # d2h
        print(pair[0])
    """,
    "a row of a fetched array is a new array": """
        x = step(jnp.ones(3))
        print(x)  # d2h
        print(x[0])  # d2h
    """,
    "in the test of a loop": """
        def f():
            x = step(1.0)
            while x < 5:  # d2h hot
                x = step(x)
            print(x)  # d2h
        f()
    """,
    "the shape and the type fetch nothing": """
        x = step(1.0)
        print(x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.sharding, x.itemsize)
        print(len(step(jnp.ones(3))), type(x), id(x))
        print(x)  # d2h
    """,
}
FETCHED_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(BRANCHES, BRANCH_GAPS))
def test_branches(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(NARROWING, NARROWING_GAPS))
def test_narrowing(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(LOOPS, LOOP_GAPS))
def test_loops(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(BLOCKS, BLOCK_GAPS))
def test_try_with_match_and_assert(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(COMPREHENSIONS, COMPREHENSION_GAPS))
def test_comprehensions(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(GENERATORS, GENERATOR_GAPS))
def test_generators(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(FETCHED, FETCHED_GAPS))
def test_what_is_fetched_already(text: str) -> None:
    check_marks(text)
