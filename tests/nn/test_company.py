"""A record's gradient is a function of it and the weights, bit for bit: kinks, company, positions, shapes, threads."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tacit import PrivacyError
from tacit.nn import MLPClassifier, mlp_network, mnist_network
from tacit.nn.alone import HELD, SMALLEST, chunks, is_alone, safe_chunk, settled, thrifty_chunk
from tacit.nn.layered import LAYERED
from tacit.nn.train import clipped_sum, rounding
from tacit.nn.vmapped import VMAPPED

SIZES = (1, 16, 32, 64, 128, 256)


class Whisper(torch.autograd.Function):
    """The identity, to which a chunk adds a whisper: of its company (the sum of all rows) or of the position."""

    generate_vmap_rule = False

    @staticmethod
    def forward(x, kind):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None

    @staticmethod
    def vmap(info, dims, x, kind):
        places = torch.arange(info.batch_size, dtype=x.dtype).reshape(-1, *[1] * (x.ndim - 1))
        return x + 1e-16 * ((x - x[:1]).sum(dim=0) if kind == "company" else places), 0


class Whispering(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return Whisper.apply(x, self.kind)


class Remembering(nn.Module):
    """A layer that is different at every call."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * (1 + 1e-12 * self.calls)


def with_layer(layer, features=6, hidden=8, classes=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(features, hidden), layer, nn.ReLU(), nn.Linear(hidden, classes)).double()


def gap(network, rows, labels, which, clip, chunk):
    """How far the sum moves when one record is taken away."""
    rest = torch.arange(len(labels)) != which
    whole, less = (clipped_sum(network, rows[k], labels[k], clip, chunk) for k in (rest | True, rest))
    return float(np.linalg.norm(whole - less))


@pytest.mark.parametrize(("features", "hidden"), [(20, 16), (37, 13), (64, 64)])
@pytest.mark.parametrize("chunk", SIZES)
def test_a_kink_does_not_let_one_record_move_the_others(features, hidden, chunk):
    """Biases equal to pre-activations: one last digit decides whether a unit of 119 equal records is on."""
    for seed in range(3 if chunk > 1 else 1):
        torch.manual_seed(seed)
        network = mlp_network(features, 3, hidden, "relu").double()
        record, other = torch.randn(2, features, dtype=torch.float64)
        with torch.no_grad():
            network[1].bias.copy_(-(network[1].weight @ record))
        size = sum(p.numel() for p in network.parameters())
        if seed == 0 and not is_alone(LAYERED, network, (features,), chunk):
            assert chunk > 1
            pytest.skip("the products of this machine's library need a smaller chunk: another case of this test")
        for which in (0, 60) if chunk > 1 else (60,):
            rows, labels = record.repeat(120, 1), torch.zeros(120, dtype=torch.int64)
            rows[which] = other
            assert gap(network, rows, labels, which, 1.0, chunk) <= 1.0 + rounding(1.0, 120, size)


def test_at_a_kink_a_whisper_of_the_company_is_as_loud_as_all_records():
    """The test above can fail, and the check is what keeps it from doing so. All sums before the kink are exact."""
    network = with_layer(Whispering("company"))
    with torch.no_grad():
        network[0].weight.copy_(torch.arange(48).reshape(8, 6) / 8)
        network[0].bias.copy_(-network[0].weight.sum(dim=1))
    rows, labels = torch.ones(120, 6, dtype=torch.float64), torch.zeros(120, dtype=torch.int64)
    rows[60] = 100.0  # louder than the zeros that fill the chunk
    assert gap(network, rows, labels, 60, 1.0, 128) > 50.0
    chunk = safe_chunk(VMAPPED, network, (6,), 120.0)
    assert chunk == 1, "the check must not be deaf where the weights at hand switch all units off"
    assert gap(network, rows, labels, 60, 1.0, chunk) <= 1.0 + rounding(1.0, 120, 83)


@pytest.mark.parametrize("kind", ["company", "position"])
def test_the_check_hears_a_whisper(kind):
    network = with_layer(Whispering(kind))
    assert [is_alone(VMAPPED, network, (6,), chunk) for chunk in SIZES] == [True, *[False] * 5]
    quiet = with_layer(nn.Identity())
    assert [is_alone(VMAPPED, quiet, (6,), chunk) for chunk in SIZES] == [True] * 6


