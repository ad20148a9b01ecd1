"""Heat: the algebra of paces, how it spreads along calls, and the gates of loops as people write them."""

import textwrap
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint.interp.heat import Pace, hotter, spread
from jaxlint.sites import Heat
from snippets import PRELUDE, check_marks, rows

PACES = tuple(Pace)
COOLEST_FIRST = (Pace.SINGLE, Pace.GATED, Pace.ONCE, Pace.ITEMS, Pace.LOOPED_GATED, Pace.LOOPED)
few = settings(max_examples=100, deadline=None)


class TestPace:
    def test_once_is_neutral(self) -> None:
        for a in PACES:
            assert a.then(Pace.ONCE) is a
            assert Pace.ONCE.then(a) is a

    def test_then_is_associative(self) -> None:
        for a, b, c in product(PACES, repeat=3):
            assert a.then(b).then(c) is a.then(b.then(c))

    def test_then_is_monotone_in_how_often_the_whole_runs(self) -> None:
        for a, b, c in product(PACES, repeat=3):
            assert hotter(a, b).then(c) is hotter(a.then(c), b.then(c))

    def test_hotter_is_a_join(self) -> None:
        for a, b, c in product(PACES, repeat=3):
            assert hotter(a, a) is a
            assert hotter(a, b) is hotter(b, a)
            assert hotter(hotter(a, b), c) is hotter(a, hotter(b, c))

    def test_the_order_of_the_join_is_that_of_how_often_code_runs(self) -> None:
        for n, m in product(range(len(PACES)), repeat=2):
            assert hotter(COOLEST_FIRST[n], COOLEST_FIRST[m]) is COOLEST_FIRST[max(n, m)]
        heats = [pace.heat for pace in COOLEST_FIRST]
        assert heats == sorted(heats) == [Heat.COLD] * 3 + [Heat.PERIODIC] * 2 + [Heat.HOT]

    def test_a_loop_makes_hot_and_a_gate_in_it_periodic_wherever_the_function_is_called(self) -> None:
        for outer in PACES:
            assert outer.then(Pace.LOOPED).heat is Heat.HOT
            assert outer.then(Pace.LOOPED).then(Pace.GATED).heat is Heat.PERIODIC
            assert outer.then(Pace.GATED).heat is not Heat.HOT

    def test_a_loop_over_items_is_as_hot_as_what_is_around_it(self) -> None:
        for outer in PACES:
            assert outer.then(Pace.ITEMS).heat is (Heat.PERIODIC if outer is Pace.ONCE else outer.heat)


Graph = dict[int, list[tuple[int, Pace]]]
NODES = range(8)
edges = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(PACES)), max_size=24)
roots_ = st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True)
fixed_ = st.dictionaries(st.sampled_from(NODES), st.sampled_from([Pace.ONCE, Pace.LOOPED]), max_size=2)


def graph_of(listed: list[tuple[int, int, Pace]]) -> Graph:
    graph: Graph = {}
    for caller, callee, pace in listed:
        graph.setdefault(caller, []).append((callee, pace))
    return graph


def by_rounds(roots: list[int], graph: Graph, fixed: dict[int, Pace]) -> dict[int, Pace]:
    """What `spread` promises, slowly: all edges again and again until nothing changes."""
    paces = {root: fixed.get(root, Pace.ONCE) for root in roots}
    while True:
        before = dict(paces)
        for caller, out in graph.items():
            for callee, local in out if caller in paces else ():
                new = fixed.get(callee, paces[caller].then(local))
                paces[callee] = hotter(paces.get(callee, new), new)
        if paces == before:
            return paces


