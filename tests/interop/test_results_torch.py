"""Weights, predictions and metrics of real torch and Lightning: each element, and no pickle that runs."""

import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch

from tbq.errors import SourceError, TbqWarning
from tbq.results import MetricsTable, metrics, predictions, weight_elements, weights, weights_diff

MODEL = torch.nn.Sequential(
    torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(12, 4, bias=False)
)


def elements(source, **options):
    rows = weight_elements(source, **options).to_arrow().to_pylist()
    return {(f"{r['layer']}.{r['parameter']}", r["index"]): r["value"] for r in rows}


def expected(state):
    return {
        (name, index): float(value)
        for name, tensor in state.items()
        for index, value in enumerate(tensor.flatten())
    }


def test_each_element_of_a_module_equals_the_parameter():
    assert elements(MODEL) == elements(MODEL.state_dict()) == expected(MODEL.state_dict())
    assert {r["layer"] for r in weights(MODEL, layer="[01]").to_arrow().to_pylist()} == {"0", "1"}


@pytest.mark.parametrize("ending", ["pt", "pth", "bin"])
def test_each_element_of_a_state_dict_file(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    torch.save(MODEL.state_dict(), path)
    assert elements(path) == expected(MODEL.state_dict())
    row = next(r for r in weights(path).to_arrow().to_pylist() if r["layer"] == "3")
    weight = MODEL[3].weight.detach().double()
    assert row["norm"] == pytest.approx(float(weight.norm())) and row["mean"] == pytest.approx(
        float(weight.mean())
    )
    assert row["std"] == pytest.approx(float(weight.std(correction=0))) and row["dtype"] == "float32"


def test_the_format_before_torch_1_6(tmp_path):
    torch.save(MODEL.state_dict(), tmp_path / "m.pt", _use_new_zipfile_serialization=False)
    assert elements(tmp_path / "m.pt") == expected(MODEL.state_dict())


def test_a_checkpoint_with_more_in_it_gives_the_model(tmp_path):
    optimizer = torch.optim.Adam(MODEL.parameters())
    torch.save(
        {
            "epoch": 3,
            "model_state_dict": MODEL.state_dict(),
            "optimizer": optimizer.state_dict(),
            "loss": 0.5,
        },
        tmp_path / "m.ckpt",
    )
    assert elements(tmp_path / "m.ckpt") == expected(MODEL.state_dict())


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "bool"]
)
def test_every_type(tmp_path, dtype):
    tensor = torch.tensor([[0.5, -2.0, 0.0], [1.0, 3.0, 0.0625]]).to(getattr(torch, dtype))
    torch.save({"a.w": tensor, "a.t": tensor.T}, tmp_path / "m.pt")
    want = expected({"a.w": tensor.to(torch.float64), "a.t": tensor.to(torch.float64).T})
    assert elements(tmp_path / "m.pt") == want
    if dtype != "bool":
        import safetensors.torch

        safetensors.torch.save_file({"a.w": tensor, "a.t": tensor.T.contiguous()}, tmp_path / "m.safetensors")
        assert elements(tmp_path / "m.safetensors") == want
        assert {r["dtype"] for r in weights(tmp_path / "m.safetensors").to_arrow().to_pylist()} == {dtype}


def test_complex_sparse_and_shared(tmp_path):
    whole = torch.arange(6.0).reshape(2, 3)
    torch.save(
        {"a.sparse": whole.to_sparse(), "a.row": whole[1], "a.z": torch.tensor([3 + 4j])}, tmp_path / "m.pt"
    )
    rows = {r["parameter"]: r for r in weights(tmp_path / "m.pt").to_arrow().to_pylist()}
    assert rows["sparse"]["max"] == 5 and rows["row"]["mean"] == 4 and rows["z"]["norm"] == 5


