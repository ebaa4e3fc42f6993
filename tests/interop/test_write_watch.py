"""watch, unwatch and add_model_statistics with real models and optimizers."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
import torch

import tbq
from tbq.errors import DependencyError, UsageError
from tbq.write import histogram


def model_of(device):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).to(device)


def train(model, optimizer, steps, device):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4, device=device)).sum().backward()
        optimizer.step()


def by_tag(events):
    """tag -> [(step, value)], numbers as they are and histograms as messages."""
    rows = {}
    for event in events:
        for value in event.summary.value:
            got = value.histo if value.HasField("histo") else value.simple_value
            rows.setdefault(value.tag, []).append((event.step, got))
    return rows


NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_watch_logs_all_parameters_and_gradients(tmp_path, read_events, device):
    model = model_of(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=3)
        train(model, optimizer, 7, device)
        last = {name: p.detach().clone() for name, p in model.named_parameters()}
        gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
        train(model, optimizer, 1, device)
    rows = by_tag(read_events(tmp_path))
    kinds = ("parameters", "gradients")
    assert set(rows) == {
        *(f"{kind}/{name}{suffix}" for kind in kinds for name in NAMES for suffix in ("", "/norm")),
        *(f"{kind}/norm" for kind in kinds),
    }
    assert all([step for step, _ in values] == [0, 3, 6] for values in rows.values())
    for kind, tensors in (("parameters", last), ("gradients", gradients)):
        for name, tensor in tensors.items():
            got = rows[f"{kind}/{name}"][-1][1]
            want = type(got).FromString(histogram.encode(tensor.cpu(), "tensorflow", None))
            assert (got.bucket, got.bucket_limit, got.min, got.max, got.num) == (
                want.bucket, want.bucket_limit, want.min, want.max, want.num,
            )  # fmt: skip
            assert rows[f"{kind}/{name}/norm"][-1][1] == pytest.approx(tensor.norm().item(), rel=1e-6)
        total = torch.cat([tensor.flatten() for tensor in tensors.values()]).norm().item()
        assert rows[f"{kind}/norm"][-1][1] == pytest.approx(total, rel=1e-6)


def test_model_statistics_are_a_table(tmp_path, device):
    model = model_of(device)
    with torch.no_grad():
        model[0].weight[0, 0] = 0
        model[2].bias[0] = float("nan")
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_model_statistics(model, 5)
    weight = model[0].weight.detach().double().cpu()
    table = tbq.open(tmp_path).sql(
        "select split_part(tag, '/', 2) as parameter, split_part(tag, '/', 3) as statistic, value from scalars "
        "where tag like 'parameters/%/%' and step = 5"
    )
    rows = {(row.parameter, row.statistic): row.value for row in table}
    want = {
        "norm": weight.norm(), "mean": weight.mean(), "std": weight.std(correction=0), "min": weight.min(),
        "max": weight.max(), "zeros": 1, "nonfinite": 0,
    }  # fmt: skip
    for name, value in want.items():
        assert rows["0.weight", name] == pytest.approx(float(value), rel=1e-6)
    assert rows["2.bias", "nonfinite"] == 1
    assert np.isnan(rows["2.bias", "norm"])


def test_unwatch_close_and_the_end_of_the_model(tmp_path, read_events, device):
    model, other = model_of(device), model_of(device)
    optimizer = torch.optim.SGD([*model.parameters()], lr=0.1)
    writer = tbq.SummaryWriter(tmp_path)
    writer.watch(model, every=1)
    writer.watch(model, every=1)  # once is enough
    writer.watch(other, every=1)
    train(model, optimizer, 2, device)
    writer.unwatch(model)
    train(model, optimizer, 1, device)
    writer.watch(model, every=1, start=10, histograms=False, parameters=False)
    train(model, optimizer, 1, device)
    writer.close()
    train(model, optimizer, 1, device)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["parameters/0.weight"]] == [0, 1]
    assert [step for step, _ in rows["gradients/norm"]] == [0, 1, 10]
    with tbq.SummaryWriter(tmp_path / "b") as writer:
        writer.watch(model)
        dies = weakref.ref(model)
        del model, optimizer
        gc.collect()
        assert dies() is None
        writer.unwatch()


def test_closures_scalers_two_optimizers_and_frozen_parameters(tmp_path, read_events, device):
    model = model_of(device)
    model[0].bias.requires_grad_(False)
    first = torch.optim.LBFGS([model[0].weight], lr=0.1, max_iter=2)
    second = torch.optim.Adam(model[2].parameters())

    def closure():
        model.zero_grad()
        loss = model(torch.ones(2, 4, device=device)).square().sum()
        loss.backward()
        return loss

    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=2)
        first.step(closure)  # gradients are computed inside
        for _ in range(3):
            second.step()
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["gradients/0.weight"]] == [0]
    assert [step for step, _ in rows["gradients/2.weight"]] == [0, 2]
    assert "parameters/0.bias" not in rows
    assert [step for step, _ in rows["gradients/norm"]] == [0, 2]


def norm(rows, names, place):
    return sum(rows[f"parameters/{name}/norm"][place][1] ** 2 for name in names) ** 0.5


@pytest.mark.filterwarnings("error::tbq.errors.TbqWarning")
@pytest.mark.parametrize("only_a_part", [False, True])
def test_norms_of_all_are_logged_once_per_step_by_two_optimizers(tmp_path, read_events, device, only_a_part):
    """Also if some parameters that require a gradient belong to no optimizer: the first step waits for them once."""
    model = model_of(device)
    names = ["0.weight", "2.weight", "2.bias"] if only_a_part else NAMES
    first = torch.optim.SGD([model[0].weight] if only_a_part else model[0].parameters(), lr=0.1)
    second = torch.optim.SGD(model[2].parameters(), lr=0.1)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=2)
        for _ in range(5):
            model(torch.randn(8, 4, device=device)).sum().backward()
            first.step()
            second.step()
    rows = by_tag(read_events(tmp_path))
    for kind in ("parameters", "gradients"):
        assert [step for step, _ in rows[f"{kind}/norm"]] == [0, 2, 4]
    for place in range(3):
        assert rows["parameters/norm"][place][1] == pytest.approx(norm(rows, names, place), rel=1e-6)


@pytest.mark.filterwarnings("error::tbq.errors.TbqWarning")
def test_norms_of_optimizers_that_step_at_their_own_pace(tmp_path, read_events, device):
    """An optimizer that steps less often contributes what it logged last."""
    model = model_of(device)
    often = torch.optim.SGD(model[0].parameters(), lr=0.1)
    seldom = torch.optim.SGD(model[2].parameters(), lr=0.1)
    with tbq.SummaryWriter(tmp_path) as writer:
        watch = writer.watch(model, every=1)
        for step in range(6):
            model(torch.randn(8, 4, device=device)).sum().backward()
            often.step()
            if step % 3 == 0:
                seldom.step()
        watch.log(6)
        watch.log(7)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["parameters/norm"]] == list(range(8))
    assert [step for step, _ in rows["parameters/2.weight"]] == [0, 1, 6, 7]
    for step, (_, got) in enumerate(rows["parameters/norm"]):
        last = step if step > 5 else step // 3 * 3  # when the other one has stepped
        first = [rows[f"parameters/{name}/norm"][step][1] for name in NAMES[:2]]
        place = (0, 3, 6, 7).index(last)
        second = [rows[f"parameters/{name}/norm"][place][1] for name in NAMES[2:]]
        assert got == pytest.approx(np.linalg.norm([*first, *second]), rel=1e-6), step


@pytest.mark.filterwarnings("error::tbq.errors.TbqWarning")
def test_norms_after_an_optimizer_has_skipped_a_step(tmp_path, read_events, device):
    """As with GradScaler if a gradient is infinite: from then on it is one step behind."""
    model = model_of(device)
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    second = torch.optim.SGD(model[2].parameters(), lr=0.1)
    want = []
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=1)
        for step in range(5):
            model.zero_grad()
            model(torch.randn(8, 4, device=device)).sum().backward()
            first.step()
            if step != 1:
                second.step()
            want.append(sum(float(p.detach().square().sum()) for p in model.parameters()) ** 0.5)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["parameters/norm"]] == list(range(5))
    assert [norm for _, norm in rows["parameters/norm"]] == pytest.approx(want, rel=1e-6)
    assert [step for step, _ in rows["parameters/2.weight"]] == list(range(4))


@pytest.mark.filterwarnings("error::tbq.errors.TbqWarning")
def test_an_optimizer_that_takes_the_place_of_another_goes_on_counting(tmp_path, read_events, device):
    model = model_of(device)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=2, start=100)
        train(model, torch.optim.SGD(model[2].parameters(), lr=0.1), 3, device)
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3, device)  # all are trained from now on
        train(model, torch.optim.Adam(model.parameters()), 3, device)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["gradients/2.weight"]] == [100, 102, 104, 106, 108]
    assert [step for step, _ in rows["gradients/0.weight"]] == [104, 106, 108]
    assert [step for step, _ in rows["gradients/norm"]] == [100, 102, 104, 106, 108]


class Slow(torch.optim.Optimizer):
    """Wraps another optimizer, as Lookahead and SAM do."""

    def __init__(self, inner):
        self.inner = inner
        super().__init__(inner.param_groups, {})

    @torch.no_grad()
    def step(self, closure=None):
        self.inner.step()
        if closure is not None:
            raise ArithmeticError
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.fill_(7)


@pytest.mark.filterwarnings("error::tbq.errors.TbqWarning")
def test_optimizers_inside_of_others_log_once(tmp_path, read_events, device):
    """Parameters are those after the outer step; a step that fails changes nothing for the next ones."""
    model = model_of(device)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = Slow(inner)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=1)
        train(model, optimizer, 2, device)
        with pytest.raises(ArithmeticError):
            optimizer.step(lambda: None)
        train(model, inner, 1, device)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["parameters/0.weight"]] == [0, 1, 2]
    assert [(h.min, h.max) for _, h in rows["parameters/0.weight"][:2]] == [(7, 7)] * 2
    assert rows["parameters/0.weight"][2][1].min < 7
    assert [step for step, _ in rows["parameters/norm"]] == [0, 1, 2]


def test_models_and_writers_that_end_do_not_end_the_step_of_others(tmp_path, read_events, device):
    """torch iterates over its hooks while it calls them: none may be removed in the meantime."""
    model, dies = model_of(device), model_of(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    forgotten = tbq.SummaryWriter(tmp_path / "forgotten")
    forgotten.watch(model, every=1)
    with tbq.SummaryWriter(tmp_path / "kept") as writer:
        writer.watch(dies, every=1)
        writer.watch(model, every=1)
        del dies
        with pytest.warns(tbq.TbqWarning, match="never closed"):
            del forgotten
            gc.collect()
        train(model, optimizer, 2, device)
        handle = optimizer.register_step_post_hook(lambda *_: writer.unwatch())
        train(model, optimizer, 2, device)
        handle.remove()
    rows = by_tag(read_events(tmp_path / "kept"))
    assert [step for step, _ in rows["parameters/norm"]] == [0, 1]


def test_parameters_that_appear_vanish_or_are_odd(tmp_path, read_events, device):
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(10, 2, sparse=True)
            self.empty = torch.nn.Parameter(torch.empty(0))
            self.lazy = torch.nn.LazyLinear(2)
            self.small = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))

    model = Odd().to(device)
    with tbq.SummaryWriter(tmp_path) as writer:
        watch = writer.watch(model, every=1)
        model.embedding(torch.tensor([1, 1, 2], device=device)).sum().backward()
        watch.log(0)
        model.extra = torch.nn.Parameter(torch.ones(2, device=device))
        del model.small
        watch.log(1)
    rows = by_tag(read_events(tmp_path))
    assert [step for step, _ in rows["parameters/small"]] == [0]
    assert [step for step, _ in rows["parameters/extra"]] == [1]
    assert rows["gradients/embedding.weight"][0][1].num == 4  # the rows that it stores: two of two numbers
    assert rows["gradients/embedding.weight/norm"][0][1] == pytest.approx(10**0.5)
    assert not any("lazy" in tag or "empty" in tag for tag in rows)


def test_a_gradient_of_nan_is_named_and_the_others_are_logged(tmp_path, read_events, device):
    model = model_of(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every=1, parameters=False, statistics="norm, nonfinite")
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        model[2].bias.grad.fill_(float("nan"))
        optimizer.step()
        with pytest.warns(tbq.TbqWarning, match=r"'gradients/2.bias' at step 0: .*no value inside the bins"):
            writer.flush()
    rows = by_tag(read_events(tmp_path))
    assert rows["gradients/2.bias/nonfinite"] == [(0, 1)]
    assert "gradients/2.weight" in rows and "gradients/2.bias" not in rows


def test_wrong_arguments(tmp_path, device):
    with tbq.SummaryWriter(tmp_path) as writer:
        for arguments, name in (
            ({"model": 3}, "model"),
            ({"model": model_of(device), "every": 0}, "every"),
            ({"model": model_of(device), "statistics": "norms"}, "statistics"),
            ({"model": model_of(device), "ranks": "some"}, "ranks"),
        ):
            with pytest.raises(UsageError, match=f"^{name}:"):
                writer.watch(**arguments)
        with pytest.raises(UsageError, match=r"^model:"):
            writer.add_model_statistics(None)


def test_an_old_torch_without_the_hook(tmp_path, read_events, device, monkeypatch):
    """Before torch 2.1 there is no hook for all optimizers: the error says so, and what works instead."""
    monkeypatch.delattr(sys.modules["torch.optim.optimizer"], "register_optimizer_step_post_hook")
    model = model_of(device)
    with tbq.SummaryWriter(tmp_path) as writer:
        with pytest.raises(
            DependencyError, match=r"watch needs torch 2.1 or newer, and torch .* is installed"
        ):
            writer.watch(model)
        writer.add_model_statistics(model, 1, statistics="norm")
        writer.add_scalar("a", 1.0, 1)
    rows = by_tag(read_events(tmp_path))
    assert rows["a"] == [(1, 1.0)]
    assert "parameters/0.weight/norm" in rows


def test_a_torch_before_2_has_its_values_read_at_once(tmp_path, read_events, device):
    """Tensors of torch 1 have no `untyped_storage`: the host's path takes them."""

    class Old(torch.Tensor):
        def __getattribute__(self, name):
            if name == "untyped_storage":
                raise AttributeError(name)
            return super().__getattribute__(name)

    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", torch.tensor(2.5, device=device).as_subclass(Old), 1)
        writer.log({"b": torch.tensor(3.5, device=device).as_subclass(Old)}, 1)
        writer.add_histogram("h", torch.ones(3, device=device).as_subclass(Old), 1)
        assert not writer._waiting
    rows = by_tag(read_events(tmp_path))
    assert (rows["a"], rows["b"], rows["h"][0][1].num) == ([(1, 2.5)], [(1, 3.5)], 3)


