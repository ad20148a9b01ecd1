"""How far the runs of a function agree about a site: what only some of them show, or none outside of a trace, may rest
on a caller that was misread."""

from collections import Counter

from jaxlint.interp.engine import Engine
from jaxlint.interp.states import Activation, RawSite
from jaxlint.interp.values import Place
from jaxlint.sites import Confidence, Operation


class Agreement:
    """The runs of all functions, counted by whether they are under a trace, and those that show each site."""

    def __init__(self, engine: Engine) -> None:
        self._runs: Counter[tuple[Place, bool]] = Counter()
        self._shown: Counter[tuple[Place, bool, int, Operation, bool]] = Counter()
        for activation in engine.activations:
            if activation.info is None:
                continue
            run = (activation.info.place, activation.under_trace)
            self._runs[run] += 1
            for (node, operation), site in activation.sites.items():
                self._shown[*run, node, operation, site.traced] += 1

    def lowered(self, activation: Activation, site: RawSite) -> Confidence:
        """The confidence of a site, a level lower for each doubt: other runs of the function do not show it; the
        function runs both under a trace and outside of any."""
        if activation.info is None:
            return site.confidence
        place, under_trace = activation.info.place, activation.under_trace
        shown = self._shown[place, under_trace, site.module.place(site.node).number, site.operation, site.traced]
        doubts = (shown < self._runs[place, under_trace]) + (self._runs[place, not under_trace] > 0)
        return Confidence(max(Confidence.LOW, site.confidence - doubts))
