"""The laws of the plugin's library: one that is not the right one is refused in one line, with what is wrong and what
to do about it, before anything of it runs or is changed."""

import ctypes
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jaxlint.witness import plan, plugin


class Tables:
    """Tables as a plugin would give them, made of memory that lives as long as this."""

    def __init__(self) -> None:
        self.kept: list[object] = []

    def make(self, size: int = 1000, minor: int = 106, major: int = 0, version_size: int = 24, missing: int = 0) -> int:
        memory = (ctypes.c_uint64 * 200)(*([4096] * 200))
        memory[0], memory[1], memory[2] = size, 0, version_size
        memory[4] = major | minor << 32
        if missing:
            memory[missing // 8] = 0
        self.kept.append(memory)
        return ctypes.addressof(memory)


@pytest.fixture
def tables() -> Tables:
    return Tables()


class TestRefusals:
    """Each is one line with what is wrong and what to do; nothing was loaded or changed."""

    SOME = plugin.Plugin("/some/library.so", plugin.VARIABLE)

    def test_a_table_is_copied_and_only_the_copy_is_changed(self, tables: Tables) -> None:
        address = tables.make()
        original = bytes((ctypes.c_char * 1000).from_address(address))
        ctypes.c_uint64.from_address(address + plugin.BUFFER_IS_DELETED).value = 8192
        table = plugin.Table(self.SOME, address)
        table.hide_cpu()
        assert table.version == (0, 106)
        assert ctypes.c_uint64.from_address(table.address + plugin.BUFFER_IS_ON_CPU).value == 8192
        assert ctypes.c_uint64.from_address(address + plugin.BUFFER_IS_ON_CPU).value == 4096
        assert len(original) == 1000

    @pytest.mark.parametrize(
        ("form", "what"),
        [
            ({"size": 16}, "has a table of 16 bytes, which no PJRT plugin has"),
            ({"size": 1001}, "has a table of 1001 bytes, which no PJRT plugin has"),
            ({"size": 1 << 40}, f"has a table of {1 << 40} bytes, which no PJRT plugin has"),
            ({"version_size": 16}, "does not say its PJRT version where 0.81 does"),
            ({"major": 1}, "speaks PJRT 1.106, not 0.81 or a later 0"),
            ({"minor": 54}, "speaks PJRT 0.54, not 0.81 or a later 0"),
            ({"size": 832}, "has a table of 832 bytes, too short for PJRT 0.106"),
            ({"missing": plugin.BUFFER_IS_ON_CPU}, "lacks a function that PJRT 0.106 has"),
        ],
    )
    def test_a_table_of_another_form(self, tables: Tables, form: dict[str, int], what: str) -> None:
        with pytest.raises(RuntimeError) as caught:
            plugin.Table(self.SOME, tables.make(**form))
        remedy = f"correct {plugin.VARIABLE}, or unset it and {plugin.REMEDY}"
        assert str(caught.value) == f"/some/library.so {what}: {remedy}"

    def test_no_table(self) -> None:
        with pytest.raises(RuntimeError, match="gave no table of functions"):
            plugin.Table(self.SOME, 0)

    def test_a_chain_of_extensions_that_is_broken_or_endless(self, tables: Tables) -> None:
        address, extension = tables.make(), tables.make(size=8)
        ctypes.c_uint64.from_address(address + 8).value = extension
        with pytest.raises(RuntimeError, match="broken chain of extensions"):
            plugin.Table(self.SOME, address)
        ctypes.c_uint64.from_address(extension).value = 24
        ctypes.c_uint64.from_address(extension + 16).value = extension
        with pytest.raises(RuntimeError, match="broken chain of extensions"):
            plugin.Table(self.SOME, address)


@pytest.mark.skipif(sys.platform != "linux" or sys.maxsize < 2**32, reason="libraries of 64-bit Linux")
class TestALibrary:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv(plan.CACHE_VARIABLE, str(tmp_path / "cache"))
        return tmp_path / "cache"

    @pytest.fixture
    def library(self, tmp_path: Path) -> Path:
        """A library that is none of a plugin's."""
        found = importlib.util.find_spec("_ctypes")
        assert found is not None
        assert found.origin is not None
        copy = tmp_path / "library.so"
        copy.write_bytes(Path(found.origin).read_bytes())
        return copy

    def refusal(self, path: Path) -> str:
        with pytest.raises(RuntimeError) as caught:
            plugin.load(plugin.Plugin(str(path), plugin.VARIABLE))
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(f": correct {plugin.VARIABLE}, or unset it and {plugin.REMEDY}")
        return str(caught.value).removeprefix(f"{path} ").partition(": ")[0]

    def test_that_does_not_exist(self, tmp_path: Path) -> None:
        assert self.refusal(tmp_path / "none.so") == "is not a file"

    def test_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "text.so").write_text("not a library, but long enough to be read as the head of one, it seems")
        assert self.refusal(tmp_path / "text.so") == "is no 64-bit Linux library"
        (tmp_path / "short.so").write_bytes(b"\x7fELF\x02\x01")
        assert self.refusal(tmp_path / "short.so") == "is no 64-bit Linux library"

    def test_that_is_cut_short(self, library: Path) -> None:
        whole = library.read_bytes()
        for kept in (100, len(whole) // 2, len(whole) - 1):
            library.write_bytes(whole[:kept])
            assert self.refusal(library) == "is cut short"

    def test_of_another_machine(self, library: Path) -> None:
        content = bytearray(library.read_bytes())
        content[18:20] = (8).to_bytes(2, "little")
        library.write_bytes(content)
        assert self.refusal(library).startswith("is a library of another machine than ")

    def test_of_something_else(self, library: Path) -> None:
        assert self.refusal(library) == "is no PJRT plugin, it has no GetPjrtApi"

    def test_that_is_not_the_published_one(self, library: Path, cache: Path) -> None:
        package = plugin.Package("some-package", "1.0", "library.so", "0" * 64)
        some = plugin.Plugin(str(library), "package", package, "1.0")
        message = f"{library} is not the library that some-package 1.0 was published with: "
        with pytest.raises(RuntimeError) as caught:
            plugin.load(some)
        assert str(caught.value).startswith(message + "pip install --force-reinstall some-package==1.0")
        (note,) = cache.iterdir()
        digest = json.loads(note.read_text("utf-8"))["sha256"]
        plugin.verify(replace(some, package=replace(package, sha256=digest)))

    def test_is_read_again_when_it_changed(self, library: Path, cache: Path) -> None:
        first = plugin._digest(str(library))
        (note,) = cache.iterdir()
        note.write_text(note.read_text("utf-8").replace(first, "f" * 64))
        assert plugin._digest(str(library)) == "f" * 64
        library.write_bytes(library.read_bytes() + b"\0")
        assert plugin._digest(str(library)) not in (first, "f" * 64)
        note.write_text("spoiled")
        assert len(plugin._digest(str(library))) == 64

    def test_is_read_without_a_cache(self, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(plan.CACHE_VARIABLE, str(library / "no folder"))
        assert len(plugin._digest(str(library))) == 64

    def test_of_another_version(self, library: Path) -> None:
        package = plugin.KNOWN[0]
        with pytest.raises(RuntimeError) as caught:
            plugin.verify(plugin.Plugin(str(library), "package", package, "2027.1.1"))
        remedy = f"pip install {package.name}=={package.version}, or name its library in {plugin.VARIABLE}"
        assert str(caught.value) == f"{package.name} 2027.1.1 is not the version that was measured: {remedy}"
