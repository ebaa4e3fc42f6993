"""What a tag means, judged by the words of its name: a loss, a score or a setting, and which values are better.

Commands, the page and the doctor use these rules; the page gets the answers with the list of tags. Only whole words
count: `mAP` and `map50` are scores, `mapping` is not; `win_rate` is, `window` is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

# Words of a name: `trainLoss/val_IoU@50` has train, loss, trainloss, val, io, u, iou; `top1` has top and top1.
_PATTERNS = tuple(map(re.compile, (r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", r"[A-Za-z]+", r"[A-Za-z]+[0-9]+")))

_EVALUATION = {"val", "valid", "validation", "eval", "evaluation", "test", "dev", "holdout"}
_TRAINING = {"train", "training", "trn"}
_LOSSES = {
    "loss", "error", "err", "perplexity", "ppl", "fid", "kid", "lpip", "mse", "rmse", "mae", "mape", "smape", "nll",
    "wer", "cer", "ter", "bce", "ce", "xent", "logloss", "crossentropy", "entropy", "kl", "divergence", "regret",
    "fpr", "fnr", "eer", "ece", "brier", "bpb", "bpc", "mistake", "violation",
}  # fmt: skip
_SCORES = {
    "acc", "accuracy", "score", "reward", "rew", "return", "precision", "recall", "auc", "auroc", "auprc", "roc", "map",
    "ap", "iou", "miou", "dice", "jaccard", "bleu", "rouge", "meteor", "cider", "chrf", "psnr", "ssim",
    "likelihood", "f1", "f2", "fbeta", "r2", "top", "success", "win", "winrate", "ndcg", "mrr", "hit", "tpr", "tnr",
    "sensitivity", "specificity", "mcc", "kappa", "pearson", "spearman", "correlation", "elo", "explained",
    "correct", "solved",
}  # fmt: skip
# Larger is better, but they measure the machine: they do not show whether a model learns.
_SPEEDS = {"throughput", "fps", "sps", "speed", "speedup"}
_GRADIENTS = {"grad", "gradient"}
_NORMS = {"norm", "l2"}
_SECONDS = {"s", "sec", "second"}
_NEGATED = {"neg", "negative"}
_SETTINGS = {
    "lr", "learning", "momentum", "decay", "eps", "epsilon", "beta", "gamma", "alpha", "temperature", "tau",
    "warmup", "warm", "ratio", "weight", "coef", "coefficient", "schedule", "anneal", "forcing", "exploration",
    "scale", "clip", "dropout", "target", "threshold", "pretrain", "pretraining",
}  # fmt: skip

Role = Literal["loss", "score", "setting", "other"]
Split = Literal["evaluation", "training", ""]
Better = Literal["lower", "higher"]


# Hyperparameters that tell repeats of one configuration apart; `static/words.js` has the same rule.
_REPEATS = r"(?ais)(.*[_./-])?(seed|run|trial|repeat|repetition|replicate|fold)s?"


def tells_repeats(hparam: str) -> bool:
    """Whether a hyperparameter tells repeats of one configuration apart, judged by its name.

    >>> tells_repeats("data_seed"), tells_repeats("lr")
    (True, False)
    """
    return re.fullmatch(_REPEATS, hparam) is not None


@lru_cache(maxsize=4096)
def words_of(tag: str) -> tuple[str, ...]:
    """The words of a name in the order in which they end, in lower case and in the singular.

    >>> words_of("val/AccuracyErrors")
    ('val', 'accuracy', 'error', 'accuracyerror')
    """
    matches = [(match.end(), -match.start(), match[0]) for each in _PATTERNS for match in each.finditer(tag)]
    words = (_singular(word.lower()) for _, _, word in sorted(matches))
    return tuple(dict.fromkeys(words))


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def role(tag: str) -> Role:
    """The role of a tag.

    >>> role("train/loss"), role("val/mAP"), role("lr"), role("loss_weight"), role("mapping"), role("window")
    ('loss', 'score', 'setting', 'setting', 'other', 'other')
    """
    words = words_of(tag)
    if not _SETTINGS.isdisjoint(words):
        return "setting"
    last = _last(words, _LOSSES | _SCORES)
    return "other" if last is None else "loss" if last in _LOSSES else "score"


def better(tag: str) -> Better | None:
    """Which values of a tag are better, judged by its name: the last word that implies a direction decides.

    >>> better("val/accuracy"), better("accuracy_error"), better("neg_log_likelihood"), better("mapping")
    ('higher', 'lower', 'lower', None)
    """
    words = words_of(tag)
    last = _last(words, _LOSSES | _SCORES | _SPEEDS)
    if last is None:
        return None
    return "lower" if last in _LOSSES or (last in _SCORES and not _NEGATED.isdisjoint(words)) else "higher"


def best_of(tag: str) -> Literal["min", "max"]:
    """The statistic that is a tag's best value; without a hint in its name, a tag counts as a cost.

    >>> best_of("val/loss"), best_of("eval/return_mean"), best_of("window")
    ('min', 'max', 'min')
    """
    return "max" if better(tag) == "higher" else "min"


def split(tag: str) -> Split:
    """The data that a tag was measured on.

    >>> split("val/loss"), split("trainLoss"), split("value_loss"), split("train/eval_loss")
    ('evaluation', 'training', '', 'evaluation')
    """
    return "evaluation" if is_evaluation(tag) else "training" if is_training(tag) else ""


@lru_cache(maxsize=1 << 15)  # a screen sorts the same tags again and again
def main_first(tag: str, is_single: bool) -> tuple[bool, bool, bool]:
    """A sort key for the few tags that fit: curves before single values, losses and scores, then validation, first.

    >>> sorted(["lr", "train/loss", "val/loss"], key=lambda tag: main_first(tag, is_single=False))
    ['val/loss', 'train/loss', 'lr']
    """
    return is_single, role(tag) not in ("loss", "score"), split(tag) != "evaluation"


def is_evaluation(tag: str) -> bool:
    """Whether a tag is named like an evaluation.

    >>> is_evaluation("val/loss"), is_evaluation("valLoss"), is_evaluation("value_loss")
    (True, True, False)
    """
    return not _EVALUATION.isdisjoint(words_of(tag))


def is_training(tag: str) -> bool:
    """Whether a tag is named like a training metric.

    >>> is_training("training_loss"), is_training("loss")
    (True, False)
    """
    return not _TRAINING.isdisjoint(words_of(tag))


def is_metric(tag: str) -> bool:
    """Whether a tag is named like a quantity that training changes, and not like a setting.

    >>> is_metric("train/loss"), is_metric("lr"), is_metric("loss_weight"), is_metric("gpu/memory")
    (True, False, False, False)
    """
    return role(tag) in ("loss", "score")


def is_setting(tag: str) -> bool:
    """Whether a tag is named like a setting, which may be constant, or end at its final value.

    >>> is_setting("warmup_factor"), is_setting("gpu/util")
    (True, False)
    """
    return role(tag) == "setting"


def is_learning_rate(tag: str) -> bool:
    """Whether a tag is named like a learning rate.

    >>> is_learning_rate("train/lr"), is_learning_rate("learning_rate"), is_learning_rate("learning_curve")
    (True, True, False)
    """
    words = words_of(tag)
    return "lr" in words or {"learning", "rate"}.issubset(words)


def is_gradient_norm(tag: str) -> bool:
    """Whether a tag is named like the norm of gradients.

    >>> is_gradient_norm("train/grad_norm"), is_gradient_norm("gradNorm"), is_gradient_norm("norm/weight")
    (True, True, False)
    """
    words = words_of(tag)
    return "gnorm" in words or not (_GRADIENTS.isdisjoint(words) or _NORMS.isdisjoint(words))


def is_speed(tag: str) -> bool:
    """Whether a tag is named like a throughput.

    >>> is_speed("perf/samples_per_second"), is_speed("fps"), is_speed("loss_per_epoch")
    (True, True, False)
    """
    words = words_of(tag)
    return not _SPEEDS.isdisjoint(words) or ("per" in words and not _SECONDS.isdisjoint(words))


def _last(words: Iterable[str], wanted: set[str]) -> str | None:
    """The last of the words that is in `wanted`."""
    return next((word for word in reversed(tuple(words)) if word in wanted), None)
