"""Programs that ask JAX for the CPU, where nothing is copied: nothing is reported, if they ask for it in any case."""

import pytest

from snippets import PRELUDE, check, check_marks, rows

ENVIRONMENT = 'import os\nos.environ["JAX_PLATFORMS"] = "cpu"\n'
CONFIGURATION = 'jax.config.update("jax_platform_name", "cpu")\n'
FETCH = "for _ in range(9):\n    print(step(1.0))"


@pytest.mark.parametrize(
    "text",
    [
        ENVIRONMENT + PRELUDE + FETCH,
        PRELUDE + CONFIGURATION + FETCH,
        PRELUDE + f"def main():\n    {CONFIGURATION}    {FETCH.splitlines()[0]}\n    {FETCH.splitlines()[1]}\nmain()",
        'import os\nos.environ["JAX_PLATFORMS"] = "cuda"\n' + ENVIRONMENT + PRELUDE + FETCH,
        'import numpyro\nnumpyro.set_platform("cpu")\n' + PRELUDE + FETCH,
    ],
)
def test_a_file_that_asks_for_the_cpu_is_silent_and_said_to_be(text: str) -> None:
    report = check(text)
    assert report.findings == ()
    (said,) = report.unanalysed
    assert said.message.startswith("the file was not analysed: the program asks for the CPU")
    assert "cpu" in text.splitlines()[(said.line or 0) - 1]


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys\nif '--cpu' in sys.argv:\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n" + PRELUDE + FETCH,
        PRELUDE + f"def main(arguments):\n    if arguments.cpu:\n        {CONFIGURATION}main(None)\n" + FETCH,
        "import os\nfor name in ['cpu']:\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n" + PRELUDE + FETCH,
        ENVIRONMENT + "os.environ['JAX_PLATFORMS'] = 'cuda'\n" + PRELUDE + FETCH,
        "import numpyro\nnumpyro.set_platform('gpu')\n" + PRELUDE + FETCH,
        "import os\nos.environ.setdefault('JAX_PLATFORMS', 'cpu')\n" + PRELUDE + FETCH,
    ],
)
def test_a_file_that_may_ask_for_the_cpu_is_not(text: str) -> None:
    check_marks(f"{text}  # d2h hot")
    assert check(text).unanalysed == ()


CPU = {
    "what is made there is no transfer": """
        cpu = jax.devices("cpu")[0]
        for i in range(9):
            with jax.default_device(cpu):
                x = jnp.ones(3) * np.ones(3)
                y = step(np.ones(3))
                print(x, float(y[0]), np.asarray(x + y))
    """,
    "nor what a function makes that is called there": """
        def prepare(x):
            return jnp.sqrt(x) + np.ones(3)  # h2d hot

        for i in range(9):
            with jax.default_device(jax.local_devices(backend="cpu")[0]):
                print(prepare(np.ones(3)))
            print(prepare(jnp.ones(3)))  # d2h hot
    """,
    "what comes from the device is fetched there as well": """
        for i in range(9):
            x = step(1.0)
            with jax.default_device(jax.devices("cpu")[0]):
                print(x)  # d2h hot
    """,
    "by the name of the platform": """
        for i in range(9):
            with jax.default_device("cpu"):
                print(jnp.ones(3))
    """,
    "another device is a device": """
        for i in range(9):
            with jax.default_device(jax.devices()[1]):
                print(jnp.ones(3))  # d2h hot
            with jax.default_device(jax.devices("cpu")[0]):
                with jax.default_device(jax.devices("gpu")[0]):
                    print(jnp.ones(3))  # d2h hot
    """,
    "nor one that may be another": """
        import sys
        device = jax.devices("cpu")[0] if len(sys.argv) > 1 else jax.devices()[1]
        for i in range(9):
            with jax.default_device(device):
                print(jnp.ones(3))  # d2h hot
    """,
    "what is put there is on the host": """
        for i in range(9):
            x = jax.device_put(step(1.0), jax.devices("cpu")[0])
            print(x)
    """,
    "what JAX calls back runs there": """
        def back(x):
            if jnp.any(x > 0):
                print(float(jnp.sum(x)))
            return x

        @jax.jit
        def f(x):
            jax.debug.callback(back, x)
            return jax.pure_callback(back, jax.ShapeDtypeStruct((3,), jnp.float32), x)

        for i in range(9):
            x = f(x if i else step(jnp.ones(3)))
    """,
    "what a solver of SciPy calls back does not": """
        import scipy.optimize

        def loss(x):
            return float(jnp.sum(x))  # d2h hot, h2d hot

        scipy.optimize.minimize(loss, np.ones(3))
    """,
}


@pytest.mark.parametrize("text", rows(CPU, {}))
def test_the_default_device_is_the_host_s_own_processor(text: str) -> None:
    check_marks(text)