class TestSpread:
    @few
    @given(roots_, edges, fixed_)
    def test_gives_the_least_paces_that_all_calls_allow_in_any_graph(
        self, roots: list[int], listed: list[tuple[int, int, Pace]], fixed: dict[int, Pace]
    ) -> None:
        assert spread(roots, graph_of(listed), fixed) == by_rounds(roots, graph_of(listed), fixed)

    @few
    @given(roots_, edges, fixed_, st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(PACES)))
    def test_one_call_more_makes_nothing_cooler(
        self,
        roots: list[int],
        listed: list[tuple[int, int, Pace]],
        fixed: dict[int, Pace],
        added: tuple[int, int, Pace],
    ) -> None:
        before = spread(roots, graph_of(listed), fixed)
        after = spread(roots, graph_of([*listed, added]), fixed)
        for node, pace in before.items():
            assert hotter(pace, after[node]) is after[node]

    @few
    @given(roots_, edges, fixed_)
    def test_the_order_of_roots_and_calls_is_of_no_matter(
        self, roots: list[int], listed: list[tuple[int, int, Pace]], fixed: dict[int, Pace]
    ) -> None:
        there = spread(roots, graph_of(listed), fixed)
        back = spread(roots[::-1], graph_of(listed[::-1]), fixed)
        assert there == back

    @few
    @given(roots_, edges, fixed_)
    def test_what_is_fixed_stays_and_what_nobody_calls_has_no_pace(
        self, roots: list[int], listed: list[tuple[int, int, Pace]], fixed: dict[int, Pace]
    ) -> None:
        paces = spread(roots, graph_of(listed), fixed)
        assert all(paces[node] is pace for node, pace in fixed.items() if node in paces)
        assert set(roots) <= set(paces) <= set(roots) | {callee for _, callee, _ in listed}

    def test_a_long_chain_of_calls_keeps_the_loop_at_its_head(self) -> None:
        chain: Graph = {n: [(n + 1, Pace.ONCE)] for n in range(1, 5_000)}
        paces = spread([0], {0: [(1, Pace.LOOPED)], **chain}, {})
        assert paces[5_000] is Pace.LOOPED
        paces = spread([0], {0: [(1, Pace.LOOPED)], **chain}, {2_500: Pace.ONCE})
        assert (paces[2_499], paces[5_000]) == (Pace.LOOPED, Pace.ONCE)


LOOP = """\
import math
import random
import time
import logging

def train(x, data, n, last, debug, verbose, args, cfg, config, milestones, num_steps, every, is_main, done, logger):
    last_time = time.time()
    next_eval = 0
    for i in range(num_steps):
        x = step(x)
"""
IN_LOOP = " " * 8

RARE = (
    "i % n == 0",
    "i % 100 == 0",
    "0 == i % 100",
    "not i % n",
    "not (i % n)",
    "i % n == n - 1",
    "(i + 1) % n == 0",
    "i % n < 1",
    "i % args.log_every == 0",
    "i % config['n'] == 0",
    "i % n == 0 and i > 0",
    "i > 0 and i % n == 0",
    "i and i % n == 0",
    "is_main and i % n == 0",
    "jax.process_index() == 0 and i % n == 0",
    "i % n == 0 and not done",
    "args.log_every and i % args.log_every == 0",
    "i % n == 0 or i == num_steps - 1",
    "(i % n == 0) or (i + 1 == num_steps)",
    "i % n == 0 or debug",
    "not (i % n != 0)",
    "i == 0",
    "0 == i",
    "i == num_steps - 1",
    "i == len(data) - 1",
    "i + 1 == args.steps",
    "i in (0, 10, 100)",
    "i in milestones",
    "debug",
    "args.debug",
    "self_debug",
    "cfg.verbose",
    "verbose",
    "verbose > 1",
    "debug and i > 3",
    "args.dry_run",
    "every(i)",
    "cfg.should_log(i)",
    "should_log",
    "logger.should_log(i)",
    "time.time() - last > 10",
    "time.time() - last_time >= args.interval",
    "time.perf_counter() - last > 10.0",
    "last_time + 10 < time.time()",
    "i < 3",
    "config['debug']",
    "config.get('verbose', False)",
    "logger.isEnabledFor(logging.DEBUG)",
    "np.mod(i, n) == 0",
    "(i & 63) == 0",
    "i >= next_eval",
    "next_eval <= i",
    "random.random() < 0.01",
    "is_log_step",
    "log_now",
)
OFTEN = (
    "i % n",
    "i % n != 0",
    "i % n > 0",
    "0 != i % n",
    "not i % n == 0",
    "i != 0",
    "i > 0",
    "i >= 10",
    "i not in milestones",
    "not debug",
    "done",
    "x is not None",
    "is_main",
    "jax.process_index() == 0",
    "jax.process_index() == 0 and not done",
    "args.rank == 0",
    "args.save",
    "n == 0",
    "len(data) == n",
    "isinstance(data, list)",
    "i % n == 0 or done",
    "'%d' % n == args.name",
    "args.use_wandb",
    "logger is not None",
)
RARE_GAPS: dict[str, str] = {}
OFTEN_GAPS: dict[str, str] = {}


