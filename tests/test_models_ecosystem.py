"""Libraries around JAX: graphs, environments, search, solvers, samplers. None of them is needed here."""

from pathlib import Path

import pytest

from snippets import check_marks, check_project, rows

GRAPHS = {
    "batches of graphs": """
        import jraph

        @jax.jit
        def train_step(params, graph):
            nodes = jraph.segment_sum(graph.edges, graph.receivers, num_segments=8)
            return params + nodes.sum(), nodes

        def graphs():
            for n in range(3):
                yield jraph.GraphsTuple(
                    nodes=np.ones((2, 1)), edges=np.ones((2, 1)), senders=np.array([0, 1]), receivers=np.array([1, 0]),
                    n_node=np.array([2]), n_edge=np.array([2]), globals=None,
                )

        params = jnp.zeros(())
        for graph in graphs():
            graph = jraph.pad_with_graphs(graph, n_node=8, n_edge=8, n_graph=2)
            mask = jraph.get_node_padding_mask(graph)  # h2d
            params, nodes = train_step(params, graph)  # h2d
            print(graph.n_node)
            print(nodes[mask])  # d2h
        for batch in jraph.dynamically_batch(graphs(), n_node=8, n_edge=8, n_graph=3):
            params, nodes = train_step(params, batch)  # h2d
            print(batch.n_edge)
    """,
    "a batch on the device and what is looked up in it": """
        import jraph

        graph = jraph.get_fully_connected_graph(2, 2)
        jraph.unbatch(graph)  # d2h
        jraph.batch_np([jraph.get_fully_connected_graph(2, 2)])  # d2h
        ids = step(jnp.zeros(3, int))
        print(jraph.segment_sum(jnp.ones(3), ids, 2))  # d2h
        jraph.segment_mean(jnp.ones(3), ids)  # d2h
        jraph.segment_max(np.ones(3), ids, num_segments=2)  # h2d
    """,
    "spherical harmonics": """
        import e3nn_jax as e3nn

        positions = np.ones((4, 3), np.float32)
        sh = e3nn.spherical_harmonics("0e+1o", positions, True)  # h2d
        print(sh.irreps, sh.shape)
        print(sh.array)  # d2h
        print(e3nn.bessel(np.ones(3), 4))  # h2d, d2h
        print(e3nn.clebsch_gordan(1, 1, 1))
        senders, receivers = e3nn.radius_graph(jnp.ones((4, 3)), 1.0)  # d2h
        print(senders)  # d2h
    """,
}