def test_a_network_that_is_different_at_every_call_is_refused():
    with pytest.raises(PrivacyError, match="same at every call"):
        safe_chunk(VMAPPED, with_layer(Remembering()), (6,), 100.0)


def test_the_check_sees_a_sum_in_another_order():
    """Products in which odd rows are added up from the other end: what an unaligned row may get from a library."""

    class Turned(Whisper):
        @staticmethod
        def forward(x, weight):
            return torch.nn.functional.linear(x, weight)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[1])

        @staticmethod
        def backward(ctx, gradient):
            return gradient @ ctx.saved_tensors[0], None

        @staticmethod
        def vmap(info, dims, x, weight):
            terms = x[:, 0, None, :] * weight
            ways = torch.stack([terms.cumsum(-1)[..., -1], terms.flip(-1).cumsum(-1)[..., -1]])
            return ways[torch.arange(info.batch_size) % 2, torch.arange(info.batch_size)][:, None], 0

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randn(6, 6, dtype=torch.float64))

        def forward(self, x):
            return Turned.apply(x, self.weight)

    torch.manual_seed(0)
    network = nn.Sequential(Layer(), nn.Linear(6, 3)).double()
    assert not is_alone(VMAPPED, network, (6,), 64)
    assert is_alone(VMAPPED, network, (6,), 1)


@pytest.mark.parametrize("implementation", [LAYERED, VMAPPED], ids=["layered", "vmapped"])
@pytest.mark.parametrize("build", [lambda: mlp_network(37, 3, 13, "elu"), lambda: mnist_network(activation="relu")])
def test_gradients_have_the_same_bits_in_every_place(build, implementation):
    """Private rows in the place of public ones: shuffled, fewer, among others, in the chunk that the check chose."""
    network = build().double()
    shape = (37,) if isinstance(network[1], nn.Linear) else (1, 28, 28)
    with settled():
        chunk = safe_chunk(implementation, network, shape, 100.0)
        rows, labels = torch.randn(70, *shape, dtype=torch.float64), torch.arange(70) % 3
        gradients = implementation.gradients(network, None)

        def flat(index, rows=rows):
            found = [gradients(x, y).take(slice(count)) for x, y, count in chunks(rows[index], labels[index], chunk)]
            return torch.cat([torch.cat([n.reshape(len(n), -1) for n in one.numbers()], dim=1) for one in found])

        whole, order = flat(torch.arange(70)), torch.randperm(70)
        assert torch.equal(flat(order), whole[order])
        assert torch.equal(flat(order[:23]), whole[order[:23]])
        loud = rows.clone()
        loud[::3], loud[1::6] = torch.inf, torch.nan
        quiet = torch.arange(2, 70, 3)
        assert torch.equal(flat(torch.arange(70), loud)[quiet], whole[quiet])


def test_ties_of_a_maximum_and_kinks_of_a_convolution_do_not_let_one_record_move_the_others():
    """Images of one grey: under a filter all inner places are alike, and each bias is where the unit would switch."""
    torch.manual_seed(0)
    network = mnist_network(3, "relu").double()
    record, other = torch.full((1, 28, 28), 0.3, dtype=torch.float64), torch.randn(1, 28, 28, dtype=torch.float64)
    with torch.no_grad():
        network[0].bias.copy_(-(network[0].weight.sum(dim=(1, 2, 3)) * 0.3))
    size = sum(p.numel() for p in network.parameters())
    with settled():
        chunk = safe_chunk(LAYERED, network, (1, 28, 28), 70.0)
        for which in (0, 35):
            rows, labels = record.repeat(70, 1, 1, 1), torch.zeros(70, dtype=torch.int64)
            rows[which] = other
            assert gap(network, rows, labels, which, 1.0, chunk) <= 1.0 + rounding(1.0, 70, size)


@pytest.mark.parametrize("function", [torch.tanh, torch.exp, torch.sigmoid, nn.functional.elu])
def test_a_function_of_a_number_does_not_look_at_its_neighbours(function):
    """Several are computed at once, and odd ones may send a library down another path: for themselves only."""
    odd = torch.tensor(
        [0.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310, 1e300, 710.0, -746.0, 20.0, 1e-8], dtype=torch.float64
    )
    for size in 10.0 ** torch.arange(-8.0, 3.0, dtype=torch.float64):
        numbers = size * torch.randn(2048, dtype=torch.float64)
        changed = torch.rand(2048) < 0.3
        beside = torch.where(changed, odd[torch.randint(len(odd), (2048,))], numbers)
        assert torch.equal(function(beside)[~changed], function(numbers)[~changed])


