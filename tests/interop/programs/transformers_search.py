"""Trials of `Trainer.hyperparameter_search` with our callback: `python transformers_search.py OUT`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.modules["tensorflow"] = None  # tensorboard would import it, which takes long
import optuna
import torch
import transformers

import tbq
from tbq.errors import TbqWarning
from tbq.integrations.huggingface import TbqCallback

OUT = Path(sys.argv[1])
DATA = [{"x": torch.tensor([i, 1.0]), "labels": torch.tensor(float(i))} for i in range(8)]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x, labels=None):
        return {"loss": (self.layer(x).squeeze(-1) - labels).square().mean()}


class Fails(transformers.TrainerCallback):
    """The third trial fails in its second step."""

    def on_step_end(self, args, state, control, **keywords):
        if state.is_hyper_param_search and state.trial_params["seed"] == 2 and state.global_step == 2:
            raise KeyError


class Prunes(optuna.pruners.BasePruner):
    """The second trial is pruned after its last evaluation, the fifth after its second."""

    def prune(self, study, trial):
        return len(trial.intermediate_values) == {1: 3, 4: 2}.get(trial.number)


def space(trial):
    number = trial.number  # of a trial, so that the log can be compared with it
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.1),
        "seed": trial.suggest_int("seed", number, number),
    }


def search(callback, name, trials, *, evaluate="epoch", **options):
    """Search, and write what Optuna says of the trials."""
    args = transformers.TrainingArguments(
        output_dir=str(OUT / "output"), num_train_epochs=3, per_device_train_batch_size=4, logging_steps=1,
        eval_strategy=evaluate, report_to="none", use_cpu=True, disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    trainer = transformers.Trainer(
        None, args, model_init=Model, train_dataset=DATA, eval_dataset=DATA, callbacks=[callback, Fails()]
    )
    storage = optuna.storages.InMemoryStorage()
    trainer.hyperparameter_search(
        hp_space=space, n_trials=trials, backend="optuna", storage=storage, study_name=name, pruner=Prunes(),
        catch=(KeyError,), **{"direction": "minimize", **options},
    )  # fmt: skip
    told = [
        {
            "number": trial.number,
            "state": trial.state.name.lower(),
            "values": trial.values,
            "params": trial.params,
        }
        for trial in optuna.load_study(study_name=name, storage=storage).trials
    ]
    (OUT / f"{name}.json").write_text(json.dumps(told))
    return trainer


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", TbqWarning)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    callback = TbqCallback(OUT / "search", watch=1)
    trainer = search(callback, "search", 5)
    trainer.train()  # after the search: a run of its own
    trainer.evaluate()
    search(TbqCallback(OUT / "late"), "late", 2, evaluate="no", hp_name=lambda trial: f"lr/{trial.number}")
    search(
        TbqCallback(OUT / "several"), "several", 1, direction=["minimize", "maximize"],
        compute_objective=lambda metrics: [metrics["eval_loss"], -metrics["eval_loss"]],
    )  # fmt: skip
    with tbq.SummaryWriter(OUT / "given") as writer:
        search(TbqCallback(writer), "given", 1)
        writer.add_scalar("after", 1.0, 1)
    again = TbqCallback(OUT / "search")
    search(again, "again", 1)  # the names are taken
