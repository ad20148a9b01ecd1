"""The guard backends that serve in this interpreter, as parameters of tests."""

import pytest

from jaxlint.witness import virtual

REASON = virtual.why_not()
BACKENDS = ("sentinel", pytest.param("virtual", marks=pytest.mark.skipif(bool(REASON), reason=str(REASON))))