def parameters(listed: tuple[str, ...], gaps: dict[str, str]) -> list[object]:
    assert set(gaps) <= set(listed)
    return [
        pytest.param(test, marks=[pytest.mark.xfail(strict=True, reason=gaps[test])] if test in gaps else [])
        for test in listed
    ]


@pytest.mark.parametrize("test", parameters(RARE, RARE_GAPS))
def test_behind_a_rare_test_in_a_loop_code_is_periodic_and_on_the_other_branch_hot(test: str) -> None:
    check_marks(
        f"{PRELUDE}{LOOP}{IN_LOOP}if {test}:\n"
        f"{IN_LOOP}    print(x)  # d2h periodic\n"
        f"{IN_LOOP}else:\n"
        f"{IN_LOOP}    print(x)  # d2h hot\n"
    )


@pytest.mark.parametrize("test", parameters(OFTEN, OFTEN_GAPS))
def test_behind_a_test_that_mostly_holds_in_a_loop_code_is_hot(test: str) -> None:
    check_marks(f"{PRELUDE}{LOOP}{IN_LOOP}if {test}:\n{IN_LOOP}    print(x)  # d2h hot\n")


@pytest.mark.parametrize("test", ["i % n", "i % n != 0", "i % n > 0", "not i % n == 0", "not debug", "i != 0"])
def test_what_follows_a_way_out_of_the_turn_that_is_mostly_taken_is_periodic(test: str) -> None:
    check_marks(f"{PRELUDE}{LOOP}{IN_LOOP}if {test}:\n{IN_LOOP}    continue\n{IN_LOOP}print(x)  # d2h periodic\n")


@pytest.mark.parametrize("test", ["i % n", "i % n != 0", "i % n > 0", "not i % n == 0", "not debug"])
def test_what_follows_a_way_out_of_the_function_that_is_mostly_taken_is_periodic(test: str) -> None:
    function = f"def log(i, x, n, debug):\n    if {test}:\n        return\n    print(x)  # d2h periodic\n"
    check_marks(
        f"{PRELUDE}{function}\ndef f(n, debug):\n    for i in range(99):\n        log(i, step(1.0), n, debug)\n"
    )


@pytest.mark.parametrize("test", ["i % n == 0", "not i % n", "debug", "i == 0", "done", "is_main"])
def test_what_follows_a_way_out_that_is_rarely_taken_is_hot(test: str) -> None:
    check_marks(f"{PRELUDE}{LOOP}{IN_LOOP}if {test}:\n{IN_LOOP}    continue\n{IN_LOOP}print(x)  # d2h hot\n")


@pytest.mark.parametrize("test", ["i % n == 0", "debug", "jax.process_index() == 0"])
def test_outside_of_loops_a_test_makes_nothing_periodic(test: str) -> None:
    check_marks(f"{PRELUDE}def once(x, i, n, debug):\n    if {test}:\n        print(step(x))  # d2h cold\n")


