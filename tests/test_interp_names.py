"""Names and containers: a value keeps its place through every form of assignment, and in what holds it."""

import pytest

from snippets import check_marks, rows

ASSIGNMENTS = {
    "a name": """
        x = step(1.0)
        print(x)  # d2h
        x = 1
        print(x)
    """,
    "a name for a name": """
        x = y = step(1.0)
        z = y
        print(z)  # d2h
    """,
    "chained to different targets": """
        a = b, c = step(1.0), np.ones(3)
        print(b)  # d2h
        print(c)
    """,
    "of a pair": """
        a, b = step(1.0), 2
        print(b)
        print(a)  # d2h
    """,
    "of a list of names": """
        [a, b] = step(1.0), 2
        print(b)
        print(a)  # d2h
    """,
    "nested": """
        (a, (b, c)), d = (1, (step(1.0), 2)), 3
        print(a, c, d)
        print(b)  # d2h
    """,
    "of a swap": """
        a, b = step(1.0), 2
        a, b = b, a
        print(a)
        print(b)  # d2h
    """,
    "starred at the end": """
        a, *rest = 1, step(1.0), step(2.0)
        print(a)
        print(rest[0])  # d2h
    """,
    "starred in the middle": """
        a, *mid, z = 1, step(1.0), step(2.0), "z"
        print(a, z)
        print(mid[1])  # d2h
    """,
    "starred of an unknown number": """
        def f(values):
            first, *rest = [step(v) for v in values]
            print(first)  # d2h
            print(rest[0])  # d2h
        f([1.0, 2.0])
    """,
    "of an array's rows fetches nothing itself": """
        a, b = step(np.ones(2))  # h2d
        print(a)  # d2h
    """,
    "of a function's pair": """
        def both():
            return step(1.0), "name"
        x, name = both()
        print(name)
        print(x)  # d2h
    """,
    "augmented": """
        total = 0.0
        total += step(1.0)
        print(total)  # d2h
        count = 0
        count += 1
        print(count)
    """,
    "augmented by a host value stays on the device": """
        x = step(1.0)
        x *= 2
        print(x)  # d2h
    """,
    "augmented of a host array by a device one makes it one of the device": """
        n = np.zeros(3)
        n += step(1.0)  # h2d
        print(n)  # d2h
    """,
    "of a host array and a device one": """
        n = np.zeros(3)
        n = n + step(1.0)  # h2d
        print(n)  # d2h
    """,
    "walrus in a test": """
        if (x := step(1.0)) is not None:
            print(x)  # d2h
    """,
    "walrus in a loop, whose test fetches the answer and not the value": """
        def f(n):
            while (err := step(n)) > 2.5:  # d2h hot
                n = n - 1
            return float(err)  # d2h
        f(3)
    """,
    "walrus in a comprehension": """
        found = [y for v in range(3) if (y := step(v)) > 1]  # d2h
        print(y)  # d2h
    """,
    "walrus in an argument": """
        print(y := step(1.0))  # d2h
        float(y)
    """,
    "annotated": """
        x: jax.Array = step(1.0)
        n: float = 2.0
        print(n)
        print(x)  # d2h
    """,
    "annotated without a value": """
        x: jax.Array
        x = step(1.0)
        print(x)  # d2h
    """,
    "deleted and made anew": """
        x = step(1.0)
        del x
        x = 2
        print(x)
    """,
    "global": """
        LAST = None
        def keep():
            global LAST
            LAST = step(1.0)
        keep()
        print(LAST)  # d2h
    """,
    "nonlocal": """
        def outer():
            last = None
            def keep():
                nonlocal last
                last = step(1.0)
            keep()
            print(last)  # d2h
        outer()
    """,
    "a name read by a function defined before it": """
        def show():
            print(X)  # d2h
        X = step(1.0)
        show()
    """,
    "a local name hides a global one": """
        x = step(1.0)
        def f():
            x = 1
            print(x)
        f()
    """,
    "several on one line": """
        x = step(1.0); y = 2; print(y); print(x)  # d2h
    """,
    "over several lines": """
        x = (
            step(1.0)
            + 1
        )
        print(  # d2h
            "x",
            x,
        )
    """,
}
ASSIGNMENT_GAPS: dict[str, str] = {}

