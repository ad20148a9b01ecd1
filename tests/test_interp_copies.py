"""Host copies: which fetches of an array are its first, across calls, objects and the turns of a loop."""

import pytest

from snippets import PRELUDE, check_marks, rows

OBJECTS = """\
class Agent:
    def __init__(self, n):
        self.loss = step(jnp.ones(()) * n)
        self.steps = 0

    def tick(self):
        self.steps += 1

    def learn(self):
        self.loss = step(self.loss)

class Holder:
    def __init__(self, agent):
        self.agent = agent

    def go_on(self):
        self.agent.learn()
"""
FIELDS = {
    "a call that changes the object": """
        a = Agent(1)
        print(a.loss)  # d2h
        a.learn()
        print(a.loss)  # d2h
    """,
    "a call that changes the object further down": """
        a = Agent(1)
        h = Holder(a)
        print(a.loss)  # d2h
        h.go_on()
        print(a.loss)  # d2h
    """,
    "another array in a compiled function's result": """
        @jax.jit
        def learn(agent):
            return {"loss": agent["loss"] + 1}

        a = {"loss": jnp.ones(3)}
        for _ in range(9):
            print(a["loss"])  # d2h hot
            a = learn(a)
    """,
    "another function reads it now and then": """
        def show(agent, n):
            if n % 10:
                return
            print(agent.loss)  # d2h periodic

        a = Agent(1)
        for n in range(1000):
            show(a, n)
            a.learn()
        show(a, n)
        print(a.loss)  # d2h cold
    """,
    "objects of one place are told apart by nobody": """
        agents = [Agent(n) for n in range(3)]
        print(agents[0].loss)  # d2h
        agents[0].tick()
        print(agents[1].loss)  # d2h

        def make():
            return Agent(1)

        a, b = make(), make()
        print(a.loss)  # d2h
        a.tick()
        print(b.loss)  # d2h
    """,
    "what has not run yet has fetched nothing": """
        def lines(agent):
            yield str(agent.loss)  # d2h

        a = Agent(1)
        text = lines(a)
        print(a.loss)  # d2h
        print(*text)
    """,
    "another thread may write": """
        import threading

        def learn(agent):
            while True:
                agent.learn()

        a = Agent(1)
        threading.Thread(target=learn, args=(a,)).start()
        while True:
            a.tick()
            print(a.loss)  # d2h hot
    """,
    "another task may write": """
        import asyncio

        async def learn(agent):
            while True:
                agent.learn()
                await asyncio.sleep(0)

        async def main():
            a = Agent(1)
            asyncio.create_task(learn(a))
            while True:
                await asyncio.sleep(0)
                print(a.loss)  # d2h hot

        asyncio.run(main())
    """,
    "another function reads one on one path, and another on the other": """
        def show(first, second, n):
            if n:
                print(first)  # d2h
                return
            print(second)  # d2h

        def both(n):
            x, y = step(1.0), step(2.0)
            show(x, y, n)
            print(x)  # d2h
            print(y)  # d2h

        import sys
        both(len(sys.argv))
    """,
}
FIELD_GAPS: dict[str, str] = {}

TURNS = {
    "each turn has another object": """
        agents = [Agent(n) for n in range(100)]
        for a in agents:
            print(a.loss)  # d2h hot
    """,
    "each turn has another object, made in a loop": """
        agents = []
        for n in range(100):
            agents.append(Agent(n))
        for a in agents:
            a.tick()
            print(a.loss)  # d2h hot
            print(a.loss)
    """,
    "one of several objects in all turns": """
        agents = [Agent(n) for n in range(3)]
        for _ in range(50):
            print(agents[0].loss)  # d2h cold
    """,
    "several objects, over and over": """
        agents = [Agent(n) for n in range(3)]
        for _ in range(50):
            for a in agents:
                print(a.loss)  # d2h cold
    """,
    "several objects with their numbers": """
        agents = [Agent(n) for n in range(100)]
        for n, a in enumerate(agents):
            print(n, a.loss)  # d2h hot
    """,
    "what objects make when it is asked for": """
        class Cached:
            def __init__(self, n):
                self.loss = step(n)
                self.shown = None

            def show(self):
                if self.shown is None:
                    self.shown = np.asarray(self.loss)  # d2h cold
                return self.shown

        agents = [Cached(n) for n in range(3)]
        for _ in range(50):
            for a in agents:
                print(a.show())
    """,
    "the same objects in another loop": """
        agents = [Agent(n) for n in range(100)]
        for a in agents:
            print(a.loss)  # d2h hot
        for a in agents:
            print(a.loss)
    """,
    "one object that changes at each turn": """
        a = Agent(1)
        for _ in range(100):
            a.learn()
            print(a.loss)  # d2h hot
            print(a.loss)
    """,
}
TURN_GAPS: dict[str, str] = {}

UPDATE = """\
@jax.jit
def update(x):
    return {"loss": x.mean(), "norm": x.sum()}

"""
VALUES = {
    "a method of an array, where the value may be NumPy's": """
        def gather(x):
            return np.asarray(x) if jax.process_count() > 1 else x  # d2h

        for _ in range(9):
            r = gather(step(1.0))
            print(r.tolist())  # d2h
            print(np.array(r))
    """,
    "what is put into a dict that a step gave is there behind the next": """
        for n in range(9):
            info = jax.device_get(update(jnp.ones(3)))
            info["out"] = step(n)
            info = jax.tree.map(lambda x: np.array(x), info)  # d2h
            for k, v in info.items():
                print(k, v)
    """,
    "what is put there is fetched": """
        for n in range(9):
            info = jax.device_get(update(jnp.ones(3)))
            info["out"] = step(n)
            for k, v in info.items():
                print(k, v)  # d2h
    """,
    "two arrays are compared": """
        best = step(0.0)
        for n in range(9):
            loss = step(n)
            best = max(best, loss)  # d2h hot
            print(loss)  # d2h hot
    """,
    "two arrays are compared by a test": """
        from absl.testing import absltest

        class Test(absltest.TestCase):
            def test(self):
                x, y = step(1.0), step(2.0)
                self.assertEqual(x, y)  # d2h
                self.assertLess(x, y)  # d2h
                self.assertTrue(x)  # d2h
                self.assertTrue(x)
                self.assertNotEqual(y, None)
    """,
    "two numbers are compared": """
        def text_of(tokens):
            return "".join(chr(max(32, t)) for t in tokens)  # d2h hot

        for n in range(9):
            print(text_of(np.arange(n)))
            print(text_of(jnp.arange(n)))
    """,
}
VALUE_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(FIELDS, FIELD_GAPS, PRELUDE + OBJECTS))
def test_copies_of_fields(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(TURNS, TURN_GAPS, PRELUDE + OBJECTS))
def test_copies_from_turn_to_turn(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(VALUES, VALUE_GAPS, PRELUDE + UPDATE))
def test_copies_of_values(text: str) -> None:
    check_marks(text)
