"""What a tag is for, judged by its name: a metric, an evaluation, a setting. Names only narrow other checks."""

from __future__ import annotations

import re

# Words of a name: `trainLoss/val_IoU` has train, loss, val, iou, and io, u.
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTERS = re.compile(r"[A-Za-z]+")

_EVALUATION = {"val", "valid", "validation", "eval", "evaluation", "test", "dev", "holdout"}
_TRAINING = {"train", "training", "trn"}
_METRICS = {
    "loss", "acc", "accuracy", "error", "err", "score", "reward", "return", "perplexity", "ppl", "precision",
    "recall", "auc", "auroc", "map", "iou", "dice", "bleu", "rouge", "psnr", "ssim", "fid", "mse", "rmse", "mae",
    "nll", "wer", "cer", "bce", "kl", "entropy", "likelihood", "f", "top", "success",
}  # fmt: skip
_SETTINGS = {
    "lr", "learning", "momentum", "decay", "eps", "epsilon", "beta", "gamma", "alpha", "temperature", "tau",
    "warmup", "warm", "ratio", "weight", "coef", "coefficient", "schedule", "anneal", "forcing", "exploration",
    "scale", "clip", "dropout", "target", "threshold", "pretrain", "pretraining",
}  # fmt: skip


def _words(tag: str) -> set[str]:
    return {word.lower() for pattern in (_WORDS, _LETTERS) for word in pattern.findall(tag)}


def is_evaluation(tag: str) -> bool:
    """Whether a tag is named like an evaluation.

    >>> is_evaluation("val/loss"), is_evaluation("valLoss"), is_evaluation("value_loss")
    (True, True, False)
    """
    return bool(_words(tag) & _EVALUATION)


def is_training(tag: str) -> bool:
    """Whether a tag is named like a training metric.

    >>> is_training("training_loss"), is_training("loss")
    (True, False)
    """
    return bool(_words(tag) & _TRAINING)


def is_metric(tag: str) -> bool:
    """Whether a tag is named like something that training changes, and not like a setting.

    >>> is_metric("train/loss"), is_metric("lr"), is_metric("loss_weight"), is_metric("gpu/memory")
    (True, False, False, False)
    """
    words = _words(tag)
    return bool(words & _METRICS) and not words & _SETTINGS


def is_setting(tag: str) -> bool:
    """Whether a tag is named like a setting, which may be constant, or end at its final value.

    >>> is_setting("warmup_factor"), is_setting("gpu/util")
    (True, False)
    """
    return bool(_words(tag) & _SETTINGS)
