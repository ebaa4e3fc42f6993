"""The page's answers about configurations and hyperparameters are those of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sweep
from served import Asked

import tbq

pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep.write(tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def asked(swept: Path) -> Iterator[Asked]:
    log = Asked(swept)
    yield log
    log.log.close()


def test_configurations(asked: Asked, swept: Path) -> None:
    by = "hparam.lr,hparam.batch_size"
    answer = asked.json("configurations", by=by, tag="val/loss")
    table = tbq.open(swept).summary(by=by, best={"val/loss": "min"})
    assert answer["verdict"] == table.verdict
    assert answer["groups"][0]["name"] == "lr=0.01, batch_size=16"
    columns = ("n", "mean", "std", "ci95", "best", "worst", "p", "left_out")
    assert [[row[name] for name in columns] for row in answer["groups"]] == [
        [row[name] for name in columns] for row in table.to_dicts()
    ]
    groups = asked.json("groups", by=by)["groups"]
    assert {group["name"] for group in groups} == {row["name"] for row in answer["groups"]}
    fewer = [run["id"] for run in asked.json("runs")["runs"] if run["hparams"]["lr"] == 1]
    some = asked.json(
        "configurations", by="hparam.lr", tag="val/loss", stat="last", runs=",".join(map(str, fewer))
    )
    assert [(row["name"], row["n"], row["left_out"]) for row in some["groups"]] == [("lr=1", 18, 2)]


def test_importance(asked: Asked, swept: Path) -> None:
    answer = asked.json("importance", tag="val/loss")
    table = tbq.open(swept).importance("val/loss")
    assert [each["name"] for each in answer["hparams"]] == table["hparam"].tolist()
    names = ("importance", "direction", "best", "n", "values", "note")
    assert [[each[name] for name in names] for each in answer["hparams"]] == [
        [row[name] for name in names] for row in table.to_dicts()
    ]
    assert (answer["left_out"], answer["not_finite"]) == (1, 1)


def test_requests_that_mean_nothing(asked: Asked) -> None:
    assert "no run has the tag" in asked.json("importance", 400, tag="los")["error"]
    assert "stat" in asked.json("importance", 400, tag="val/loss", stat="worst")["error"]
    assert "hyperparameter" in asked.json("configurations", 404, by="hparam.none", tag="val/loss")["error"]
    assert asked.json("importance", tag="val/loss", runs="-")["hparams"] == []
