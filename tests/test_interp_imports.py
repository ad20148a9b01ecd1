"""Imports in one file: whatever a library is called here, its functions are known."""

import pytest

from snippets import check_marks, rows

IMPORTS = {
    "nothing of JAX": """
        import numpy as np
        x = np.ones(3)
        print(x, float(x[0]))
    """,
    "plain": """
        import jax
        x = jax.numpy.ones(3)
        print(x)  # d2h
    """,
    "of a submodule": """
        import jax.numpy
        x = jax.numpy.ones(3)
        print(x)  # d2h
    """,
    "of a submodule under a name": """
        import jax.numpy as jnp
        x = jnp.ones(3)
        print(x)  # d2h
    """,
    "of several": """
        import os, jax, numpy as np
        x = jax.numpy.ones(3)
        print(x, np.asarray(x + 1))  # d2h
    """,
    "from the package": """
        from jax import numpy as jnp, jit
        @jit
        def f(x):
            return x
        print(f(jnp.ones(3)))  # d2h
    """,
    "of a function": """
        from jax.numpy import ones
        print(ones(3))  # d2h
    """,
    "of a function under a name": """
        from jax.numpy import ones as make, asarray
        print(make(3))  # d2h
    """,
    "in parentheses": """
        from jax import (
            jit as compiled,
            numpy,
        )
        print(compiled(numpy.sin)(1.0))  # d2h
    """,
    "of NumPy's twin under NumPy's name": """
        import jax.numpy as np
        import numpy as onp
        x = np.asarray(onp.ones(3))  # h2d
        y = onp.asarray(x)  # d2h
        z = onp.asarray(y)
    """,
    "star of a known module": """
        from jax.numpy import *
        x = ones(3)
        print(x)  # d2h
    """,
    "star of the package": """
        from jax import *
        f = jit(lambda x: x)
        print(f(1.0))  # d2h
    """,
    "in a function": """
        def f():
            import jax.numpy as jnp
            from jax import jit
            print(jit(jnp.sin)(1.0))  # d2h
        f()
    """,
    "in a class": """
        class A:
            import jax.numpy as jnp
            def f(self):
                print(self.jnp.ones(3))  # d2h
        A().f()
    """,
    "in try": """
        try:
            import jax.numpy as np
        except ImportError:
            import numpy as np
        x = np.ones(3)
        print(x)  # d2h
    """,
    "in try, with a flag": """
        try:
            import jax
            HAS_JAX = True
        except ImportError:
            jax = None
            HAS_JAX = False
        def f():
            if HAS_JAX:
                print(jax.numpy.ones(3))  # d2h
        f()
    """,
    "in try, none where it fails": """
        try:
            import jax
        except ImportError:
            jax = None
        def f():
            if jax is not None:
                print(jax.numpy.ones(3))  # d2h
        f()
    """,
    "in a branch": """
        import sys
        if sys.platform == "linux":
            import jax.numpy as np
        else:
            import numpy as np
        print(np.ones(3))  # d2h
    """,
    "under two names": """
        import jax.numpy as jnp
        import jax.numpy as other
        print(other.add(jnp.ones(3), 1))  # d2h
    """,
    "a name for a module": """
        import jax
        jnp = jax.numpy
        np = jnp
        print(np.ones(3))  # d2h
    """,
    "a name for a function": """
        import jax
        compiled = jax.jit
        make = jax.numpy.ones
        show = print
        f = compiled(lambda x: x)
        show(f(make(3)))  # d2h
    """,
    "a name that is bound anew": """
        import jax.numpy as np
        a = np.ones(3)
        print(a)  # d2h
        import numpy as np
        b = np.ones(3)
        print(b)
    """,
    "a name that a parameter hides": """
        import jax.numpy as jnp
        class Host:
            def ones(self, n):
                return 1.0
        def f(jnp):
            print(jnp.ones(3))
        f(Host())
    """,
    "a module that is handed on": """
        import jax.numpy as jnp
        import numpy as np
        def f(xp):
            return xp.ones(3)
        a = f(np)
        print(a)
        b = f(jnp)
        print(b)  # d2h
    """,
    "a builtin that is bound anew": """
        import jax.numpy as jnp
        def print(x):
            pass
        def float(x):
            return x
        print(float(jnp.ones(())))
    """,
    "a library that nobody knows": """
        import jax.numpy as jnp
        import my_unheard_of_library as lib
        x = lib.compute(jnp.ones(3))
        print(x)
        lib.show(jnp.ones(3))
    """,
    "inside the library's own modules": """
        from jax.experimental.shard_map import shard_map
        from jax import lax, random
        from jax.random import normal, key
        from jax.lax import scan
        x = normal(key(0), (3,))
        print(x)  # d2h
        y = lax.add(x, x)
        print(y)  # d2h
        c, ys = scan(lambda c, v: (c + v, c), 0.0, x)
        print(ys)  # d2h
    """,
    "by importlib": """
        import importlib
        jnp = importlib.import_module("jax.numpy")
        print(jnp.ones(3))  # d2h
    """,
    "by getattr": """
        import jax
        make = getattr(jax.numpy, "ones")
        print(make(3))  # d2h
    """,
    "a name imported again, below what uses and runs it": """
        import jax, jax.numpy as np
        @jax.jit
        def f(x):
            return np.clip(x, 0, 1)
        print(f(np.ones(3)))  # d2h
        import numpy as np
        print(np.ones(3))
    """,
    "a name imported again, above what uses it": """
        import jax, jax.numpy as np
        x = np.ones(3)
        import numpy as np
        def f(x):
            return np.sqrt(x)  # d2h
        f(x + 1)
    """,
    "a name imported again as the same thing": """
        import jax.numpy as jnp
        import numpy as np
        def f(x):
            return np.sqrt(x)  # d2h
        f(jnp.ones(3))
        import numpy as np
    """,
    "the version": """
        import jax
        print(jax.__version__, jax.devices(), jax.default_backend(), jax.process_index(), jax.local_device_count())
    """,
}
IMPORT_GAPS: dict[str, str] = {}


@pytest.mark.parametrize("text", rows(IMPORTS, IMPORT_GAPS, prelude=""))
def test_imports(text: str) -> None:
    check_marks(text)