RARE_IN_OTHER_WORDS = [
    "if (now := i % n == 0):",
    "if (now := (i % n == 0)) and x:  # d2h hot",
    "if (k := i % n) == 0:",
    "now: bool = i % n == 0\nif now:",
    "now = (again := i % n == 0)\nif now:",
    "(now := i % n == 0)\nif now:",
    "match i % n:\n  case 0:",
    "match i % n:\n  case 0 | 1:",
    "match i % n:\n  case 0 as k:",
    "match i % n == 0:\n  case True:",
    "match i % n != 0:\n  case False:",
    "match debug:\n  case True:",
    "match i:\n  case 3:",
    "match i:\n  case k if k % n == 0:",
    "match x:\n  case y if (k := i % n) == 0:",
]
COMMON_IN_OTHER_WORDS = [
    "if (k := i % n):",
    "often: bool = i % n != 0\nif often:",
    "match i % n:\n  case 0: pass\n  case _:",
    "match i % n:\n  case _ if i % n:",
    "match i % n == 0:\n  case False:",
    "match mode:\n  case 'train':",
    "match i:\n  case 3 | _:",
]


@pytest.mark.parametrize(
    ("lines", "heat"),
    [*((lines, "periodic") for lines in RARE_IN_OTHER_WORDS), *((lines, "hot") for lines in COMMON_IN_OTHER_WORDS)],
)
def test_a_test_in_other_words_is_as_rare_or_common(lines: str, heat: str) -> None:
    around = lines.replace("\n", f"\n{IN_LOOP}")
    check_marks(f"{PRELUDE}{LOOP}{IN_LOOP}{around}\n{IN_LOOP}    print(step(1.0))  # d2h {heat}\n")


@pytest.mark.parametrize(
    ("tests", "heat"),
    [
        ("if i % 100 == 0", "periodic"),
        ("if i == 0", "periodic"),
        ("if x if i % 100 == 0 if x", "periodic"),
        ("if i % 100 == 0 for y in x", "hot"),  # the inner loop is one of its own
        ("if (k := i % 100) == 0", "periodic"),
        ("if i % 100", "hot"),
        ("if i % 100 == 0 or x", "hot"),
        ("", "hot"),
    ],
)
def test_the_tests_of_a_comprehension_are_tests(tests: str, heat: str) -> None:
    check_marks(
        f"{PRELUDE}def f(xs):\n    return [\n        float(step(x))  # d2h {heat}\n"
        f"        for i, x in enumerate(xs) {tests}\n    ]\n"
    )