ENVIRONMENTS = {
    "jumanji": """
        import jumanji
        from jumanji.wrappers import AutoResetWrapper

        env = AutoResetWrapper(jumanji.make("Snake-v1"))
        key = jax.random.key(0)
        state, timestep = jax.jit(env.reset)(key)
        take = jax.jit(env.step)
        print(env.action_spec.shape, env.action_spec.num_values)
        for n in range(3):
            state, timestep = take(state, np.int32(n))
            if timestep.last():  # d2h hot
                print(timestep.observation.grid.shape)
            reward = float(timestep.reward)  # d2h hot
        action = env.action_spec.generate_value()
        state, timestep = env.step(state, action)
        while not timestep.last():  # d2h
            state, timestep = env.step(state, action)
    """,
    "an environment of jumanji that the project defines": """
        import jumanji
        from jumanji.wrappers import Wrapper

        class Tables(jumanji.Environment):
            action_spec = observation_spec = None

            def __init__(self, tables):
                self.tables = tables

            def reset(self, key):
                return self.tables[0], {"reward": 0.0}

            def step(self, state, action):
                return self.tables[int(action)], {"reward": float(action)}

        class Count(Wrapper):
            def __init__(self, env):
                super().__init__(env)
                self.count = 0

            def step(self, state, action):
                self.count += 1
                state, timestep = super().step(state, action)
                return state, timestep

        env = Tables(np.ones((3, 2)))
        state, first = env.reset(0)
        print(state, first["reward"])
        state, after = env.step(state, 1)
        print(state.sum(), after["reward"])
        counted = Count(jumanji.make("Snake-v1"))
        state, timestep = counted.reset(jax.random.key(0))
        state, timestep = counted.step(state, jnp.int32(1))
        print(counted.count)
        print(timestep.reward)  # d2h
    """,
    "jumanji behind Gym": """
        import jumanji
        from jumanji.wrappers import JumanjiToGymWrapper

        env = JumanjiToGymWrapper(jumanji.make("Snake-v1"))
        obs, info = env.reset()
        done = False
        for n in range(3):
            if done:
                obs, info = env.reset()
            obs, reward, done, truncated, info = env.step(1)
            print(obs["grid"].sum(), reward, done)
    """,
    "pgx": """
        import pgx
        from pgx.experimental import act_randomly, auto_reset

        env = pgx.make("tic_tac_toe")
        init = jax.jit(jax.vmap(env.init))
        take = jax.jit(jax.vmap(env.step))
        print(env.num_actions, env.num_players)
        state = init(jax.random.split(jax.random.key(0), 2))
        while not (state.terminated | state.truncated).all():  # d2h hot
            action = act_randomly(jax.random.key(1), state.legal_action_mask)
            state = take(state, action)
            total = float(state.rewards.sum())  # d2h hot
        pgx.save_svg(state, "state.svg")  # d2h
    """,
    "gymnax and brax": """
        import gymnax
        from gymnax.wrappers.purerl import LogWrapper
        from brax import envs

        env, params = gymnax.make("CartPole-v1")
        env = LogWrapper(env)
        obs, state = env.reset(jax.random.key(0), params)
        for n in range(3):
            out = env.step(jax.random.key(n), state, jnp.int32(1), params)
            if out[3]:  # d2h hot
                break
        walker = envs.get_environment("ant")
        state = jax.jit(walker.reset)(jax.random.key(0))
        while not state.done:  # d2h hot
            state = jax.jit(walker.step)(state, jnp.zeros(8))
    """,
}

LEARNING = {
    "replay": """
        import flashbax as fbx

        buffer = fbx.make_item_buffer(max_length=10, min_length=2, sample_batch_size=2)
        buffer = buffer.replace(
            init=jax.jit(buffer.init), add=jax.jit(buffer.add, donate_argnums=0), sample=jax.jit(buffer.sample),
            can_sample=jax.jit(buffer.can_sample),
        )
        state = buffer.init({"obs": np.zeros(3, np.float32)})
        for n in range(6):
            state = buffer.add(state, {"obs": np.ones(3, np.float32)})  # h2d hot
            if not buffer.can_sample(state):  # d2h hot
                continue
            batch = buffer.sample(state, jax.random.key(n))
            out = step(batch.experience["obs"])
            print(out.shape)
    """,
    "replay by priority": """
        import flashbax as fbx
        from flashbax.buffers.trajectory_queue import make_trajectory_queue

        buffer = fbx.make_prioritised_flat_buffer(10, 2, 2)
        state = buffer.init({"obs": jnp.zeros(3)})
        for n in range(6):
            state = buffer.add(state, {"obs": jnp.ones(3)})
        sample = buffer.sample(state, jax.random.key(0))
        print(sample.indices)  # d2h
        state = buffer.set_priorities(state, sample.indices, np.ones(2))  # h2d
        queue = make_trajectory_queue(10, 1, 2, 2)
        state = queue.init({"obs": jnp.zeros(3)})
        if queue.can_add(state):  # d2h
            state = queue.add(state, {"obs": np.ones((1, 2, 3), np.float32)})  # h2d
        state, sample = queue.sample(state)
        print(sample.experience["obs"])  # d2h
    """,
    "tree search": """
        import mctx

        def recurrent(params, key, action, embedding):
            out = mctx.RecurrentFnOutput(
                reward=jnp.zeros(2), discount=jnp.ones(2), prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2),
            )
            return out, embedding

        def search(key):
            root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.zeros((2, 1)))
            return mctx.gumbel_muzero_policy({}, key, root, recurrent, num_simulations=4)

        run = jax.jit(search)
        for n in range(3):
            output = run(jax.random.key(n))
            action = int(output.action[0])  # d2h hot
        tree = search(jax.random.key(0)).search_tree
        for node in range(tree.num_simulations):
            print(f"{tree.node_values[0, node]}")  # d2h hot
        print(tree.summary().qvalues)  # d2h
    """,
    "mixed precision": """
        import jmp

        policy = jmp.get_policy("params=float32,compute=float16,output=float32")
        scale = jmp.DynamicLossScale(jnp.asarray(2.0**15))

        @jax.jit
        def update(params, scale, batch):
            batch = policy.cast_to_compute(batch)
            grads = scale.unscale({"w": params * batch})
            finite = jmp.all_finite(grads)
            params = jmp.select_tree(finite, params - grads["w"], params)
            return params, scale.adjust(finite), grads

        params = jnp.ones(3)
        for n in range(3):
            batch = policy.cast_to_compute(np.ones(3, np.float32))
            print(batch)
            params, scale, grads = update(params, scale, batch)  # h2d hot
            if jmp.all_finite(grads):  # d2h hot
                print(scale.loss_scale)  # d2h hot
    """,
    "images": """
        import dm_pix as pix

        for n in range(3):
            image = np.ones((8, 8, 3), np.float32)
            image = pix.random_flip_left_right(jax.random.key(n), image)  # h2d hot
            image = pix.adjust_brightness(image, 0.1)
        print(float(pix.psnr(image, image).sum()))  # d2h
    """,
    "functions and distributions of rlax": """
        import rlax

        q = np.ones(3, np.float32)
        print(rlax.clip_gradient(q, -1.0, 1.0))
        policy = rlax.epsilon_greedy(0.1)
        action = policy.sample(jax.random.key(0), q)  # h2d
        print(action)  # d2h
        apply, invert = rlax.create_ema()
        print(apply)
        print(rlax.l2_loss(jnp.ones(3)))  # d2h
    """,
}

