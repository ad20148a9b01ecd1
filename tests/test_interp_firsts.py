"""What is made when it is first asked for and kept runs once, however many loops are around it."""

import textwrap

import pytest

from snippets import PRELUDE, check_marks, rows

TRAINER = textwrap.dedent("""
    class Trainer:
        def __init__(self):
            self.data = None
            self.named = {{}}

        {method}

    trainer = Trainer()
    for i in range(100):
        trainer.load(i)
""")

KEPT = {
    "an attribute that is None at first": """def load(self, i):
            if self.data is None:
                self.data = float(step(1.0))  # d2h cold
            return self.data""",
    "what is there already is given back": """def load(self, i):
            if self.data is not None:
                return self.data
            self.data = float(step(1.0))  # d2h cold
            return self.data""",
    "an attribute that is not there at first": """def load(self, i):
            if not hasattr(self, "made"):
                self.made = float(step(1.0))  # d2h cold""",
    "an attribute under another name": """def load(self, i):
            if (data := self.data) is None:
                data = self.data = float(step(1.0))  # d2h cold
            return data""",
    "what is there under another name": """def load(self, i):
            if (data := self.data) is not None:
                return data
            self.data = float(step(1.0))  # d2h cold""",
    "an item of a dict that is kept": """def load(self, i):
            if "key" not in self.named:
                self.named["key"] = float(step(1.0))  # d2h cold""",
    "one of several values that are kept": """def load(self, i):
            if self.data is None:
                self.data, self.more = float(step(1.0)), 2  # d2h cold""",
    "a loop in what runs once": """def load(self, i):
            if self.data is None:
                self.data = [float(step(x)) for x in range(50)]  # d2h hot""",
    "a property that is kept": """@functools.cached_property
        def norm(self):
            return float(step(1.0))  # d2h cold

        def load(self, i):
            return self.norm""",
    "a name of the module": """def load(self, i):
            global kept
            if kept is None:
                kept = float(step(1.0))  # d2h cold""",
}

NOT_KEPT = {
    "what another method takes away": """def load(self, i):
            if self.data is None:
                self.data = float(step(1.0))  # d2h hot

        def reset(self):
            self.data = None""",
    "a local name": """def load(self, i, data=None):
            if data is None:
                data = float(step(1.0))  # d2h hot
            return data""",
    "a test of one attribute, an assignment to another": """def load(self, i):
            if self.data is None:
                self.more = float(step(1.0))  # d2h hot""",
    "the branch where it is there": """def load(self, i):
            if self.data is not None:
                self.data = None
            else:
                self.more = float(step(1.0))  # d2h hot""",
    "the attribute of another object": """def load(self, i, other=None):
            other = Trainer()
            if other.data is None:
                other.data = float(step(1.0))  # d2h hot""",
}

OF_EACH = {
    "made in one turn of a loop": """
        def run(some):
            best = None
            for n in range(100):
                if best is None and some:
                    best = float(step(n))  # d2h cold
                print(step(n) + best)  # d2h hot
        run(flag)
    """,
    "made in one turn of each loop": """
        def run():
            for _ in range(100):
                best = None
                for n in range(100):
                    if best is None:
                        best = float(step(n))  # d2h hot
        run()
    """,
    "asked for in each turn and not kept": """
        def run(best=None):
            for n in range(100):
                if best is None:
                    print(step(n))  # d2h hot
        run()
    """,
    "an object of each turn": """
        import functools

        class Shot:
            def __init__(self, x):
                self.x = x
                self.data = None

            def load(self):
                if self.data is None:
                    self.data = float(self.x)  # d2h hot
                return self.data

            @functools.cached_property
            def mean(self):
                return float(jnp.mean(self.x))  # d2h hot

        def take(x):
            return Shot(x)

        for n in range(100):
            take(step(n)).load()
            take(step(n)).mean
    """,
}


