"""Programs that look at themselves, run plain and watched, with marks at every place: output, errors and exit status are
the same, byte for byte, and the marks were there."""

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from witnessing import marks, run, watched

FETCH, UPLOAD = "device_to_host", "host_to_device"
# What is looked at by name, instead of being repeated in each program.
COMMON = """\
import sys, traceback
log = []
def say(x, *rest, **more):
    log.append(x)
    return x
def shown(f, *args):
    try:
        return f(*args)
    except BaseException:
        traceback.print_exc()
"""
# Programs of the standard library alone. A text is the script; else a mapping of files, with the words of the command.
PLAIN: dict[str, str | tuple[Mapping[str, str], Sequence[str]]] = {
    "main": '"""Of itself."""\nfrom __future__ import annotations\nimport sys, os\n'
    "print(__file__, __name__, __doc__, __spec__, __package__, __loader__.__class__, __loader__.path, __cached__)\n"
    "print(sys.argv, sys.path[0], sys.orig_argv[1:], sys._getframe().f_code.co_filename, sorted(globals()))\n"
    "print(any('jaxlint' in entry for entry in sys.path), sys.flags.optimize)\n",
    "order": COMMON + "say(say)(say(1), *[say(2)], k=say(3), **{'y': say(4)}) if callable(say) else 0\n"
    "print(say(1) + say(2) * say(3), say(1) < say(3) < say(2), -say(4), [say(5)][say(0)], 'ab'[say(0):say(1)])\n"
    "x = {}; x[say('k')] = say('v'); x[say('k')] += say('w'); del x[say('k')]; print(log)\n",
    "strings": COMMON + "v = 3.14159\n"
    "print(f'{v} {v!r:>{say(10)}} {v:{say(8)}.{say(2)}} {v=} {say(v)=:.1f} {\"é\"!a} {{}}', '%s %.2f %r' % (say(v), v, say('x')))\n"
    "print('%s' % say(v), '%(a)d' % {'a': say(3)}, '{:>5}'.format(say(2)), f'{say(1)}{say(2)}', log)\n",
    "comprehensions": COMMON + "print([say(i) for i in range(5) if say(i) % 2 if i > 1], {say(i): say(i) for i in 'ab'})\n"
    "g = (say(i) for i in range(3) if say(i)); print(next(g)); g.close(); print(sum(say(i) for i in range(3)), log)\n"
    "print([[say(j) for j in range(i)] for i in range(3)], {say(i) for i in (1,)})\n",
    "walrus": COMMON + "if (n := say(3)) > 2 and (m := say(n)): print(n, m)\nwhile (n := say(n - 1)) > 0: pass\nprint(n, log)\n"
    "def f(a, *b, c=(d := say(7))): return a, b, c\nprint(f(*say([1, 2]), c=(e := say(5))), d, e)\n",
    "match": COMMON + "for v in (1, 2, 3, [1, 2], {'k': 2}, 2.5, None):\n    match say(v):\n        case 1: say('one')\n"
    "        case 2 if say(0): say('never')\n        case 2: say('two')\n        case -3 | 3: say('three')\n"
    "        case [x, 2]: say(x)\n        case {'k': 2}: say('map')\n        case None: say('none')\n        case _: say('rest')\n"
    "print(log)\n",
    "functions": COMMON + "@say\n@(lambda f: say(f))\ndef f(a=say(1), *, b=say(2)):\n    def g(c=say(a)):\n        nonlocal b\n        b += say(c)\n        return b\n"
    "    return g() + g()\nprint(f(), (lambda x, y=say(9): say(x) + y)(1), f.__defaults__, f.__code__.co_varnames, f.__qualname__)\n"
    "def h():\n    a = say(1); b = say(a)\n    return sorted(locals()), a\nprint(h(), eval('say(3) + 1'), [*map(lambda q: say(q), [1, 2])])\n"
    "exec('def k(): return say(4)'); print(k(), [x for x in log if not callable(x)])\n",
    "classes": COMMON + "class A(say(object)):\n    x = say(1); y: int = say(2); __z = say(3)\n    def __init__(self, v): self.v = say(v)\n    def __del__(self): print('gone')\n"
    "    @property\n    def p(self): return say(self.v)\n    @classmethod\n    def c(cls, q=say(4)): return cls(q)\n    def m(self): return self.__z, say(self._A__z)\n"
    "class B(A):\n    def m(self): return super().m(), super(B, self).p\nb = B.c(); print(b.m(), b.p, sorted(vars(A)), A.__annotations__, log[1:])\n"
    "del b\nclass C:\n    def __del__(self): return say(1).missing\nC()\nimport dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = say(3)\n    b: list = dataclasses.field(default_factory=lambda: [say(4)])\nprint(D(), D() == D())\n",
    "generators": COMMON + "def g():\n    try:\n        a = say((yield say(1))) + (yield 2)\n        yield from (say(i) for i in range(2))\n        return say(a)\n    finally:\n        say('end')\n"
    "def h(): r = yield from g(); print('returned', r)\nx = h(); print(next(x), x.send(3), x.send(4), list(x))\n"
    "for i in g(): break\ny = g(); next(y); shown(y.throw, KeyError('in'))\nz = g(); next(z); z.close(); print(log, next(iter(()), say('d')))\n"
    "def bad():\n    yield say(1)\n    say(2).missing\nshown(list, bad())\n",
    "async": COMMON + "import asyncio, contextvars\nv = contextvars.ContextVar('v', default=0)\nasync def co(n):\n    v.set(say(n)); await asyncio.sleep(0)\n    return say(v.get() + n)\n"
    "async def each():\n    for i in range(2):\n        yield say(i); await asyncio.sleep(0)\nclass M:\n    async def __aenter__(self): return say('in')\n    async def __aexit__(self, *e): say('out')\n"
    "async def main():\n    print(await asyncio.gather(*[co(i) for i in range(3)]), v.get())\n    async with M() as m: print(say(m), [say(await co(i)) async for i in each() if say(i)])\n"
    "    try:\n        async with asyncio.timeout(0.01): await asyncio.sleep(say(1))\n    except TimeoutError: print('late')\n    t = asyncio.create_task(co(say(5))); t.cancel()\n    shown(lambda: say(print)(say(1)))\n    await co(say('x') + await co(2))\n"
    "shown(asyncio.run, main())\nprint(log)\n",
    "errors": COMMON + "def f(n):\n    return (1 +\n        (n / 0))\n"
    "for g in (lambda: f(say(1)), lambda: say(*5), lambda: say(1, *5), lambda: say(**5), lambda: say(**{'a': 1}, **{'a': 2}), lambda: f(), lambda: f(1, 2), lambda: None < 3, lambda: 1 < None < 2,\n"
    "          lambda: [1][5], lambda: say.q, lambda: say.q(), lambda: -'a', lambda: 3 in 4, lambda: f'{3:>q}', lambda: f'{say(3)!r:q}', lambda: '%d' % 'a', lambda: {}[say('k')], lambda: max(1 / x for x in [1, 0]),\n"
    "          lambda: [1 / x for x in [1, 0]], lambda: 'a' + 1, lambda: int('x'), lambda: (lambda: say(1) / 0)()):\n    shown(g)\n",
    "chains": COMMON + "def f():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise KeyError(say('k')) from e\ndef g():\n    try: 1 / 0\n    finally: say(2).missing\ndef h():\n    try: 1 / 0\n    except ZeroDivisionError:\n        say(1)\n        raise\n"
    "def k():\n    try: raise ExceptionGroup('g', [ValueError(say(1)), KeyError(say(2))])\n    except* ValueError: say(5)\ndef m():\n    with open(say('/nowhere/at/all')): pass\ndef n():\n    assert say(0), say('no')\nfor x in (f, g, h, k, m, n): shown(x)\nprint(sys.exc_info(), log)\n",
    "uncaught": COMMON + "def f(n):\n    return say(n)(\n        say(1))\nprint('before'); f(3)\n",
    "exit": COMMON + "import atexit\natexit.register(lambda: print('at exit', say(1)))\ntry: sys.exit(say(7))\nfinally: print('finally')\n",
    "exit-text": COMMON + "sys.exit(f'{say(3)} is why')\n",
    "os-exit": COMMON + "import os\nprint('said', flush=True); os._exit(say(5))\n",
    "signals": COMMON + "import os, signal\ndef handler(number, frame): print('signal', say(number), frame.f_lineno); say(1)\nsignal.signal(signal.SIGUSR1, handler)\n"
    "os.kill(os.getpid(), say(signal.SIGUSR1))\nprint(log); signal.raise_signal(say(signal.SIGTERM))\n",
    "interrupt": COMMON + "import signal\ndef f(): signal.raise_signal(say(signal.SIGINT))\nf()\n",
    "frames": COMMON + "import inspect\ndef depth(): return len(inspect.stack())\ndef f(x): return sys._getframe(1).f_lineno, sys._getframe(1).f_code.co_name, depth(), say(\n    depth())\n"
    "def g(): return f(\n    say(1))\nprint(g(), f(2), [f(i) for i in (1,)], (lambda: f(3))(), inspect.getsource(g), inspect.getsourcelines(f)[1], inspect.signature(f))\n"
    "traceback.print_stack(); print(sys.getrecursionlimit(), g.__code__.co_firstlineno, inspect.getmodule(g).__name__)\n",
    "recursion": COMMON + "def f(n): return f(n) if n else 0\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\nshown(f, 1); print(g(900))\n"
    "try: f(1)\nexcept RecursionError as e: print(e)\n",
    "warnings": COMMON + "import warnings, logging\nwarnings.warn('one', stacklevel=1)\ndef f(): warnings.warn(say('two'), stacklevel=2)\nf(\n)\ndef g(): f()\ng(); say(warnings.warn)('three')\n"
    "logging.basicConfig(format='%(lineno)d %(funcName)s %(filename)s %(module)s %(message)s')\ndef h(): logging.warning('%s', say(4)); logging.getLogger('x').error(f'{say(5)}', stacklevel=2)\nh()\n"
    "x = 3\nprint(x is 3)\n",
    "threads": COMMON + "import threading, concurrent.futures as cf\ndef f(n): return say(n), threading.current_thread().name\nts = [threading.Thread(target=lambda: print(f(1))) for _ in range(2)]\n"
    "for t in ts: t.start(); t.join()\nwith cf.ThreadPoolExecutor(1) as e: print(e.submit(f, say(2)).result()[0]); shown(lambda: e.submit(lambda: say(1) / 0).result())\n"
    "t = threading.Thread(target=lambda: say(3).missing, name='worker'); t.start(); t.join(); print(threading.active_count(), [t.name for t in threading.enumerate()])\n",
    "pickling": COMMON + "import pickle, copy, functools\nclass P:\n    def __init__(self): self.x = say(1)\n    def __reduce__(self): return P, ()\ndef f(x=say(2)): return say(x)\n"
    "print(pickle.loads(pickle.dumps(f)) is f, pickle.loads(pickle.dumps(functools.partial(f, 3)))(), pickle.loads(pickle.dumps(P())).x, copy.deepcopy([say(1)]))\nshown(pickle.dumps, lambda: say(1))\n",
    "tracing": COMMON + "HERE = __file__\nevents = []\ndef tracer(frame, event, arg):\n    if frame.f_code.co_filename == HERE:\n        events.append((event, frame.f_code.co_name, frame.f_lineno))\n        return tracer\n"
    "def f(n):\n    for i in range(n):\n        if say(\n                i) % 2: x = say(\n            i)\n        else:\n            x = [say(j) for j in range(i)]\n    try: say(1) / 0\n    except ZeroDivisionError: return say(\n        x)\n"
    "sys.settrace(tracer); f(3); sys.settrace(None); print(events); events.clear()\n"
    "sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code.co_name)) if frame.f_code.co_filename == HERE and event[:2] != 'c_' else None)\nf(2); sys.setprofile(None); print(events)\n",
    "doctest": COMMON + 'def f(x):\n    """\n    >>> f(1)\n    2\n    >>> f(2)\n    0\n    """\n    return say(x) + 1\nimport doctest\nprint(doctest.testmod())\n',
    "package": ({"pkg/__init__.py": "from .a import say\nprint(__name__, __file__, __spec__.name, __path__ == [__file__.rsplit('/', 1)[0]])\n", "pkg/a.py": COMMON + "import inspect\nprint(__name__, __spec__.loader.__class__.__name__, __cached__, inspect.getsource(say)[:9])\n", "pkg/__main__.py": "import sys\nfrom . import say\nprint(say(__name__), __spec__.name, __package__, sys.argv, sys.path[0])\nsay(1).missing\n"}, ["-m", "pkg", "--x"]),
    "folder": ({"app/__main__.py": COMMON + "import other\nprint(__name__, __file__, __spec__.name, sys.argv, sys.path[0] , say(other.f(2)))\n", "app/other.py": "def f(x): return abs(x)\n"}, ["app", "--x"]),
    "module-errors": ({"main.py": "import traceback\nfor name in ('broken', 'fails', 'missing', 'nested'):\n    try: __import__(name)\n    except Exception: traceback.print_exc()\nimport fine\nimport importlib; importlib.reload(fine); print(sorted(n for n in vars(fine) if n[0] != '_'))\nraise SystemExit(str(len('abc')))\n", "broken.py": "def f(:\n", "fails.py": "def f(): return len(3)\nf()\n", "nested.py": "import fails\n", "fine.py": "x = len('abc') is 3\n"}, ["main.py"]),
    "optimized": ({"main.py": COMMON + "assert say(0), say('no')\nprint(__debug__, say.__doc__, log)\n"}, ["-O", "main.py"]),
    "dev-mode": ({"main.py": COMMON + "print(say(1) + 1, sys.flags.dev_mode)\nopen(__file__)\nprint(say(2))\n"}, ["-X", "dev", "-W", "error::UserWarning", "./main.py"]),
    "spawn": ({"main.py": COMMON + "import multiprocessing as mp\ndef f(x): return say(x) + 1, __name__, __file__\nif __name__ == '__main__':\n    for how in ('spawn', 'fork'):\n        with mp.get_context(how).Pool(1) as pool: print(pool.map(f, [say(1), 2]))\n        p = mp.get_context(how).Process(target=lambda: 0 if say(1) else 1) if how == 'fork' else mp.get_context(how).Process(target=say, args=(1,))\n        p.start(); p.join(); print(p.exitcode)\n"}, ["-W", "ignore", "main.py"]),
    "children": ({"main.py": COMMON + "import subprocess, os\nprint(subprocess.run([sys.executable, 'child.py', say('a')], capture_output=True, text=True))\npid = os.fork()\nif pid == 0:\n    print('child', say(1), flush=True); os._exit(say(3))\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n", "child.py": "import sys\nprint(len(sys.argv), sys.argv, __file__)\nsys.exit(len('abcd'))\n"}, ["main.py"]),
    "encodings": ({"main.py": "# -*- coding: utf-8 -*-\n" + COMMON + "größe = say('ß') + 'é'; print(größe, f'{größe!a}', len('日本' + say('語'))); shown(lambda: größe.ü(say(1)))\n\x0c\nprint(say(2))\n"}, ["main.py"]),
}  # fmt: skip
STANDARD_OPTIONS = {"tracing": (FETCH,)}