SOLVERS = {
    "a differential equation": """
        import diffrax
        from diffrax import ODETerm, SaveAt, Tsit5, diffeqsolve

        term = ODETerm(lambda t, y, args: -y)
        for n in range(3):
            y0 = np.full(2, n, np.float32)
            sol = diffeqsolve(term, Tsit5(), 0.0, 1.0, 0.1, y0, saveat=SaveAt(ts=np.linspace(0, 1, 5)))  # h2d hot
            print(sol.ys[-1])  # d2h hot
            print(sol.stats["num_steps"])  # d2h hot
            if sol.result == diffrax.RESULTS.successful:  # d2h hot
                pass
        dense = diffeqsolve(term, Tsit5(), 0.0, 1.0, 0.1, jnp.ones(2), saveat=SaveAt(dense=True))
        print(dense.evaluate(0.5))  # d2h
    """,
    "a solve in compiled code": """
        import diffrax

        @jax.jit
        def solve(y0):
            term = diffrax.ODETerm(lambda t, y, args: -y)
            sol = diffrax.diffeqsolve(term, diffrax.Dopri5(), 0.0, 1.0, 0.1, y0)
            return sol.ys, sol

        last, sol = solve(jnp.ones(2))
        print(last)  # d2h
        print(sol.ts)  # d2h
    """,
    "a path that the project defines": """
        import diffrax

        class Table(diffrax.AbstractPath):
            def __init__(self, rows):
                self.rows = rows

            def evaluate(self, t0, t1=None, left=True):
                return self.rows[int(t0)]

        table = Table(np.ones(3))
        print(table.evaluate(1))
    """,
    "minimisers": """
        import optimistix as optx

        def loss(y, args):
            return jnp.sum((y - args) ** 2)

        solver = optx.BFGS(rtol=1e-3, atol=1e-3)
        for n in range(3):
            sol = optx.minimise(loss, solver, np.ones(2, np.float32), args=jnp.ones(2))  # h2d hot
            print(sol.value)  # d2h hot
            steps = int(sol.stats["num_steps"])  # d2h hot
        root = optx.root_find(lambda y, args: y - 1.0, optx.Newton(1e-3, 1e-3), jnp.zeros(2))
        if optx.max_norm(root.value) < 1e-3:  # d2h
            pass
    """,
    "linear systems": """
        import lineax as lx

        a = np.eye(3, dtype=np.float32)
        operator = lx.MatrixLinearOperator(step(jnp.zeros((3, 3))), lx.positive_semidefinite_tag)
        for n in range(3):
            sol = lx.linear_solve(operator, np.ones(3, np.float32), lx.AutoLinearSolver(well_posed=False))  # h2d hot
            print(sol.value)  # d2h hot
        if lx.is_symmetric(operator):
            print(operator.in_size())
        print(operator.T.mv(jnp.ones(3)))  # d2h
    """,
}