CONTAINERS = {
    "NumPy asks an array for its shape, and makes an array of a list": """
        rows = [step(1.0), step(2.0)]
        np.size(rows)  # d2h cold
        np.shape(step(1.0))
        either = step(1.0) if len([]) else [step(2.0)]
        np.ndim(either)
    """,
    "a slice is assigned item by item": """
        def f():
            xs = [0, 0]
            xs[:] = [step(1.0), step(2.0)]
            float(xs[0])  # d2h
            ys = [0, 0, 0]
            ys[1:] = (float(step(3.0)), 2)  # d2h
            print(ys[0])
        f()
    """,
    "what is looked for in a list is compared": """
        def f():
            x = step(1.0)
            print([1, 2].index(x))  # d2h
            print([1, 2].count(step(2.0)))  # d2h
            [1, 2].remove(step(3.0))  # d2h
            print([1, 2].index(1), [step(4.0)].count(None))
        f()
    """,
    "a display evaluates a key before its value": """
        def f(x):
            x = step(x)
            d = {
                float(x):  # d2h
                    float(x),
                **{"a": float(x)},
            }
        f(1.0)
    """,
    "a display of unknown length evaluates once": """
        def f(xs: list):
            y = step(1.0)
            a = *xs, float(y), y  # d2h
            b = [*xs, [*xs, print(y)]]
            z = step(2.0)
            c = [
                *xs,
                z,
                print(z),  # d2h
            ]
            print(c[0])  # d2h
        f([1])
    """,
    "an empty one": """
        print([], {}, (), set(), [1, "a"], {"a": 1})
    """,
    "a tuple shows its arrays": """
        pair = (1, step(1.0))
        print(pair[0], len(pair))
        print(pair)  # d2h
    """,
    "a tuple by index, from the end, and by slice": """
        t = (1, step(1.0), step(2.0))
        print(t[0])
        print(t[1])  # d2h
        print(t[-1])  # d2h
        print(t[:1])
    """,
    "a list": """
        values = [step(1.0)]
        print(values[0])  # d2h
        print(len(values))
    """,
    "a list that is appended to": """
        losses = []
        for i in range(3):
            losses.append(step(i))
        print(losses[-1])  # d2h
        print(len(losses))
    """,
    "a list that is extended, added to and inserted in": """
        a, b, c = [], [], []
        a.extend([step(1.0)])
        b += [step(2.0)]
        c.insert(0, step(3.0))
        print(a[0])  # d2h
        print(b[0])  # d2h
        print(c[0])  # d2h
    """,
    "a list that is popped": """
        values = [step(1.0)]
        x = values.pop()
        print(x)  # d2h
    """,
    "a sum of lists": """
        values = [1] + [step(1.0)]
        print(values)  # d2h
        print([0.0] * 3)
    """,
    "a copy of a list": """
        values = [step(1.0)]
        print(list(values)[0])  # d2h
        more = [step(2.0)]
        print(sorted(more, key=id)[0])  # d2h
        again = [step(3.0)]
        print(again.copy()[0])  # d2h
        last = [step(4.0)]
        print(last[:][0])  # d2h
    """,
    "an item that is stored": """
        values = [None, None]
        values[0] = step(1.0)
        print(values[0])  # d2h
    """,
    "a dict by key": """
        d = {"loss": step(1.0), "epoch": 3}
        print(d["epoch"])
        print(d["loss"])  # d2h
    """,
    "a dict that is stored into": """
        d = {}
        d["loss"] = step(1.0)
        d["epoch"] = 1
        print(d["epoch"])
        print(d["loss"])  # d2h
    """,
    "a dict with names of parameters": """
        d = dict(loss=step(1.0), epoch=1)
        print(d["epoch"])
        print(d["loss"])  # d2h
    """,
    "get, setdefault and pop of a dict": """
        d = {"loss": step(1.0), "more": step(2.0), "epoch": 1}
        print(d.get("epoch"))
        print(d.get("loss"))  # d2h
        more = d.pop("more")
        print(more)  # d2h
        e = {}
        print(e.setdefault("a", step(3.0)))  # d2h
    """,
    "update of a dict": """
        d = {"epoch": 1}
        d.update({"loss": step(1.0)})
        d.update(more=step(2.0))
        print(d["loss"])  # d2h
        print(d["more"])  # d2h
        print(d["epoch"])
    """,
    "a dict of a dict": """
        d = {"train": {"loss": step(1.0)}, "n": 1}
        print(d["train"]["loss"])  # d2h
        print(d["n"])
    """,
    "a dict before and after something is stored": """
        d = {"loss": 1.0}
        print(d["loss"])
        d["loss"] = step(1.0)
        print(d["loss"])  # d2h
    """,
    "unpacked into another dict": """
        d = {"loss": step(1.0)}
        e = {**d, "epoch": 1}
        print(e["loss"])  # d2h
        print(e["epoch"])
        f = {"a": 1} | {"loss": step(2.0)}
        print(f["loss"])  # d2h
    """,
    "unpacked into another list": """
        d = [step(1.0)]
        e = [0, *d]
        print(e[1])  # d2h
        more = [step(2.0)]
        t = (*more, 1)
        print(t)  # d2h
    """,
    "items, keys and values of a dict": """
        d = {"a": step(1.0), "b": step(2.0)}
        for k, v in d.items():
            print(k)
            print(v)  # d2h
        for k in d.keys():
            print(k)
        for k in d:
            print(k)
        e = {"a": step(1.0)}
        for v in e.values():
            print(v)  # d2h
    """,
    "enumerate and zip": """
        for i, v in enumerate([step(1.0)]):
            print(i)
            print(v)  # d2h
        for a, b in zip([1, 2], [step(1.0), step(2.0)]):
            print(a)
            print(b)  # d2h
    """,
    "next, reversed and iter": """
        print(next(iter([step(1.0)])))  # d2h
        for v in reversed([step(2.0)]):
            print(v)  # d2h
    """,
    "defaultdict, deque, Counter, OrderedDict": """
        from collections import Counter, OrderedDict, defaultdict, deque
        d = defaultdict(list)
        d["a"].append(step(1.0))
        print(d["a"][0])  # d2h
        q = deque(maxlen=3)
        q.append(step(2.0))
        print(q[-1])  # d2h
        o = OrderedDict()
        o["a"] = step(3.0)
        print(o["a"])  # d2h
        c = Counter()
        c["a"] += 1
        print(c["a"])
    """,
    "a list in a dict in a list": """
        rows = [{"losses": [step(1.0)]}]
        print(rows[0]["losses"][0])  # d2h
    """,
    "a dict by a key that is computed": """
        d = {}
        for name in ["a", "b"]:
            d[f"loss/{name}"] = step(1.0)
        print(d["loss/a"])  # d2h
    """,
    "a list of pairs unpacked by a loop": """
        pairs = [("a", step(1.0)), ("b", step(2.0))]
        for name, v in pairs:
            print(name)
            print(v)  # d2h
    """,
    "a list of lists unpacked by a loop": """
        for name, v in [["a", step(1.0)], ["b", step(2.0)]]:
            print(name)
            print(v)  # d2h
    """,
    "lists unpacked item by item": """
        pair = [step(1.0), 1]
        v, n = pair
        print(n)
        print(v)  # d2h
        (w, m), k = [[step(2.0), 2], 3]
        print(m, k)
        print(w)  # d2h
    """,
    "a list by an index from its end": """
        pair = [step(1.0), 1]
        print(pair[-1])
        print(pair[-2])  # d2h
        longer = [0, 1]
        longer.append(step(2.0))
        print(longer[-1])  # d2h
    """,
    "a sum of lists of which each item is known": """
        row = [step(1.0)] + ["a", 1]
        print(row[1], row[-1])
        print(row[0])  # d2h
        v, name, n = row
        print(name)
        more = row + [n for n in range(3)]
        print(more[0])  # d2h
    """,
    "a pair that is one of two": """
        import sys
        pair = (step(1.0), "a") if sys.argv else [2, "b"]
        v, name = pair
        print(name)
        print(v)  # d2h
    """,
    "a list of pairs transposed": """
        pairs = [("a", step(1.0)), ("b", step(2.0))]
        names, losses = zip(*pairs)
        print(names)
        print(losses[0])  # d2h
    """,
    "a set of host values": """
        s = {1, 2}
        s.add(3)
        print(s, 3 in s)
    """,
    "a namespace": """
        from types import SimpleNamespace
        n = SimpleNamespace(loss=step(1.0), epoch=1)
        print(n.epoch)
        print(n.loss)  # d2h
    """,
    "what comes back from device_get": """
        tree = {"loss": step(1.0), "more": [step(2.0)]}
        host = jax.device_get(tree)
        print(host["loss"], host["more"][0])
        for k, v in host.items():
            print(k, np.asarray(v))
    """,
    "what tree.map makes of it": """
        tree = {"a": step(1.0), "b": step(2.0)}
        host = jax.tree.map(np.asarray, tree)  # d2h
        print(host["a"])
        twice = jax.tree.map(lambda v: v * 2, tree)
        print(twice["a"])  # d2h
        names = jax.tree.map(lambda v: v.shape, tree)
        print(names["a"])
    """,
    "numbers of the host from a list of them": """
        values = [1.0, 2.0]
        print(sum(values), max(values), min(values), sorted(values), values[0])
    """,
}
CONTAINER_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(ASSIGNMENTS, ASSIGNMENT_GAPS))
def test_assignments(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(CONTAINERS, CONTAINER_GAPS))
def test_containers(text: str) -> None:
    check_marks(text)
