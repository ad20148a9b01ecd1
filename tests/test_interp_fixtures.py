"""What pytest gives to tests: fixtures by their names, from wherever pytest would take them, and parameters."""

from pathlib import Path

import pytest

from snippets import check_marks, check_project, rows

ONE_FILE = {
    "a fixture": """
        import pytest
        @pytest.fixture
        def weights():
            return jnp.ones(3)
        def test_it(weights):
            print(weights)  # d2h
    """,
    "with options, and one that yields": """
        import pytest
        @pytest.fixture(scope="module")
        def weights():
            yield jnp.ones(3)
        def test_it(weights):
            print(weights)  # d2h
    """,
    "one that asks for another": """
        from pytest import fixture
        @fixture
        def weights():
            return step(1.0)
        @fixture
        def scaled(weights):
            return weights * 2
        def test_it(scaled):
            print(scaled)  # d2h
    """,
    "one on the host": """
        import pytest
        @pytest.fixture
        def weights():
            return np.ones(3)
        def test_it(weights):
            print(weights)
            step(weights)  # h2d
    """,
    "of a class": """
        import pytest
        @pytest.fixture
        def weights():
            return np.ones(3)
        class TestIt:
            @pytest.fixture
            def weights(self):
                return step(1.0)
            def test_it(self, weights):
                print(weights)  # d2h
    """,
    "each turn of a test": """
        import pytest
        @pytest.fixture
        def weights():
            return step(1.0)
        def test_it(weights):
            for _ in range(100):
                print(weights + 1)  # d2h hot
    """,
    "one that asks for itself ends": """
        import pytest
        @pytest.fixture
        def weights(weights):
            return weights
        @pytest.fixture
        def a(b):
            return b
        @pytest.fixture
        def b(a):
            return a
        def test_it(weights, a):
            print(weights, a)
    """,
    "no fixture: a function of that name": """
        def weights():
            return step(1.0)
        def test_it(weights):
            print(weights)
    """,
    "no test": """
        import pytest
        @pytest.fixture
        def weights():
            return step(1.0)
        def show(weights):
            print(weights)
    """,
    "a default is not replaced": """
        import pytest
        @pytest.fixture
        def weights():
            return step(1.0)
        def test_it(weights=None):
            print(weights)
    """,
    "parameters": """
        import pytest
        @pytest.mark.parametrize("x", [jnp.ones(3), jnp.zeros(3)])
        def test_it(x):
            print(x)  # d2h
    """,
    "several parameters": """
        import pytest
        @pytest.mark.parametrize("n, x", [(1, jnp.ones(3)), (2, jnp.ones(4))])
        @pytest.mark.parametrize(argnames=["y"], argvalues=[np.ones(3)])
        def test_it(n, x, y):
            print(n, y)
            print(x)  # d2h
            step(y)  # h2d
    """,
    "parameters of a fixture, of which the test gets what it makes": """
        import pytest
        @pytest.fixture
        def weights(request):
            return jnp.ones(request.param)
        @pytest.mark.parametrize("weights, n", [(3, 1), (4, 2)], indirect=["weights"])
        def test_it(weights, n):
            print(n)
            print(weights)  # d2h
        @pytest.mark.parametrize("weights", [3, 4], indirect=True)
        def test_all(weights):
            print(weights)  # d2h
        @pytest.mark.parametrize("weights", [3, 4], True)
        def test_each(weights):
            print(weights)  # d2h
    """,
    "types as parameters": """
        import pytest
        @pytest.mark.parametrize("dtype", [jnp.float32, jnp.int32])
        def test_it(dtype: jnp.ndarray):
            assert step(1.0).dtype == dtype
    """,
}

PROJECTS = {
    "of conftest.py": """
        # conftest.py
        import jax.numpy as jnp
        import pytest
        @pytest.fixture
        def weights():
            return jnp.ones(3)
        @pytest.fixture
        def bias():
            return 1
        # tests/conftest.py
        import jax.numpy as jnp
        import pytest
        @pytest.fixture
        def bias():
            return jnp.ones(3)
        # tests/test_it.py
        import jax
        def test_it(weights, bias):
            print(weights)  # d2h
            print(bias)  # d2h
    """,
    "of conftest.py, in a file that names no library": """
        # conftest.py
        import jax.numpy as jnp
        import pytest
        @pytest.fixture
        def weights():
            return jnp.ones(3)
        # tests/test_it.py
        def test_it(weights):
            print(weights)  # d2h
    """,
    "the nearest of a name": """
        # tests/conftest.py
        import jax.numpy as jnp
        import pytest
        @pytest.fixture
        def weights():
            return jnp.ones(3)
        # tests/test_it.py
        import jax
        import pytest
        @pytest.fixture
        def weights(weights):
            print(weights)  # d2h
            return 1
        def test_it(weights):
            print(weights)
    """,
}


@pytest.mark.parametrize("text", rows(ONE_FILE, {}))
def test_one_file(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize("text", rows(PROJECTS, {}, prelude=""))
def test_projects(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(text, tmp_path, monkeypatch)