SHAPES = {
    "a test that is put somewhere, and asked there": """
        import c
        for i in range(1000):
            m = step(i)
            t = True if (i + 1) % c.n == 0 else False
            if t:
                print(m)  # d2h periodic
        for i in range(1000):
            m = step(i)
            a, b = i % c.a == 0, i % 10 == 0
            if a or b:
                print(m)  # d2h periodic
        for i in range(1000):
            m = step(i)
            a, b = [True if i % f == 0 else False for f in (c.a, c.b)]
            if b:
                print(m)  # d2h periodic
        for i in range(1000):
            m = step(i)
            due = [i % f == 0 for f in (c.a, c.b)]
            if due[0]:
                print(m)  # d2h periodic
        for i in range(1000):
            m = step(i)
            due = {"log": i % c.a == 0, "all": c.b}
            if due["log"]:
                print(m)  # d2h periodic
            if due["all"]:
                print(m + 1)  # d2h hot
        for i in range(1000):
            m = step(i)
            t = False if i % c.n == 0 else True
            if t:
                print(m)  # d2h hot
    """,
    "a test that is given": """
        def log(m, now, where=None):
            if not now:
                return
            print(m)  # d2h periodic
        def show(m, now=True):
            if now:
                print(m)  # d2h hot
        for i in range(1000):
            log(step(i), i % 10 == 0)
            log(step(i), now=i % 10 == 0, where=1)
            show(step(i), i % 10 == 0)
            show(step(i))
    """,
    "a list made of the items of a dict is as rare as the dict": """
        class Log:
            def __init__(self):
                self.names = None
            def write(self, row):
                if self.names is None:
                    self.names = [k for k, v in row.items() if not isinstance(v, str)]
                print(",".join([str(row.get(k, "")) for k in self.names]))  # d2h periodic
        log = Log()
        for i in range(1000):
            row = {"a": step(i), "b": step(i + 1)}
            if i % 10 == 0:
                log.write(row)
    """,
    "a list made of other things is not": """
        class Log:
            def __init__(self, paths):
                self.names = [p for p in paths]
            def write(self, x):
                for k in self.names:
                    print(step(x))  # d2h hot
        log = Log(open("paths"))
        for i in range(1000):
            if i % 10 == 0:
                log.write(i)
    """,
    "a loop": """
        def f(x):
            print(step(x))  # d2h cold
            for i in range(99):
                x = step(x)
                print(x)  # d2h hot
            print(step(x))  # d2h cold
    """,
    "while, and what follows it": """
        def f(x):
            while True:
                x = step(x)
                if float(x) < 1e-3:  # d2h hot
                    break
            print(step(x))  # d2h cold
    """,
    "the condition of while": """
        def f(x):
            while float(step(x)) > 1:  # d2h hot
                pass
    """,
    "the iterable of for is evaluated once": """
        def f(x, n):
            for i in range(int(step(x))):  # d2h cold
                pass
    """,
    "else of a loop": """
        def f(x):
            for i in range(9):
                x = step(x)
            else:
                print(x)  # d2h cold
    """,
    "a counter of one's own": """
        def f(x, n):
            count = 0
            while count < 1000:
                x = step(x)
                count += 1
                if count % n == 0:
                    print(x)  # d2h periodic
    """,
    "a counter of one's own compared for being the first": """
        def f(x, n):
            count = 0
            while count < 1000:
                x = step(x)
                if count == 0:
                    print(x)  # d2h periodic
                count += 1
    """,
    "a counter on self": """
        class T:
            def __init__(self):
                self.steps = 0
            def f(self, x, n):
                while True:
                    x = step(x)
                    self.steps += 1
                    if self.steps % n == 0:
                        print(x)  # d2h periodic
    """,
    "enumerate": """
        def f(x, loader, n):
            for i, batch in enumerate(loader):
                x = step(x)
                if i == 0:
                    print(x)  # d2h periodic
    """,
    "the test under a name": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                log = i % n == 0
                if log:
                    print(x)  # d2h periodic
    """,
    "the test in a function": """
        def due(i, n):
            return i % n == 0

        def f(x, n):
            for i in range(999):
                x = step(x)
                if due(i, n):
                    print(x)  # d2h periodic
    """,
    "elif": """
        def f(x, n, done):
            for i in range(999):
                x = step(x)
                if done:
                    pass
                elif i % n == 0:
                    print(x)  # d2h periodic
    """,
    "elif after a gate is mostly reached": """
        def f(x, n, done):
            for i in range(999):
                x = step(x)
                if i % n == 0:
                    pass
                elif done:
                    print(x)  # d2h hot
    """,
    "a ternary": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                y = float(x) if i % n == 0 else None  # d2h periodic
    """,
    "the other side of a ternary": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                y = None if i % n else float(x)  # d2h periodic
    """,
    "a short circuit": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                i % n == 0 and print(x)  # d2h periodic
    """,
    "a short circuit by or": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                i % n or print(x)  # d2h periodic
    """,
    "the fetch behind the gate in one test": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                if i % n == 0 and float(x) > 1:  # d2h periodic
                    pass
    """,
    "the fetch before the gate in one test": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                if float(x) > 1 and i % n == 0:  # d2h hot
                    pass
    """,
    "a function called behind a gate": """
        def log(x):
            print(x)  # d2h periodic
        def f(x, n):
            for i in range(999):
                x = step(x)
                if i % n == 0:
                    log(x)
    """,
    "a function with a gate called in a loop": """
        def log(i, x, n):
            if i % n == 0:
                print(x)  # d2h periodic
        def f(x, n):
            for i in range(999):
                x = step(x)
                log(i, x, n)
    """,
    "a function called behind a gate and without": """
        def log(x):
            print(x)  # d2h hot
        def f(x, n):
            for i in range(999):
                x = step(x)
                log(x)
                if i % n == 0:
                    log(x + 1)
    """,
    "a function called in a loop and out of it": """
        def log(x):
            print(x)  # d2h hot
        def f(x):
            log(step(x))
            for i in range(999):
                x = step(x)
                log(x)
    """,
    "a loop behind a gate": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                if i % n == 0:
                    for j in range(99):
                        print(step(x))  # d2h hot
    """,
    "a gate around a gate": """
        def f(x, n):
            for i in range(999):
                x = step(x)
                if i % n == 0:
                    if i % 1000 == 0:
                        print(x)  # d2h periodic
    """,
    "after the inner loop": """
        def f(x, n):
            for epoch in range(9):
                for i in range(99):
                    x = step(x)
                print(x)  # d2h hot
    """,
    "a gate of the outer loop around the inner one's result": """
        def f(x, n):
            for epoch in range(9):
                for i in range(99):
                    x = step(x)
                if epoch % n == 0:
                    print(x)  # d2h periodic
    """,
    "the way out of an outer loop is not that of the inner one": """
        def f(x, n):
            for i in range(99):
                if i % n:
                    continue
                x = step(x)
                for j in range(99):
                    x = step(x)
                    print(x)  # d2h hot
                print(x)  # d2h periodic
    """,
    "a way out with an else": """
        def f(x, n):
            for i in range(99):
                x = step(x)
                if i % n:
                    continue
                else:
                    print(x)  # d2h periodic
    """,
    "a way out after other statements": """
        def f(x, n):
            for i in range(99):
                x = step(x)
                if i % n:
                    x = x * 2
                    continue
                print(x)  # d2h periodic
    """,
    "few items written out": """
        def f(x):
            for name in ("a", "b"):
                print(name, step(x))  # d2h cold
    """,
    "many items written out": """
        def f(x):
            for name in (1, 2, 3, 4, 5, 6, 7, 8, 9):
                print(name, step(x))  # d2h hot
    """,
    "a comprehension": """
        def f(x):
            return [float(step(v)) for v in range(99)]  # d2h hot
    """,
    "a generator expression": """
        def f(x):
            return sum(float(step(v)) for v in range(99))  # d2h hot
    """,
    "the iterable of a comprehension is evaluated once": """
        def f(x):
            return [v for v in range(int(step(x)))]  # d2h cold
    """,
    "map": """
        def f(x, data):
            def one(v):
                return float(step(v))  # d2h hot
            return list(map(one, data))
    """,
    "a generator that a loop asks": """
        def made(x):
            yield float(step(x))  # d2h hot
            yield 1
        def f(x):
            for epoch in range(99):
                for v in made(x):
                    pass
    """,
    "recursion": """
        def down(x, depth):
            x = step(x)
            if depth:
                down(x, depth - 1)
            print(x)  # d2h hot
        down(1.0, 9)
    """,
    "recursion through a tree: its leaves belong to one step": """
        def show(tree):
            if isinstance(tree, (list, tuple)):
                for part in tree:
                    show(part)
            else:
                print(tree)  # d2h periodic

        def once(part):
            show([step(1.0), [part, step(3.0)]])

        once(step(2.0))
    """,
    "recursion through a tree at each step": """
        def show(tree):
            for part in tree.parts:
                show(part)
            print(step(tree.value))  # d2h hot

        def train(trees):
            for tree in trees:
                show(tree)
    """,
    "recursion through numbers": """
        def show(n):
            for i in range(n):
                show(i)
            print(step(1.0))  # d2h hot
    """,
    "mutual recursion": """
        def even(x, depth):
            x = step(x)
            print(x)  # d2h hot
            return odd(x, depth - 1) if depth else x
        def odd(x, depth):
            return even(x, depth - 1) if depth else x
        even(1.0, 9)
    """,
    "a traced function that a loop calls has its fetch at the caller": """
        @jax.jit
        def inner(x):
            for i in range(9):
                x = step(x)
            return x
        def f(x):
            for i in range(99):
                x = inner(x)
                print(x)  # d2h hot
    """,
    "a method called in a loop": """
        class T:
            def log(self, x):
                print(x)  # d2h hot
            def f(self, x):
                for i in range(99):
                    x = step(x)
                    self.log(x)
    """,
    "try in a loop": """
        def f(x):
            for i in range(99):
                try:
                    x = step(x)
                finally:
                    print(x)  # d2h hot
    """,
    "an eager gradient in a loop": """
        def loss(w, batch):
            return jnp.sum(w * batch)  # h2d hot
        def f(w, n):
            for i in range(n):
                w = w - jax.grad(loss)(w, np.ones(3))
        f(jnp.ones(3), 99)
    """,
    "a method that something unknown is asked for in a loop": """
        class Env:
            def act(self, x):
                print(step(x))  # d2h hot
            def reset(self, x):
                print(step(x))  # d2h cold
        def run(env, n):
            env.reset(n)
            for i in range(n):
                env.act(i)
    """,
    "a grid of plots": """
        import matplotlib.pyplot as plt
        def f(images, n):
            x = step(images)
            for i in range(5):
                plt.imshow(x[i])  # d2h cold
            for i in range(n):
                plt.imshow(x[i])  # d2h hot
        f(jnp.ones(3), 99)
    """,
    "what ends the loop": """
        def f(x, xs):
            for i in xs:
                x = step(x)
                if i > 3:
                    print(x)  # d2h cold
                    break
                for j in xs:
                    x = step(x)
                    if j > 3:
                        print(x)  # d2h hot
                        break
                    if j > 2:
                        print(x)  # d2h cold
                        return x
    """,
    "what ends the loop, or goes on": """
        def f(x, xs):
            for i in xs:
                x = step(x)
                if i > 3:
                    print(x)  # d2h hot
                    if i > 4:
                        continue
                    break
    """,
    "an error in a loop that is caught there": """
        def f(x, xs):
            for i in xs:
                try:
                    x = step(x)
                    if i > 3:
                        raise ValueError(f"{x}")  # d2h hot
                except ValueError:
                    pass
    """,
    "an error's message in a loop": """
        def f(x):
            for i in range(99):
                x = step(x)
                if x.ndim > 2:
                    raise ValueError(f"{x}")  # d2h cold
    """,
    "a function that returns, or fails at its end": """
        def f(x, n):
            if n > 3:
                print(step(x))  # d2h hot
                return x
            for i in range(n):
                if i:
                    return step(x)
            print(step(x))  # d2h hot
            raise ValueError(f"{step(x)}")  # d2h cold
        for i in range(99):
            f(1.0, i)
    """,
    "a function that fails at its end": """
        def f(x, n):
            print(step(x))  # d2h cold
            raise ValueError
        for i in range(99):
            if i > 3:
                f(1.0, i)
    """,
    "a loop that ends, or fails at its end": """
        for i in range(99):
            print(step(i))  # d2h hot
            if i > 3:
                print(step(i))  # d2h hot
                if i > 4:
                    print(step(i))  # d2h cold
                    break
                raise ValueError
    """,
    "a list written so many times": """
        def f(n):
            few, many, some, twice = [0.0] * 3, [0.0] * 9, [0.0] * n, ["a", "b"] * 2
            for x in few:
                print(step(x))  # d2h cold
            for x in twice:
                print(step(1.0))  # d2h cold
            for x in many:
                print(step(x))  # d2h hot
            for x in some:
                print(step(x))  # d2h hot
    """,
    "a progress bar over few items under a name": """
        from tqdm import tqdm
        def f(n, data):
            names = ["a", "b"]
            for name in tqdm(names):
                print(step(1.0))  # d2h cold
            for name in tqdm(data[:3]):
                print(step(1.0))  # d2h cold
            for name in tqdm(data):
                print(step(1.0))  # d2h hot
    """,
    "cold on a for": """
        def f(x):
            for i in range(99):  # jaxlint: cold
                x = step(x)
                print(x)  # d2h cold
    """,
    "cold on a while": """
        def f(x):
            while True:  # jaxlint: cold
                x = step(x)
                print(x)  # d2h cold
    """,
    "hot on a few items": """
        def f(x):
            for name in ("a", "b"):  # jaxlint: hot
                print(name, step(x))  # d2h hot
    """,
    "hot on a function": """
        def f(x):  # jaxlint: hot
            x = step(x)
            print(x)  # d2h hot
    """,
    "hot on a function with a gate": """
        def f(x, i, n):  # jaxlint: hot
            x = step(x)
            if i % n == 0:
                print(x)  # d2h periodic
    """,
    "hot on a function reaches what it calls": """
        def log(x):
            print(x)  # d2h hot
        def f(x):  # jaxlint: hot
            log(step(x))
    """,
    "cold on a function that a loop calls": """
        def log(x):  # jaxlint: cold
            print(x)  # d2h cold
        def f(x):
            for i in range(99):
                x = step(x)
                log(x)
    """,
    "cold on a function reaches what it calls": """
        def show(x):
            print(x)  # d2h cold
        def log(x):  # jaxlint: cold
            show(x)
        def f(x):
            for i in range(99):
                x = step(x)
                log(x)
    """,
    "cold on a decorated method": """
        class T:
            @staticmethod
            def log(x):  # jaxlint: cold
                print(x)  # d2h cold
            def f(self, x):
                for i in range(99):
                    x = step(x)
                    self.log(x)
    """,
    "cold on one of two loops": """
        def f(x):
            for i in range(99):
                x = step(x)
                for j in range(9):  # jaxlint: cold
                    print(step(x))  # d2h hot
    """,
    "the names of a displayed dict": """
        SIZES = {"small": 1, "large": 2}
        NAMES = tuple(SIZES)
        for name in NAMES:
            print(step(1.0))  # d2h cold
    """,
    "what init runs is as hot as init": """
        import flax.linen as nn
        class Model(nn.Module):
            def __call__(self, x):
                for _ in range(self.count):
                    x = jnp.sin(x) + jnp.cos(np.ones(3))  # h2d cold
                return x
        Model().init(jax.random.key(0), step(1.0))
    """,
    "init in a loop": """
        import flax.linen as nn
        class Model(nn.Module):
            def __call__(self, x):
                return x + jnp.cos(np.ones(3))  # h2d hot
        for _ in range(100):
            Model().init(jax.random.key(0), step(1.0))
    """,
    "a rare name that is always true": """
        verbose = True
        for n in range(100):
            if verbose:
                print(step(n))  # d2h hot
    """,
}
SHAPE_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(SHAPES, SHAPE_GAPS))
def test_heat_is_as_marked(text: str) -> None:
    check_marks(text)


def test_the_loop_of_the_tables_is_hot() -> None:
    """Without this, a table of rare tests would prove nothing."""
    check_marks(f"{PRELUDE}{LOOP}{textwrap.indent('print(x)  # d2h hot', IN_LOOP)}\n")