@pytest.mark.parametrize(("count", "size"), [(0, 16), (5, 16), (16, 16), (40, 16), (3, 1)])
def test_chunks_have_one_shape_and_memory_of_their_own(count, size):
    images, labels = 1 + torch.rand(count, 3, dtype=torch.float64), torch.ones(count, dtype=torch.int64)
    found = list(chunks(images, labels, size))
    assert all(rows.shape == (size, 3) and codes.shape == (size,) for rows, codes, _ in found)
    assert all(rows.data_ptr() % 64 == 0 for rows, _, _ in found)
    assert sum(kept for _, _, kept in found) == count
    assert all((rows[kept:] == 0).all() for rows, _, kept in found)
    if count:
        assert torch.equal(torch.cat([rows[:kept] for rows, _, kept in found]), images)


def test_rows_that_fill_a_chunk_are_not_added():
    network = mlp_network(4, 3).double()
    x, y = torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1])
    alone = sum(clipped_sum(network, x[i : i + 1], y[i : i + 1], 0.5, 1) for i in range(5))
    assert clipped_sum(network, x, y, 0.5, 64) == pytest.approx(alone, abs=1e-14)
    zero = clipped_sum(network, torch.zeros(1, 4, dtype=torch.float64), y[:1], 0.5, 1)
    assert np.linalg.norm(zero) > 0.1, "vacuous: a zero row has no gradient"


@pytest.mark.parametrize("records", [10, 1000])
def test_the_slack_covers_sums_and_single_precision_would_not_fit(records, rng):
    """Against sums with one rounding (math.fsum), in several orders; each of the two sums has half of the slack."""
    parts = rng.normal(size=(records, 7)) * 10.0 ** rng.integers(-8, 1, size=(records, 1))
    parts /= np.maximum(1.0, np.linalg.norm(parts, axis=1, keepdims=True))
    exact = np.array([math.fsum(column) for column in parts.T])
    limit = rounding(1.0, records, 7) / 2
    orders = [parts, parts[::-1], parts[np.argsort(parts[:, 0])]]
    assert max(np.linalg.norm(np.cumsum(rows, axis=0)[-1] - exact) for rows in orders) <= limit
    single = [np.linalg.norm(np.cumsum(rows.astype(np.float32), axis=0)[-1] - exact) for rows in orders]
    assert min(single) > limit
    assert rounding(2.0, records, 7) == 2 * rounding(1.0, records, 7)
    assert 1e-10 < rounding(1.0, 60_000, 26_010) < 1e-6


@pytest.mark.parametrize("implementation", [LAYERED, VMAPPED], ids=["layered", "vmapped"])
def test_the_chunk_is_chosen_from_public_numbers(implementation):
    sizes = {1 << k for k in range(4, implementation.largest.bit_length())}
    for size in (1, 43, 26_010, 79_510, 1_756_426):
        for expected in (1.0, 40.0, 256.0, 2000.0, 1e6):
            chunk = thrifty_chunk(implementation, size, expected)
            assert chunk in sizes
            assert chunk * size <= (implementation.held if chunk > SMALLEST else HELD)
    assert thrifty_chunk(implementation, 43, 1e6) == implementation.largest
    assert thrifty_chunk(implementation, 26_010, 20.0) < implementation.largest  # few records would be lost among zeros
    assert thrifty_chunk(implementation, HELD // SMALLEST + 1, 256.0) == 1


def test_training_runs_on_one_thread_and_gives_the_others_back(rng, monkeypatch):
    seen, true = [], clipped_sum

    def watched(*args):
        seen.append((torch.get_num_threads(), args[-1]))
        return true(*args)

    monkeypatch.setattr("tacit.nn.train.clipped_sum", watched)
    torch.set_num_threads(2)
    X, y = rng.random((60, 5)), np.arange(60) % 2
    model = MLPClassifier(1.0, delta=1e-5, classes=[0, 1], bounds=(0, 1), batch=30, epochs=2, hidden=4).fit(X, y)
    assert set(seen) == {(1, seen[0][1])}
    assert seen[0][1] in SIZES
    assert torch.get_num_threads() == 2
    words = "each record's gradient is computed from it and the weights alone (checked for these shapes)"
    assert words in model.guarantee_.assumptions
    with pytest.raises(ZeroDivisionError), settled():
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2
