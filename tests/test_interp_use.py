"""What a fetched value is for: each program's fetches, marked with the use that a finding must have."""

import re
import textwrap

import pytest

from jaxlint.check import check_text
from jaxlint.findings import Finding
from snippets import PRELUDE

SHOWN = {
    "printed": """
        for n in range(9):
            print(float(step(n)))  # shown
    """,
    "printed later, under a name": """
        for n in range(9):
            loss = float(step(n))  # shown
            if n % 3 == 0:
                print(n, loss)
    """,
    "formatted": """
        for n in range(9):
            text = f"{step(n).item():.3f}"  # shown
    """,
    "formatted by a method and by an operator": """
        a = float(step(1))  # shown
        b = float(step(2))  # shown
        print("loss {:.3f}".format(a))
        print("loss %.3f" % b)
    """,
    "logged": """
        import logging
        log = logging.getLogger()
        for n in range(9):
            log.info("loss %s", np.asarray(step(n)))  # shown
    """,
    "a progress bar": """
        import tqdm
        bar = tqdm.tqdm(range(9))
        for n in bar:
            bar.set_postfix(loss=float(step(n)))  # shown
    """,
    "plotted": """
        import matplotlib.pyplot as plt
        x = np.asarray(step(np.ones(3)))  # shown
        plt.plot(x)
    """,
    "a dict of it is logged": """
        import wandb
        for n in range(9):
            info = {"loss": float(step(n))}  # shown
            info["more"] = float(step(n + 1))  # shown
            wandb.log(info)
    """,
    "rounded first": """
        for n in range(9):
            print(round(float(step(n)), 3))  # shown
    """,
    "shown by a function": """
        def show(name, value):
            print(name, value)
        for n in range(9):
            show("loss", float(step(n)))  # shown
    """,
    "fetched by a function that says what it got": """
        def fetched(x):
            return float(x)  # shown
        for n in range(9):
            print(fetched(step(n)))
    """,
    "shown by one function, kept by another": """
        def same(x):
            return x
        history = []
        for n in range(9):
            print(same(float(step(n))))  # shown
            history.append(same(float(step(n))))  # stored
    """,
}

DECISION = {
    "a test": """
        for n in range(9):
            if float(step(n)) < 0.1:  # decision
                break
    """,
    "a while loop": """
        x, err = step(1.0), 1.0
        while err > 0.1:
            x = step(x)
            err = float(x)  # decision
    """,
    "by NumPy": """
        for n in range(9):
            if np.isnan(np.asarray(step(n))):  # decision
                break
    """,
    "a tolerance that nobody knows": """
        def solve(tol=None):
            for n in range(9):
                err = float(step(n))  # decision
                if err < tol:
                    break
    """,
    "a comparison under a name": """
        for n in range(9):
            done = float(step(n)) < 0.1  # decision
            if done:
                break
    """,
    "an assertion": """
        x = np.asarray(step(np.ones(3)))  # decision
        assert np.all(x > 0)
    """,
    "early stopping": """
        class Stopper:
            def __init__(self):
                self.best = float("inf")
            def update(self, loss):
                better = loss < self.best
                self.best = min(self.best, loss)
                return not better
        stopper = Stopper()
        for n in range(9):
            loss = float(step(n))  # decision
            print(loss)
            if stopper.update(loss):
                break
    """,
    "kept first": """
        history = []
        for n in range(9):
            history.append(float(step(n)))  # decision
            if history[-1] > 3:
                break
    """,
    "a test of NumPy": """
        for n in range(9):
            np.testing.assert_allclose(np.asarray(step(n)), n + 1)  # decision
    """,
    "a conditional expression": """
        for n in range(9):
            rate = 0.1 if step(n).item() > 1 else 0.2  # decision
    """,
}

