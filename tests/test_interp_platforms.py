"""Programs that ask JAX for the CPU, where nothing is copied: nothing is reported, if they ask for it in any case."""

import pytest

from snippets import PRELUDE, check, check_marks

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
        "import os\nos.environ.setdefault('JAX_PLATFORMS', 'cpu')\n" + PRELUDE + FETCH,
    ],
)
def test_a_file_that_may_ask_for_the_cpu_is_not(text: str) -> None:
    check_marks(f"{text}  # d2h hot")
    assert check(text).unanalysed == ()