def files_of(folder: Path, program: str | tuple[Mapping[str, str], Sequence[str]]) -> tuple[list[Path], Sequence[str]]:
    files, words = ({"main.py": program}, ["main.py", "x y"]) if isinstance(program, str) else program
    made = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        made.append(path)
    return made, words


def wanted_of(files: Sequence[Path], directions: Sequence[str], raises: Sequence[str] = ()) -> dict[Path, tuple]:
    wanted, start = {}, 0
    for path in files:
        try:
            wanted[path] = marks(path.read_text("utf-8"), directions, raises, start)
        except SyntaxError:
            continue
        start += len(wanted[path])
    return wanted


def compare(
    tmp_path: Path, files: Sequence[Path], words: Sequence[str], wanted: dict[Path, tuple], folder: Path
) -> object:
    plain = run(folder, words)
    listing = sorted(folder.rglob("*"))
    for cache in {path.parent for path in listing if path.suffix == ".pyc"}:
        shutil.rmtree(cache)
    found = watched(folder, tmp_path / "aside", words, wanted)
    assert found.stdout == plain.stdout
    assert found.stderr == plain.stderr
    assert found.status == plain.status
    assert sorted(folder.rglob("*")) == listing
    assert not [line for line in found.lines if "trouble" in line]
    loaded = {line["file"] for line in found.lines if "marked" in line}
    assert loaded == {os.path.realpath(path) for path, found_there in wanted.items() if found_there}
    assert found.placed == {mark.number for marks in wanted.values() for mark in marks}
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_a_program_of_the_standard_library(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    files, words = files_of(folder, PLAIN[name])
    wanted = wanted_of(files, STANDARD_OPTIONS.get(name, (FETCH, UPLOAD)))
    found = compare(tmp_path, files, words, wanted, folder)
    assert len(found.hit) >= 1 + (name != "optimized")
    assert found.status == {"uncaught": 1, "exit": 7, "os-exit": 5, "signals": -signal.SIGTERM}.get(name, found.status)


# Programs of jax, one group of facts each: they are what costs time.
JAX: dict[str, str | tuple[Mapping[str, str], Sequence[str]]] = {
    "loop": COMMON
    + """\
import inspect, logging, warnings
import jax, jax.numpy as jnp, numpy as np
logging.basicConfig(format='%(lineno)d %(funcName)s %(message)s')
@jax.jit
def step(p, x):
    print('tracing', x.shape)
    if x.shape[0] > 4: raise ValueError('too long')
    return p + x.sum()
p = jnp.float32(0)
for n in (3, 3, 4, 4, 5, 3, 5, 4):
    try:
        p = step(p, np.ones(n, np.float32))
    except ValueError:
        traceback.print_exc()
    print(float(p), f'{p:.2f} {p!r:>20} {p}', bool(p > 2), 'big' if p > 5 else 'small', '%s %.1f' % (p, p))
    if p > 3: say(int(p))
    while p > 100: pass
print([float(z) for z in jnp.arange(3) if z > 0], list(float(z) for z in jnp.arange(3)), (lambda q: float(q))(p))
print(np.asarray(p), np.ones(3) + p, jnp.ones(3) + np.ones(3, np.float32), [1, 2, 3][jnp.int32(1)], p.item())
m = np.zeros(3); m[0] = p; m[int(jnp.int32(1))] = p; m += p; print(m, sorted(jnp.asarray([3, 1, 2])), 2 in jnp.arange(3))
match jnp.int32(2):
    case 1: say(1)
    case 2: say(2)
logging.warning('loss %s', p); logging.warning(f'{p}')
with warnings.catch_warnings():
    warnings.simplefilter('default')
    jnp.asarray(np.ones(3), 'float64'); warnings.warn(f'{p}'); jnp.ones(3).astype('float64')
print(log, hash(step) == hash(step), step.__name__, jax.device_count(), jax.config.jax_platforms)
""",
    "errors": COMMON
    + """\
import jax, jax.numpy as jnp, numpy as np
n = np.ones(3, np.float32)
@jax.jit
def truth(v):
    return 1 if v > 0 else 2
@jax.jit
def outer(v):
    try:
        return truth(v) + float(v)
    finally:
        say('out')
for f in (lambda: truth(n[0]), lambda: outer(n[0]), lambda: jax.jit(lambda v: float(v))(n[0]), lambda: jax.jit(lambda v: np.asarray(v))(1.0),
          lambda: jax.jit(lambda v: [1, 2][v])(1), lambda: jax.jit(lambda v: v[v > 0])(n), lambda: jnp.ones(3) + jnp.ones(4), lambda: n @ 'a',
          lambda: truth(), lambda: truth(**{'v': 1}, **{'v': 2}), lambda: truth(*5), lambda: jnp.zeros(-1), lambda: jnp.arange('a')):
    shown(f)
x = jnp.ones(3); x.delete()
for f in (lambda: float(x.sum()), lambda: print(x), lambda: np.asarray(x), lambda: bool(x), lambda: f'{x}'):
    shown(f)
donating = jax.jit(lambda a: a + 1, donate_argnums=0); a = jnp.ones(3); donating(a); shown(lambda: print(a.is_deleted() or np.asarray(a)))
print(log); truth(n[0])
""",
    "functions": COMMON
    + """\
import asyncio, functools, threading, concurrent.futures as cf
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
def batches():
    try:
        for i in range(3): yield float(x[i]) + (yield i)
    finally: print('closed', float(x[0] + 1))
b = batches(); next(b); b.send(np.asarray(x)[1]); b.close()
for v in batches(): break
async def get(i): await asyncio.sleep(0); return int(x[i] + 1)
async def main(): return [await get(i) async for i in each()], f(await get(1), k=await get(2))
async def each():
    for i in range(2): yield int(jnp.int32(i))
def f(*a, **k): return [float(v) for v in (*a, *k.values())]
print(asyncio.run(main()))
with cf.ThreadPoolExecutor(2) as e: print(list(e.map(lambda i: float(x[i] * 2), range(4))))
t = threading.Thread(target=lambda: print(float(x.sum()) / 0)); t.start(); t.join()
class Meter:
    total = float(x[2])
    def __init__(self, v=int(x[3])): self.v = v
    def __del__(self): print('meter', float(x[1] + self.v))
    def __bool__(self): return bool(x[1] > 0)
    @property
    def value(self): return x[1].item() + self.total
m = Meter(); print(m.value, not m, m and 1, Meter.__init__.__defaults__); del m
@jax.jit
def back(v): return jax.pure_callback(lambda q: np.float32(say(float(q)) * 2), jax.ShapeDtypeStruct((), np.float32), v)
print(float(back(x[1])), back(np.float32(3)))
jax.debug.print('{}', x); jax.jit(lambda v: jax.debug.print('in {}', v))(x); jax.effects_barrier()
memo = functools.lru_cache(lambda k: float(x[k])); print(memo(1), memo(1), memo.cache_info())
print(jax.tree.map(float, {'a': x[0], 'b': [x[1]]}), jax.vmap(lambda q: q + 1)(x), jax.grad(lambda q: (q * q).sum())(x), log)
print(sum(float(i) for i in x), max(x), any(x > 2), all(x), x.tolist(), np.linalg.norm(x), dict(enumerate(map(float, x))), sep='|')
Meter()
""",
    "guards": COMMON
    + """\
import jax, jax.numpy as jnp, numpy as np
step = jax.jit(lambda v: v * 2)
n = np.ones(3, np.float32); step(n)
with jax.transfer_guard_host_to_device('disallow'):
    for f in (lambda: step(n), lambda: jnp.ones(3) + n, lambda: jnp.asarray([1.0, 2.0])):
        try: f()
        except Exception as e: print(type(e).__name__, 'Disallowed host-to-device' in str(e), e.__context__, e.__cause__)
    print(jax.device_put(n))
    with jax.transfer_guard('allow'): print(step(n), float(step(n)[0]))
with jax.transfer_guard_host_to_device('log'): print(step(step(n)))
jax.config.update('jax_transfer_guard_host_to_device', 'disallow')
try: step(n)
except Exception as e: print(type(e).__name__)
print(jax.config.jax_transfer_guard_host_to_device, jax.device_get(step(jax.device_put(n))))
step(n)
""",
    "processes": (
        {
            "main.py": COMMON + "import multiprocessing as mp, work\nif __name__ == '__main__':\n"
            "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(work.mean, [say(1), 2]))\n"
            "    import jax.numpy as jnp; print(float(jnp.ones(3).sum()))\n",
            "work.py": "import jax.numpy as jnp\ndef mean(n): return float(jnp.full(3, n).mean()), __name__\n",
        },
        ["main.py"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JAX)
def test_a_program_of_jax(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    files, words = files_of(folder, JAX[name])
    raises = ("TracerBoolConversionError", "ConcretizationTypeError") if name == "errors" else ()
    wanted = wanted_of(files, (FETCH, UPLOAD), raises)
    found = compare(tmp_path, files, words, wanted, folder)
    assert len(found.hit) > 4
    directions = {direction for crossings in found.crossed.values() for direction in crossings}
    assert directions >= {"loop": {FETCH, UPLOAD}, "functions": {FETCH}, "guards": {UPLOAD}}.get(name, set())
    assert [line["raised"] for line in found.lines if line.get("raised")] or name != "errors"


PYTEST = {
    "conftest.py": "import pytest\n@pytest.fixture\ndef x(): return len('abc')\n",
    "helper.py": "def check(x):\n    assert x == len('abcd'), f'{x} is wrong'\n",
    "test_it.py": """\
import warnings, pytest, helper
def f(x): return [x, x + 1]
@pytest.mark.parametrize('n', [1, 2])
def test_a(n, x): assert f(n)[0] + len('ab') == 3 and not f(x) == {'a': n}
def test_b(x):
    a = f(x)
    assert a[1] == len('abc') or (a < [1, 2] < f(0)), a
def test_c(x): assert f(x)[0] < len('ab') < 5
def test_d(x): helper.check(x)
def test_e(x):
    assert not [i for i in f(x) if i > 3]
def test_f():
    with pytest.raises(ZeroDivisionError, match='division'): f(1)[0] / 0
    with pytest.warns(UserWarning) as caught: warnings.warn(str(f(1)))
    assert caught[0].lineno == len('x' * 15)
def test_g(capsys): print(f(2)); assert capsys.readouterr().out == 'x'
class TestH:
    def test_h(self): assert isinstance(f(1), dict), 'no' + str(len('a'))
""",
}


def test_a_suite_of_pytest_with_rewritten_assertions(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--durations=0", "--durations-min=99", "."]
    files, _ = files_of(folder, (PYTEST, words))
    wanted = {path: made for path, made in wanted_of(files, (FETCH,)).items() if path.name != "conftest.py"}
    plain = run(folder, words)
    found = watched(folder, tmp_path / "aside", words, wanted)
    assert [line for line in found.stdout.splitlines() if " in " not in line or "failed" not in line] == [
        line for line in plain.stdout.splitlines() if " in " not in line or "failed" not in line
    ]
    assert (found.status, found.stderr) == (plain.status, plain.stderr) == (1, "")
    assert "8 failed, 1 passed" in plain.stdout
    assert len(found.hit) > 10


@pytest.mark.skipif(importlib.util.find_spec("coverage") is None, reason="needs coverage")
def test_coverage_counts_the_same_lines(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    text = (
        COMMON
        + "for i in range(3):\n    if say(i) % 2:\n        say(1)\n    else:\n        x = (say(2) if say(\n            0) else say(3))\ntry: say(1) / 0\nexcept ZeroDivisionError: pass\nprint(log)\n"
    )
    files, _ = files_of(folder, text)
    script = "import sys, coverage.cmdline as c\nc.main(['run', '--branch', 'main.py']); c.main(['report', '-m'])\n"
    (folder / "go.py").write_text(script)
    compare(tmp_path, files, ["go.py"], wanted_of(files, (FETCH,)), folder)
