"""How far the runs of a function agree about a site: what only some of them show, or none under a trace, may rest on a
caller that was misread."""

from collections import Counter

from jaxlint.interp.effects import SHOWING
from jaxlint.interp.engine import MAX_TRACED_CONTEXTS, Engine
from jaxlint.interp.states import Activation, RawSite
from jaxlint.interp.values import Place
from jaxlint.sites import Confidence, Heat, Operation


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

    def confidence(self, activation: Activation, site: RawSite, heat: Heat) -> Confidence:
        """How sure a site is that this run shows at this heat.

        Where other runs of the function do not show it, it is medium at most, and what is no more than likely in those
        that run in a loop is a guess. Functions that are compiled somewhere are run eagerly once, to make parameters
        or to look at a result, but hardly ever in a loop: what says so of one loses a level. What fails under a trace
        fails whenever it runs: where there is another reading, of the value or of one of many callers, the one that
        works is the likelier.
        """
        if activation.info is None:
            return site.confidence
        place, under_trace = activation.info.place, activation.under_trace
        sure, runs = site.confidence, self._runs[place, under_trace]
        shown = self._shown[place, under_trace, site.module.place(site.node).number, site.operation, site.traced]
        fails = site.traced and site.operation not in SHOWING
        if fails and (sure is Confidence.MEDIUM or shown < runs >= MAX_TRACED_CONTEXTS):
            return Confidence.LOW
        if shown < runs:
            sure = min(sure, Confidence.MEDIUM) if heat is Heat.COLD else Confidence(max(Confidence.LOW, sure - 1))
        if heat is not Heat.COLD and not site.traced and self._runs[place, not under_trace]:
            sure = Confidence(max(Confidence.LOW, sure - 1))
        return sure