SAMPLERS = {
    "a chain": """
        import blackjax

        nuts = blackjax.nuts(lambda x: -jnp.sum(x**2), 0.1, jnp.ones(2))
        state = nuts.init(jnp.ones(2))
        take = jax.jit(nuts.step)
        draws = []
        for n in range(3):
            state, info = take(jax.random.key(n), state)
            draws.append(np.asarray(state.position))  # d2h hot
            if info.is_divergent:  # d2h hot
                break
        chains = np.stack(draws)[None]
        print(blackjax.rhat(np.ones((4, 8, 2))))  # h2d, d2h
    """,
    "adaptation": """
        import blackjax

        def density(x):
            return -jnp.sum(x**2)

        warmup = blackjax.window_adaptation(blackjax.nuts, density)
        (state, parameters), info = warmup.run(jax.random.key(0), jnp.ones(2), num_steps=20)
        print(parameters["step_size"])  # d2h
        kernel = blackjax.nuts(density, **parameters).step
        state, info = kernel(jax.random.key(1), state)
        print(info.acceptance_rate)  # d2h
    """,
    "evolution": """
        from evosax.algorithms import CMA_ES

        es = CMA_ES(population_size=8, solution=jnp.zeros(3))
        params = es.default_params
        key = jax.random.key(0)
        state = es.init(key, jnp.zeros(3), params)
        for n in range(3):
            population, state = es.ask(key, state, params)
            fitness = np.asarray(population).sum(axis=-1)  # d2h hot
            state, metrics = es.tell(key, population, fitness, state, params)  # h2d hot
            print(metrics["best_fitness"])  # d2h hot
            print(es.population_size)
    """,
    "evolution as it was": """
        from evosax import OpenES

        strategy = OpenES(popsize=8, num_dims=3)
        params = strategy.default_params
        rng = jax.random.PRNGKey(0)
        state = strategy.initialize(rng, params)
        for n in range(3):
            x, state = strategy.ask(rng, state, params)
            state = strategy.tell(x, np.ones(8), state, params)  # h2d hot
            print(state.best_fitness)  # d2h hot
    """,
    "bijectors": """
        import distrax

        flow = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Tanh()])
        y, log_det = flow.forward_and_log_det(np.ones(3, np.float32))  # h2d
        print(y, log_det)  # d2h
        target = distrax.Transformed(distrax.Normal(jnp.zeros(3), 1.0), flow)
        print(target.sample(seed=jax.random.key(0)))  # d2h
        print(distrax.Categorical(jnp.ones(3)).num_categories)
        print(distrax.multiply_no_nan(jnp.ones(3), jnp.ones(3)))  # d2h
    """,
}

TABLE = {**GRAPHS, **ENVIRONMENTS, **LEARNING, **SOLVERS, **SAMPLERS}


@pytest.mark.parametrize("text", rows(TABLE, {}))
def test_a_library_is_known(text: str) -> None:
    check_marks(text)


@pytest.mark.parametrize(
    "call", ["dm_pix.mse(1, 2)", "diffrax.is_okay(1)", "jmp.all_finite(1)", "mctx.search().parents"]
)
def test_a_program_that_names_no_more_than_the_library_is_checked(call: str) -> None:
    check_marks(f"import {call.partition('.')[0]}\n\nprint({call})  # d2h\n")


def test_a_module_of_the_project_is_not_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(
        """
        # main.py
        from mctx import tools
        from pgx.files import save
        tools.run(3)
        save("here")

        # mctx/__init__.py

        # mctx/tools.py
        def run(n):
            print(n)

        # pgx/__init__.py

        # pgx/files.py
        def save(name):
            print(name)
        """,
        tmp_path,
        monkeypatch,
    )
