"""A training script, as users write them, run with torch's import and with tbq's: TensorBoard shows the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.01)
x = torch.randn(64, 8)
y = (x.sum(1, keepdim=True) > 0).float()
writer = SummaryWriter(log_dir=sys.argv[1], flush_secs=10)
writer.add_graph(model, x)
writer.add_text("config", "lr **0.01**")
for epoch in range(5):
    for i in range(4):
        batch = slice(16 * i, 16 * i + 16)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("train/loss", loss, epoch * 4 + i)
    scores = torch.sigmoid(model(x)).detach()
    accuracy = ((scores > 0.5) == y).float().mean()
    writer.add_scalars("accuracy", {"train": accuracy, "chance": 0.5}, epoch)
    writer.add_pr_curve("pr", y, scores, epoch)
    writer.add_image("weights", torch.sigmoid(model[0].weight)[None], epoch)
    for name, parameter in model.named_parameters():
        writer.add_histogram(name, parameter, epoch)
        writer.add_histogram(name + "/grad", parameter.grad, epoch)
writer.add_hparams({"lr": 0.01, "width": 16, "opt": "adam"}, {"final/accuracy": accuracy.item()}, run_name="hp")
writer.close()
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    root = tmp_path_factory.mktemp("logs")
    ours = SCRIPT.replace("from torch.utils.tensorboard import", "from tbq import")
    assert ours != SCRIPT
    for name, script in (("torch", SCRIPT), ("tbq", ours)):
        done = subprocess.run(
            [sys.executable, "-c", script, str(root / name)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return root


def shown(directory, read_events):
    """Everything that TensorBoard reads from the events of each run, except times; sums of histograms rounded."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    runs = {}
    for path in sorted({file.parent for file in directory.rglob("*tfevents*")}):
        events = []
        for event in read_events(path):
            if event.file_version:
                continue
            event.wall_time = 0
            if event.graph_def:
                event.graph_def = canonical(GraphDef, event.graph_def)
            for value in event.summary.value:
                if value.HasField("histo"):
                    value.histo.sum = float(f"{value.histo.sum:.9g}")
                    value.histo.sum_squares = float(f"{value.histo.sum_squares:.9g}")
                plugin = value.metadata.plugin_data
                if plugin.plugin_name == "hparams":
                    plugin.content = canonical(HParamsPluginData, plugin.content)
            events.append(event)
        runs[path.relative_to(directory).as_posix()] = events
    return runs


def canonical(message, content):
    """Protobuf maps have no order of their own: two writers may serialise one message in two ways."""
    return message.FromString(content).SerializeToString(deterministic=True)


def test_the_same_is_shown(logs, read_events):
    theirs, ours = (shown(logs / name, read_events) for name in ("torch", "tbq"))
    assert ours.keys() == theirs.keys() == {".", "accuracy_train", "accuracy_chance", "hp"}
    for run in theirs:
        assert len(ours[run]) == len(theirs[run])
        for our, their in zip(ours[run], theirs[run], strict=True):
            assert our == their