class Runs:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_a_malicious_pickle_does_not_run(tmp_path):
    marker = str(tmp_path / "ran")
    torch.save({"state_dict": {"w": torch.ones(1)}, "x": Runs(marker)}, tmp_path / "zip.pt")
    torch.save({"x": Runs(marker)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(Runs(marker)))
    for name in ("zip.pt", "old.pt", "bare.pt"):
        with pytest.raises(SourceError, match="would run code") as error:
            weights(tmp_path / name)
        assert error.value.code == "unsafe" and error.value.path == str(tmp_path / name)
        assert "Please" not in str(error.value)  # torch's advice is how to run it after all
    assert not os.path.exists(marker)


def test_a_whole_module_is_refused_with_what_to_do(tmp_path):
    torch.save(MODEL, tmp_path / "m.pt")
    with pytest.raises(SourceError, match=r"names torch\.nn\.modules[\w.]+\);.*\n.*state_dict"):
        weights(tmp_path / "m.pt")


def test_truncated_files(tmp_path):
    torch.save(MODEL.state_dict(), tmp_path / "m.pt")
    good = (tmp_path / "m.pt").read_bytes()
    for size in (0, 1, 100, len(good) // 2, len(good) - 1):
        (tmp_path / "cut.pt").write_bytes(good[:size])
        with pytest.raises(SourceError):
            weights(tmp_path / "cut.pt")
    with zipfile.ZipFile(tmp_path / "empty.pt", "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(SourceError):
        weights(tmp_path / "empty.pt")
    torch.save({"epoch": 3}, tmp_path / "none.pt")
    with pytest.raises(SourceError, match="no tensor"):
        weights(tmp_path / "none.pt")


def test_diff_of_two_epochs(tmp_path):
    torch.save(MODEL.state_dict(), tmp_path / "a.pt")
    changed = {name: tensor.clone() for name, tensor in MODEL.state_dict().items()}
    changed["0.bias"] += 1
    torch.save(changed, tmp_path / "b.pt")
    rows = {
        (r["layer"], r["parameter"]): r
        for r in weights_diff(tmp_path / "a.pt", tmp_path / "b.pt").to_arrow().to_pylist()
    }
    assert {key for key, row in rows.items() if row["status"] == "changed"} == {("0", "bias")}
    assert rows["0", "bias"]["changed"] == 3 and rows["0", "bias"]["max_abs"] == pytest.approx(1)


def test_predictions_of_tensors_and_of_a_loader(tmp_path):
    logits, labels = torch.randn(30, 5, requires_grad=True), torch.randint(0, 5, (30,))
    got = predictions(logits, labels=labels, activation="softmax").to_arrow()
    want = logits.softmax(1).detach().numpy()
    assert got["predicted"].to_pylist() == want.argmax(1).tolist()
    np.testing.assert_allclose(got["confidence"].to_numpy(), want.max(1), rtol=1e-6)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(logits.detach(), labels), batch_size=7
    )
    stream = predictions((tuple(batch) for batch in loader), activation="softmax")
    np.testing.assert_allclose(stream.to_arrow()["class_4"].to_numpy(), want[:, 4], rtol=1e-6)
    half = predictions(logits.to(torch.bfloat16)).to_arrow()
    assert half["predicted"].to_pylist() == logits.to(torch.bfloat16).float().argmax(1).tolist()
    torch.save(logits.detach(), tmp_path / "p.pt")
    from tbq.results.files import read_array

    np.testing.assert_array_equal(read_array(str(tmp_path / "p.pt")), logits.detach().numpy())


def test_metrics_table_takes_tensors(tmp_path):
    with MetricsTable(tmp_path / "m.csv") as table:
        table.log(0, loss=torch.tensor(0.1), acc=torch.tensor([0.5]))
    assert (tmp_path / "m.csv").read_text() == "epoch,loss,acc\n0,0.1,0.5\n"


@pytest.mark.filterwarnings("default")
def test_lightning_metrics_csv_and_checkpoint(tmp_path):
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch, _):
            loss = self.layer(batch[0]).square().mean()
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", self.layer(batch[0]).abs().mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 3)), batch_size=2)
    trainer = lightning.Trainer(
        max_epochs=2, logger=CSVLogger(tmp_path), log_every_n_steps=1, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    net = Net()
    trainer.fit(net, data, data)
    table = metrics(tmp_path / "lightning_logs/version_0/metrics.csv")
    rows = table.to_arrow().to_pylist()
    assert {r["run"] for r in rows} == {"version_0"} and {r["tag"] for r in rows} == {
        "epoch",
        "train_loss",
        "val_loss",
    }
    assert [r["step"] for r in rows if r["tag"] == "train_loss"] == [*range(8)]
    assert [r["step"] for r in rows if r["tag"] == "val_loss"] == [3, 7]
    trainer.save_checkpoint(tmp_path / "m.ckpt")
    assert elements(tmp_path / "m.ckpt") == expected(net.state_dict())


def test_tensors_that_claim_more_than_their_file_stores(tmp_path):
    """A view that repeats one number, a sparse tensor, and nested lists: small in a file, endless when read."""
    held = {
        "a.own": torch.ones(3),
        "a.tied": torch.ones(1).expand(1000),
        "a.expanded": torch.zeros(1).expand(1 << 40),
        "a.sparse": torch.sparse_coo_tensor([[0]], [1.0], (1 << 40,), check_invariants=True),
    }
    torch.save(held, tmp_path / "m.pt")
    with pytest.warns(TbqWarning) as reported:
        rows = weights(tmp_path / "m.pt").to_arrow().to_pylist()
    assert sorted(str(each.message).split("'")[1] for each in reported) == ["a.expanded", "a.sparse"]
    assert all("unpacks to 4.4 TB, the limit is" in str(each.message) for each in reported)
    assert {row["parameter"]: row["mean"] for row in rows} == {
        "own": 1.0,
        "tied": 1.0,
        "expanded": None,
        "sparse": None,
    }
    nested = [torch.ones(1)]
    for _ in range(40):
        nested = [nested] * 10
    torch.save(nested, tmp_path / "n.pt")
    with pytest.raises(SourceError, match="has more than 5,000,000 items, or 200,000 tensors"):
        weights(tmp_path / "n.pt")


def test_an_archive_that_somebody_compressed(tmp_path):
    torch.save({"w": torch.zeros(80_000_000)}, tmp_path / "m.pt")
    with (
        zipfile.ZipFile(tmp_path / "m.pt") as plain,
        zipfile.ZipFile(tmp_path / "z.pt", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed,
    ):
        for member in plain.infolist():
            packed.writestr(member.filename, plain.read(member))
    assert (tmp_path / "z.pt").stat().st_size < 1 << 20
    with pytest.raises(SourceError, match=r"unpacks to 320\.0 MB, the limit is"):
        weights(tmp_path / "z.pt")


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
def test_sparse_tensors_that_lead_out_of_themselves(tmp_path):
    """In its own process: torch would write to the address of such an index."""
    wrong = torch.tensor([[1 << 33]])
    kinds = {
        "coo": torch.sparse_coo_tensor(wrong, torch.ones(1), (4,), check_invariants=False),
        "negative": torch.sparse_coo_tensor(-wrong, torch.ones(1), (4,), check_invariants=False),
        "csr": torch.sparse_csr_tensor(
            torch.tensor([0, 5, 1 << 40]), wrong[0].expand(2), torch.ones(2), (2, 4), check_invariants=False
        ),
        "sound": torch.sparse_coo_tensor([[1], [2]], [4.0], (2, 4), check_invariants=True),
        "sound_csr": torch.eye(4).to_sparse_csr(),
    }
    program = (
        "import sys\nfrom tbq.errors import SourceError\nfrom tbq.results import weights\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n        print(weights(path).to_arrow()['zeros'].to_pylist())\n"
        "    except SourceError as error:\n        print('refused')\n"
    )
    paths = []
    for kind, tensor in kinds.items():
        paths.append(str(tmp_path / f"{kind}.pt"))
        torch.save({"w": tensor}, paths[-1])
    done = subprocess.run(
        [sys.executable, "-c", program, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["refused"] * 3 + ["[7]", "[12]"]