STORED = {
    "appended": """
        history = []
        for n in range(9):
            history.append(float(step(n)))  # stored
    """,
    "appended and averaged in the end": """
        history = []
        for n in range(9):
            history.append(float(step(n)))  # stored
        print(np.mean(history))
    """,
    "appended and shown": """
        history = []
        for n in range(9):
            loss = float(step(n))  # stored
            print(loss)
            history.append(loss)
    """,
    "appended in a dict or tuple": """
        history = []
        for n in range(9):
            history.append({"loss": float(step(n))})  # stored
            history.append((n, np.asarray(step(n))))  # stored
    """,
    "extended and added": """
        a, b = [], []
        for n in range(9):
            a.extend(step(np.ones(3)).tolist())  # stored
            b += [float(step(n))]  # stored
    """,
    "kept in an attribute": """
        class Trainer:
            def fit(self):
                for n in range(9):
                    self.loss = float(step(n))  # stored
        trainer = Trainer()
        trainer.fit()
        print(trainer.loss)
    """,
    "kept in a dict": """
        losses, more = {}, {}
        for n in range(9):
            losses[n] = float(step(n))  # stored
            more["last"] = float(step(n + 1))  # stored
        print(losses)
    """,
    "kept in a list of a dict": """
        from collections import defaultdict
        history = defaultdict(list)
        for n in range(9):
            history["loss"].append(float(step(n)))  # stored
    """,
    "written into an array": """
        losses = np.zeros(9)
        for n in range(9):
            losses[n] = float(step(n))  # stored
    """,
    "saved": """
        import pickle
        state = jax.tree.map(np.asarray, {"w": step(np.ones(3))})  # stored
        with open("state", "wb") as file:
            pickle.dump(state, file)
    """,
}

COMPUTED = {
    "added up": """
        total = 0.0
        for n in range(9):
            total += float(step(n))  # host-compute
        print(total)
    """,
    "arithmetic": """
        for n in range(9):
            print(2 * float(step(n)) + 1)  # host-compute
    """,
    "NumPy": """
        for n in range(9):
            x = np.asarray(step(np.ones(3)))  # host-compute
            print(np.sort(x)[-1])
    """,
    "a method of an array": """
        for n in range(9):
            print(np.asarray(step(np.ones(3))).mean())  # host-compute
    """,
    "an explicit fetch of a tree": """
        for n in range(9):
            w, b = jax.device_get((step(np.ones(3)), step(n)))  # host-compute
            print(w.sum())
    """,
    "items of a fetched dict": """
        @jax.jit
        def metrics(x):
            return {"loss": x, "norm": x * 2}
        for n in range(9):
            found = jax.device_get(metrics(1.0))  # host-compute
            for name, value in found.items():
                print(name, value * 2)
    """,
    "an item of it": """
        for n in range(9):
            x = np.asarray(step(np.ones((2, 3))))  # host-compute
            for row in x:
                print(np.exp(row[0]))
    """,
    "added up in an attribute": """
        class Meter:
            def __init__(self):
                self.total = 0.0
            def update(self, value):
                self.total += value
        meter = Meter()
        for n in range(9):
            meter.update(float(step(n)))  # host-compute
    """,
}

ROUND_TRIP = {
    "to NumPy and back": """
        for n in range(9):
            x = np.asarray(step(np.ones(3)))  # round-trip
            y = jnp.asarray(np.clip(x, 0, 1))
    """,
    "into a compiled function": """
        w = step(np.ones(3))
        for n in range(9):
            host = np.asarray(w)  # round-trip
            w = step(host / np.linalg.norm(host))
    """,
    "a number into a compiled function": """
        for n in range(9):
            rate = float(step(n))  # round-trip
            x = step(rate)
    """,
    "arithmetic with a device array": """
        w = step(np.ones(3))
        for n in range(9):
            w = w * float(step(n))  # round-trip
    """,
    "an index of a device array": """
        w = step(np.ones(3))
        for n in range(9):
            best = w[int(step(n))]  # round-trip
    """,
    "put by name": """
        for n in range(9):
            x = jax.device_get(step(np.ones(3)))  # round-trip
            y = jax.device_put(x + 1)
    """,
    "a tree": """
        for n in range(9):
            state = jax.tree.map(np.asarray, {"w": step(np.ones(3))})  # round-trip
            state = jax.tree.map(jnp.asarray, state)
    """,
    "through a function": """
        def normalised(x):
            return x / np.abs(x).max()
        for n in range(9):
            x = np.asarray(step(np.ones(3)))  # round-trip
            y = jnp.asarray(normalised(x))
    """,
    "a list of numbers": """
        for n in range(9):
            ids = step(np.ones(3)).tolist()  # round-trip
            y = jnp.array([0.0] + ids)
    """,
    "kept in a list": """
        values = []
        for n in range(9):
            values.append(float(step(n)))  # round-trip
            mean = jnp.mean(jnp.array(values))
    """,
    "stronger than everything else": """
        history = []
        for n in range(9):
            x = np.asarray(step(np.ones(3)))  # round-trip
            print(x)
            history.append(x)
            if np.any(x > 1):
                break
            y = jnp.sin(x + 1)
    """,
}

