"""Copies to another device that a loop makes again and again: of what stays, to where it stays."""

import pytest

from snippets import check_marks, rows

PUTS = {
    "an array that stays to a device that stays": """
        x = jnp.ones(3)
        other = jax.devices()[1]
        for batch in batches:
            jax.device_put(x, other)  # d2d hot
    """,
    "an array that stays to a device of each turn": """
        x = jnp.ones(3)
        for n in numbers:
            jax.device_put(x, jax.devices()[n])
        for device in jax.devices():
            jax.device_put(x, device)
    """,
    "an array that stays to a device of each turn of the loop around": """
        x = jnp.ones(3)
        for n in numbers:
            for thread in range(workers):
                jax.device_put(x, jax.local_devices()[n])
    """,
    "an array of each turn": """
        other = jax.devices()[1]
        for batch in batches:
            jax.device_put(step(1.0), other)
    """,
}


@pytest.mark.parametrize("text", rows(PUTS, {}))
def test_copies_to_another_device(text: str) -> None:
    check_marks(text)