@pytest.mark.parametrize("text", rows(OF_EACH, {}))
def test_what_an_object_of_each_turn_keeps_is_made_each_turn(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("method", rows({**KEPT, **NOT_KEPT}, {}, ""))
def test_what_is_kept_is_made_once(method: str) -> None:
    indented = textwrap.indent(textwrap.dedent("    " * 2 + method), "    ").strip()
    check_marks(PRELUDE + "import functools\nkept = None\n" + TRAINER.format(method=indented))


MEMOISED = {
    "without arguments": """
        import functools

        @functools.cache
        def scale():
            return float(step(1.0))  # d2h cold

        for _ in range(100):
            scale()
    """,
    "for each argument": """
        import functools

        @functools.cache
        def scale(n):
            return float(step(n))  # d2h hot

        for n in range(100):
            scale(n)
    """,
}


@pytest.mark.parametrize("text", rows(MEMOISED, {}))
def test_memoised_functions_without_arguments_run_once(text: str) -> None:
    check_marks(text)


RAISING = {
    "a handler that raises again": """
        def apply(x):
            try:
                if x is None:
                    raise ValueError(f"{step(1.0)}")  # d2h cold
            except Exception as error:
                raise TypeError("apply") from error

        for _ in range(100):
            apply(None)
    """,
    "a handler after which the program goes on": """
        def apply(x):
            try:
                if x is None:
                    raise ValueError(f"{step(1.0)}")  # d2h hot
            except Exception:
                pass

        for _ in range(100):
            apply(None)
    """,
}


@pytest.mark.parametrize("text", rows(RAISING, {}))
def test_what_is_raised_through_all_handlers_is_raised_once(text: str) -> None:
    check_marks(text)


FEW = {
    "pairs of short lists": """
        for n, (name, x) in enumerate(zip(["a", "b"], [step(1.0), step(2.0)])):
            print(name, jnp.sin(x))  # d2h cold
    """,
    "a name for a short list of anything": """
        both = [step(1.0), step(2.0)]
        shown = [float(jnp.sin(x)) for x in both]  # d2h cold
    """,
    "the items of a short dict": """
        named = {"a": step(1.0), "b": step(2.0)}
        for name, x in named.items():
            print(name, jnp.sin(x))  # d2h cold
    """,
    "a list that grows": """
        some = [step(1.0)]
        for n in range(50):
            some.append(step(n))
        for x in some:
            print(jnp.sin(x))  # d2h hot
    """,
    "a dict that grows": """
        named = {"a": step(1.0)}
        for n in range(50):
            named[str(n)] = step(n)
        for x in named.values():
            print(jnp.sin(x))  # d2h periodic
    """,
    "what a caller gives": """
        def show(some):
            for x in some:
                print(jnp.sin(x))  # d2h hot

        show([step(1.0), step(2.0)])
    """,
    "a list with the items of another": """
        def show(rest):
            for x in [step(1.0), *rest]:
                print(jnp.sin(x))  # d2h hot

        show([step(n) for n in range(50)])
    """,
    "a short list inside of a loop": """
        for _ in range(100):
            both = [step(1.0), step(2.0)]
            for x in both:
                print(jnp.sin(x))  # d2h hot
    """,
}


@pytest.mark.parametrize("text", rows(FEW, {}))
def test_short_displays_have_few_turns(text: str) -> None:
    check_marks(text)


def test_an_unknown_special_method_says_nothing_of_other_classes() -> None:
    text = """
        class Trainer:
            def __init__(self):
                self.scale = float(step(1.0))  # d2h cold

        class Others(unknown.Base):
            def __init__(self, makers):
                for make in makers:
                    make.__init__()
    """
    check_marks(PRELUDE + textwrap.dedent(text))


ITEMS = {
    "the items of a dict behind a gate": """
        for i in range(1000):
            metrics = step({"loss": 1.0})
            if i % 10 == 0:
                for name, value in metrics.items():
                    print(name, value)  # d2h periodic
    """,
    "a tree behind a gate": """
        for i in range(1000):
            metrics = step({"loss": 1.0})
            if i % 10 == 0:
                jax.tree.map(lambda x: float(x), metrics)  # d2h periodic
    """,
    "a gate in a function that a loop calls": """
        def report(i, metrics):
            if i % 10 == 0:
                return {name: float(value) for name, value in sorted(metrics.items())}  # d2h periodic

        for i in range(1000):
            report(i, step({"loss": 1.0}))
    """,
    "turns of another kind behind a gate": """
        for i in range(1000):
            if i % 10 == 0:
                for n in range(100):
                    print(step(n))  # d2h hot
    """,
    "a gate within the items": """
        for i in range(1000):
            for value in step({"loss": 1.0}).values():
                if i % 10 == 0:
                    print(value)  # d2h periodic
    """,
}


@pytest.mark.parametrize("text", rows(ITEMS, {}))
def test_items_behind_a_gate_are_periodic(text: str) -> None:
    check_marks(text)


LASTING = {
    "an array that some turns read": """
        x = step(1.0)
        for i in range(100):
            if i < flags.some:
                print(x)  # d2h cold
    """,
    "an array that some turns read in a loop of theirs": """
        x = step(1.0)
        for name in names:
            for i in range(100):
                if name.startswith("d"):
                    print(np.minimum(x, 1))  # d2h cold
    """,
    "an array of each turn": """
        x = step(1.0)
        for i in range(100):
            if i < flags.some:
                print(x)  # d2h hot
            x = step(x)
    """,
    "a list that grows": """
        grown, longer = [step(1.0)], [step(2.0)]
        for i in range(100):
            grown.append(step(i))
            print(np.mean(grown), np.max(longer))  # d2h hot
            longer.extend([step(i)])
    """,
    "a tuple that some turns read": """
        kept = step(1.0), step(2.0)
        for i in range(100):
            if i < flags.some:
                print(np.mean(kept))  # d2h cold
    """,
    "a part of an array that lasts": """
        x = step(jnp.ones(3))
        for i in range(100):
            if i < flags.some:
                print(x[i])  # d2h hot
    """,
}


@pytest.mark.parametrize("text", rows(LASTING, {}))
def test_an_array_that_lasts_is_fetched_once(text: str) -> None:
    check_marks(text)