BY_THE_PAGE = {
    "nothing becomes of it": """
        x = np.asarray(step(np.ones(3)))  # stored
    """,
    "print itself": """
        print(step(1.0))  # shown
    """,
    "a test of the array itself": """
        if step(1.0) > 0:  # decision
            print("yes")
    """,
    "NumPy's own reading is computing": """
        print(np.sort(step(np.ones(3))))  # host-compute
    """,
    "where a function of nobody knows what takes it": """
        import nowhere
        nowhere.see(float(step(1.0)))  # stored
    """,
    "its length and shape are no decision": """
        x = np.asarray(step(np.ones(3)))  # stored
        if len(x) > 3 or x.shape[0] > 2 or x is None:
            print("long")
    """,
}

TABLE = SHOWN | DECISION | STORED | COMPUTED | ROUND_TRIP | BY_THE_PAGE
MARK = re.compile(r"# (shown|decision|stored|host-compute|round-trip)$")


def fetches(text: str) -> list[Finding]:
    report = check_text(text, select=("JT1", "JT191"))
    assert report.errors == report.unanalysed == ()
    return list(report.findings)


@pytest.mark.parametrize("name", TABLE)
def test_the_use_follows_the_value(name: str) -> None:
    text = PRELUDE + textwrap.dedent(TABLE[name])
    wanted = [(n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := MARK.search(line))]
    assert [(finding.span.line, finding.use) for finding in fetches(text)] == wanted


def last_note(text: str) -> tuple[int, str]:
    text = PRELUDE + textwrap.dedent(text)
    (finding,) = fetches(text)
    note = finding.notes[-1]
    return note.line - PRELUDE.count("\n") - 1, note.message


NOTES = {
    "appended": (
        """
        history = []
        for n in range(9):
            loss = float(step(n))
            history.append(loss)
        """,
        (4, "it is put into `history`: keep it on the device and fetch once, after the loop"),
    ),
    "shown": (
        """
        for n in range(9):
            loss = float(step(n))
            print(loss)
        """,
        (3, "`print` shows it: fetch and show it every n steps only"),
    ),
    "decision": (
        """
        for n in range(9):
            err = float(step(n))
            if err < 0.1:
                break
        """,
        (3, "`err < 0.1` decides by it: decide on the device, or once every n steps"),
    ),
    "computed": (
        """
        total = 0.0
        for n in range(9):
            total += float(step(n))
        """,
        (3, "the host computes `total += float(step(n))` with it: compute on the device, with jnp"),
    ),
    "round trip": (
        """
        for n in range(9):
            x = np.asarray(step(np.ones(3)))
            y = jnp.asarray(np.clip(x, 0, 1))
        """,
        (3, "it goes back to the device in `jnp.asarray(np.clip(x, 0, 1))`: keep it there, with jnp for NumPy between"),
    ),
    "in no loop there is nothing to be done every n steps": (
        """
        loss = float(step(1))
        print(loss)
        """,
        (2, "`print` shows it"),
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_the_last_note_says_where_the_value_goes_and_what_to_do_instead(name: str) -> None:
    text, wanted = NOTES[name]
    assert last_note(text) == wanted


def test_an_upload_of_what_was_fetched_refers_to_the_fetch() -> None:
    text = PRELUDE + "x = np.asarray(step(1.0))\ny = jnp.asarray(np.clip(x, 0, 1))\n"
    (finding,) = check_text(text, select=("JT2",)).findings
    line = PRELUDE.count("\n") + 1
    assert (line, "a round trip: the data was fetched from the device here") in [
        (note.line, note.message) for note in finding.notes
    ]
    assert finding.use is None


def test_where_nothing_is_known_of_the_value_no_note_is_made_up() -> None:
    (finding,) = fetches(PRELUDE + "x = float(step(1.0))\n")
    assert [note.message for note in finding.notes] == ["step is compiled: its results are device arrays"]