DISTRIBUTED = """
import sys, torch, tbq
import torch.distributed as dist
directory, rank, kind, ranks = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
dist.init_process_group("gloo", init_method=f"file://{directory}/meet", rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
if kind == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model)
else:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with tbq.SummaryWriter(f"{directory}/rank{rank}") as writer:
    writer.watch(model, every=1, ranks=ranks)
    model(torch.full((3, 4), float(rank + 1))).sum().backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("kind", "ranks", "want"),
    [
        ("ddp", "zero", [{"weight": 8}, {}]),
        ("ddp", "all", [{"weight/rank_0": 8}, {"weight/rank_1": 8}]),
        ("fsdp", "zero", [{"weight/rank_0": 4}, {}]),
        ("fsdp", "all", [{"weight/rank_0": 4}, {"weight/rank_1": 4}]),
    ],
)
def test_ranks(tmp_path, read_events, kind, ranks, want):
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", DISTRIBUTED, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(rank), kind, ranks], stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    for rank, tags in enumerate(want):
        rows = by_tag(read_events(tmp_path / f"rank{rank}"))
        for part in ("gradients", "parameters"):
            assert {
                tag.removeprefix(f"{part}/"): values[0][1].num
                for tag, values in rows.items()
                if tag.startswith(f"{part}/weight") and not tag.endswith("norm")
            } == tags


def test_the_copy_of_a_writer_says_that_it_does_not_watch(tmp_path):
    """A spawning strategy pickles the writer of a model; the copy does not know the copy of the model."""
    model = model_of("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with tbq.SummaryWriter(tmp_path / "plain") as writer:
        plain = pickle.dumps(writer)
    with tbq.SummaryWriter(tmp_path / "watching") as writer:
        writer.watch(model)
        watching = pickle.dumps(writer)
        with warnings.catch_warnings(), pickle.loads(watching):
            warnings.simplefilter("error")
            train(model, optimizer, 1, "cpu")  # the original is here, and watches
    with pytest.warns(tbq.errors.TbqWarning, match="its copy in this") as said, pickle.loads(watching):
        train(model, optimizer, 3, "cpu")
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pickle.loads(plain):
            train(model, optimizer, 1, "cpu")
        with pickle.loads(watching) as copy:
            copy.watch(model)
            train(model, optimizer, 1, "cpu")
            copy.unwatch()
            train(model, optimizer, 1, "cpu")
