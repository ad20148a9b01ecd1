"""The abstract interpreter: it runs a program on places of values instead of values, and notes sites.

Where what is:

- the door: `run`; what it gives: `collecting` (sites of all runs to those that are reported).
- words: `values` (and `hashing`, `joining`, `widening`, `guessing`), `heap` (and `cells`), `states`, `heat` (paces
  and gates), `ledger`, `budget`; `program` (modules and functions by one look), `project`
  (which file a name means) and `syntax` (a node by one look).
- the meeting place: `engine`; `frames` are code that runs, and calls as handlers see them. A module registers what it
  does with a kind of node by `@expression` or `@statement`, and with a library's callable by `@handler`; the parts
  reach each other through the engine alone.
- statements: `flow` (simple ones, if, try), `loops`, `managers` (with), `patterns` (match), `imports`, `definitions`
  (def, class), `assignment` (targets), `scopes` (names).
- expressions: `expressions` (constants, f-strings, names, slices, calls), `operators` (arithmetic, comparison, and,
  or, not, if-else), `displays`, `comprehensions` (and `iteration`), `generators` (yield, await), `attributes`,
  `subscripts`, `definitions` (lambda).
- tests, which are looked at in three ways: what follows for names (`predicates` takes a test apart, `narrowing` draws
  the conclusion), whether it holds now and then only (`gates`), whether it holds once (`firsts`).
- calls: `calls`, `binding` (arguments to parameters), `contexts` (which earlier run serves), `classes`, `entering`
  (functions that nobody calls; `annotations` and `fixtures` say what they are given), `modules`, `library` and
  `models` (callables of libraries, as `jaxlint/models` describes them).
- handlers of library callables: `transforms` (jit, vmap and their like; `traces` runs what they make), `gradients`,
  `control` (jax.lax), `trees`, `explicit` (device_get, device_put, callbacks), `frameworks`, `devices`, `guards`,
  `standard` (builtins, the standard library), `containers`, `decorators`, `dispatch`, `concurrency`.
- sites: `effects` (what reads, uploads or leaks), `copies` (what has a host copy behind calls),
  `uploads`, `uses` (what fetched values are for).

A new transform is a name in `jaxlint/models/transforms.toml` with a handler, which makes a `Transformed`, and a
handler called ``call NAME``, which runs it. A new operation of sites is named in `jaxlint.sites` and then in those of
the sets in `effects`, `uses` and `collecting` that it belongs to.
"""
