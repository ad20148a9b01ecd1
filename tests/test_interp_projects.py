"""Several files: what a module knows of another, however it imports it."""

from pathlib import Path

import pytest

from snippets import check_project, rows

PROJECTS = {
    "a module beside": """
        # steps.py
        import jax
        @jax.jit
        def step(x):
            return x + 1
        # main.py
        import steps
        print(steps.step(1.0))  # d2h
    """,
    "a name of a module beside": """
        # steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        LR = 0.1
        # main.py
        from steps import LR, step as run
        print(LR)
        print(run(1.0))  # d2h
    """,
    "the helper is in the other file, and names no library": """
        # show.py
        def show(x):
            print(x)  # d2h
        def again(x):
            print(x)
        # main.py
        import jax
        from show import again, show
        show(jax.numpy.ones(3))
        again(1)
    """,
    "a file that names no library imports an array": """
        # consts.py
        import jax.numpy as jnp
        ONES = jnp.ones(3)
        # main.py
        from consts import ONES
        print(ONES)  # d2h
    """,
    "through three files": """
        # a.py
        import jax
        def make():
            return jax.numpy.ones(3)
        # b.py
        import a
        def make():
            return a.make() * 2
        # c.py
        from b import make
        print(make())  # d2h
    """,
    "a package": """
        # lab/__init__.py
        # lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        import lab.steps
        from lab import steps
        from lab.steps import step
        print(lab.steps.step(1.0))  # d2h
        print(steps.step(1.0))  # d2h
        print(step(1.0))  # d2h
    """,
    "a package's module under a name": """
        # lab/__init__.py
        # lab/inner/__init__.py
        # lab/inner/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        import lab.inner.steps as s
        print(s.step(1.0))  # d2h
    """,
    "relative imports": """
        # lab/__init__.py
        # lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # lab/train.py
        from .steps import step
        from . import steps
        print(step(1.0))  # d2h
        print(steps.step(2.0))  # d2h
    """,
    "relative imports from above": """
        # lab/__init__.py
        # lab/core/__init__.py
        # lab/core/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # lab/apps/__init__.py
        # lab/apps/train.py
        from ..core.steps import step
        from ..core import steps
        from .. import core
        print(step(1.0))  # d2h
        print(steps.step(2.0))  # d2h
        print(core.steps.step(3.0))  # d2h
    """,
    "re-exported by the package": """
        # lab/__init__.py
        from .steps import step
        from .steps import step as run
        __all__ = ["step", "run"]
        # lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from lab import run, step
        import lab
        print(step(1.0))  # d2h
        print(run(1.0))  # d2h
        print(lab.step(1.0))  # d2h
    """,
    "re-exported by a star": """
        # lab/__init__.py
        from .steps import *
        # lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from lab import step
        print(step(1.0))  # d2h
    """,
    "a star of a module": """
        # steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from steps import *
        print(step(1.0))  # d2h
    """,
    "a star brings what __all__ names": """
        # steps.py
        import jax
        __all__ = ["step"]
        step = jax.jit(lambda x: x + 1)
        def print(x):
            pass
        # main.py
        from steps import *
        print(step(1.0))  # d2h
    """,
    "a star brings the library too": """
        # common.py
        import jax
        import jax.numpy as jnp
        # main.py
        from common import *
        print(jnp.ones(3))  # d2h
    """,
    "a name that hides a submodule of the same name": """
        # lab/__init__.py
        from .step import step
        # lab/step.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from lab import step
        print(step(1.0))  # d2h
    """,
    "the src layout": """
        # src/lab/__init__.py
        # src/lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # tests/test_steps.py
        from lab.steps import step
        print(step(1.0))  # d2h
        # scripts/run.py
        import lab.steps
        print(lab.steps.step(1.0))  # d2h
    """,
    "packages without __init__": """
        # lab/core/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from lab.core.steps import step
        import lab.core.steps
        print(step(1.0))  # d2h
        print(lab.core.steps.step(1.0))  # d2h
    """,
    "relative imports in packages without __init__": """
        # lab/core/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # lab/core/train.py
        from .steps import step
        print(step(1.0))  # d2h
    """,
    "two modules of one name": """
        # a/utils.py
        import jax
        make = jax.numpy.ones
        # b/utils.py
        import numpy as np
        make = np.ones
        # a/main.py
        from utils import make
        print(make(3))  # d2h
        # b/main.py
        import jax
        from utils import make
        print(make(3))
    """,
    "two files of one name beside other scripts: the path of whoever runs it says which is meant": """
        # one/a/utils.py
        import jax
        make = jax.numpy.ones
        # one/b/utils.py
        import numpy as np
        make = np.ones
        # one/c/main.py
        import jax
        from utils import make
        print(make(3))
        # one/a/deep/main.py
        from utils import make
        print(make(3))  # d2h
    """,
    "two packages with modules of one name": """
        # one/__init__.py
        # one/utils.py
        import jax
        make = jax.numpy.ones
        # two/__init__.py
        # two/utils.py
        import numpy as np
        make = np.ones
        # main.py
        import jax
        from one.utils import make as device
        from two.utils import make as host
        print(device(3))  # d2h
        print(host(3))
    """,
    "a module that is called like a library": """
        # lab/__init__.py
        # lab/optax.py
        import jax
        def make():
            return jax.numpy.ones(3)
        # lab/train.py
        from . import optax
        print(optax.make())  # d2h
    """,
    "a cycle of imports": """
        # a.py
        import jax
        import b
        def make():
            return jax.numpy.ones(3)
        def show():
            return b.show(make())
        # b.py
        import a
        def show(x):
            print(x)  # d2h
        def other():
            print(a.make())  # d2h
        # main.py
        import a
        a.show()
    """,
    "a cycle of imports by names": """
        # lab/__init__.py
        from .a import make
        from .b import show
        # lab/a.py
        import jax
        from . import b
        def make():
            return jax.numpy.ones(3)
        # lab/b.py
        from lab import a
        def show():
            print(a.make())  # d2h
    """,
    "an import in a function breaks a cycle": """
        # a.py
        import jax
        from b import show
        def make():
            return jax.numpy.ones(3)
        # b.py
        def show():
            from a import make
            print(make())  # d2h
    """,
    "a module that imports itself": """
        # a.py
        import jax
        import a
        X = jax.numpy.ones(3)
        print(a.X)  # d2h
    """,
    "heat comes from the caller's file": """
        # show.py
        def show(x):
            print(x)  # d2h hot
        # main.py
        import jax
        from show import show
        for i in range(99):
            show(jax.numpy.ones(i))
    """,
    "a trace comes from the caller's file": """
        # model.py
        def forward(w, x):
            if w > 0:  # tracer
                return w * x
            return x
        # main.py
        import jax
        from model import forward
        run = jax.jit(forward)
        run(1.0, 2.0)
    """,
    "a class of another file": """
        # base.py
        class Base:
            def __init__(self, step):
                self.step = step
            def run(self, x):
                x = self.step(x)
                self.log(x)
                return x
            def log(self, x):
                pass
        # main.py
        import jax
        from base import Base
        class T(Base):
            def log(self, x):
                print(x)  # d2h
        T(jax.jit(lambda x: x)).run(1.0)
    """,
    "a record of another file": """
        # records.py
        import dataclasses
        import jax
        @dataclasses.dataclass
        class Batch:
            x: jax.Array
            n: int
        # main.py
        import jax.numpy as jnp
        from records import Batch
        def f(batch: Batch):
            print(batch.n)
            print(batch.x)  # d2h
        f(Batch(jnp.ones(3), 2))
    """,
    "a name that another module sets": """
        # config.py
        DEBUG = None
        # setup.py
        import jax
        import config
        config.DEBUG = jax.numpy.ones(3)
        # main.py
        import jax
        import config
        import setup
        def f():
            print(config.DEBUG)  # d2h
        f()
    """,
    "what is optional": """
        # compat.py
        try:
            import jax.numpy as np
        except ImportError:
            import numpy as np
        # main.py
        from compat import np
        print(np.ones(3))  # d2h
    """,
    "the root is the package itself, whatever its folder is called": """
        # __init__.py
        # core/__init__.py
        # core/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # shown.py
        LR = 0.1
        # main.py
        from lab.core.steps import step
        from lab.core import steps
        from lab import shown
        import lab.core.steps as again
        print(step(1.0))  # d2h
        print(steps.step(1.0))  # d2h
        print(again.step(1.0))  # d2h
        print(shown.LR)
    """,
    "the root is the package itself, and no package": """
        # steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # shown.py
        LR = 0.1
        # main.py
        from lab import shown, steps
        from lab.steps import step
        print(shown.LR)
        print(steps.step(1.0))  # d2h
        print(step(1.0))  # d2h
    """,
    "a folder that is called like a library": """
        # jax/__init__.py
        # jax/density.py
        import numpy as np
        # jax/density_test.py
        import jax.numpy as jnp
        from jax import random, test_util as jtu
        class Test(jtu.JaxTestCase):
            def test(self):
                self.assertLess(jnp.max(random.normal(random.PRNGKey(0), (3,))), 1)  # d2h
    """,
    "names of the package itself": """
        # __init__.py
        from .core.steps import step
        from lab.core import steps
        # core/__init__.py
        # core/steps.py
        import jax
        from ..shown import LR
        step = jax.jit(lambda x: x + LR)
        # shown.py
        LR = 0.1
        # main.py
        import jax
        from lab import step
        from lab.shown import LR
        print(step(1.0))  # d2h
    """,
    "one module of another package is called like ours": """
        # datasets.py
        import jax
        load = jax.jit(lambda x: x + 1)
        # main.py
        from keras import datasets
        print(datasets.load(1.0))
    """,
    "another package, some of whose modules are called like ours": """
        # steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from lab.steps import step
        from lab.other import more
        print(step(1.0))
    """,
    "a folder of the project has the name of the package": """
        # steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # lab/other.py
        # main.py
        from lab.steps import step
        print(step(1.0))
    """,
    "a library of the models, some of whose modules are called like ours": """
        # training.py
        import jax
        step = jax.jit(lambda x: x + 1)
        # main.py
        from flax.training import step
        print(step(1.0))
    """,
    "a module that does not exist": """
        # main.py
        import jax
        from nowhere import step
        from . import other
        from .other import more
        print(step(1.0), other.step, more)
        print(jax.numpy.ones(3))  # d2h
    """,
    "an import from above the top": """
        # main.py
        import jax
        from ...far import away
        print(away)
        print(jax.numpy.ones(3))  # d2h
    """,
    "main of a package": """
        # lab/__init__.py
        # lab/__main__.py
        from lab.steps import step
        if __name__ == "__main__":
            print(step(1.0))  # d2h
        # lab/steps.py
        import jax
        step = jax.jit(lambda x: x + 1)
    """,
}
PROJECT_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(PROJECTS, PROJECT_GAPS, prelude=""))
def test_projects(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(text, tmp_path, monkeypatch)
