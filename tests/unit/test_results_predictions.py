"""Predictions: the four tasks, names, streams, and what does not fit together."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from tbq.errors import TbqWarning, UsageError
from tbq.results import confusion, predictions, scores

rng = np.random.default_rng(3)
PROBABILITIES = rng.dirichlet(np.ones(4), 50).astype(np.float32)
LABELS = rng.integers(0, 4, 50)


def rows(table):
    return table.to_arrow().to_pylist()


def columns(table):
    return table.to_arrow().to_pydict()


def test_multiclass_is_argmax_and_max():
    got = columns(predictions(PROBABILITIES, labels=LABELS))
    assert list(got) == ["id", "label", "predicted", "confidence", "class_0", "class_1", "class_2", "class_3"]
    assert got["id"] == [*range(50)] and got["label"] == LABELS.tolist()
    assert got["predicted"] == PROBABILITIES.argmax(1).tolist()
    assert got["confidence"] == PROBABILITIES.max(1).tolist()
    assert got["class_2"] == PROBABILITIES[:, 2].tolist()


def test_names_of_classes_ids_and_one_hot_labels():
    names = ["ant", "bee", "cat", "dog"]
    ids = [f"img{n}" for n in range(50)]
    want = predictions(PROBABILITIES, labels=LABELS, classes=names, ids=ids)
    assert want.kind == "predictions" and want.columns[4:] == names
    got = rows(want)
    assert got[7]["id"] == "img7" and got[7]["label"] == names[LABELS[7]]
    assert got[7]["predicted"] == names[PROBABILITIES[7].argmax()]
    for labels in (np.eye(4)[LABELS], [names[n] for n in LABELS], LABELS[:, None]):
        again = predictions(PROBABILITIES, labels=labels, classes=names, ids=ids)
        assert again.to_arrow().equals(want.to_arrow())


def test_without_labels_there_is_no_label_column():
    assert predictions(PROBABILITIES).columns[:3] == ["id", "predicted", "confidence"]


def test_binary():
    score = np.array([0.9, 0.2, 0.5])
    got = columns(predictions(score, labels=[1, 0, 0]))
    assert got["predicted"] == [1, 0, 1] and got["confidence"] == [0.9, 0.8, 0.5]
    assert got["class_1"] == score.tolist() and got["class_0"] == (1 - score).tolist()
    assert columns(predictions(score[:, None], labels=[1, 0, 0])) == got
    assert columns(predictions(score, classes=["no", "yes"]))["predicted"] == ["yes", "no", "yes"]
    assert columns(predictions(score, task="binary", threshold=0.95))["predicted"] == [0, 0, 0]
    logits = columns(predictions(np.array([2.0, -2.0]), labels=[1, 0], task="binary", activation="sigmoid"))
    assert logits["class_1"] == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])


def test_multilabel():
    outputs = np.array([[0.9, 0.1, 0.8], [0.2, 0.3, 0.1]])
    labels = np.array([[1, 0, 1], [0, 1, 0]])
    got = columns(predictions(outputs, labels=labels))
    assert (
        got["label"] == [[0, 2], [1]] and got["predicted"] == [[0, 2], []] and got["confidence"] == [0.9, 0.3]
    )
    named = columns(predictions(outputs, labels=labels, classes=["a", "b", "c"]))
    assert named["label"] == [["a", "c"], ["b"]]
    assert columns(predictions(outputs, task="multilabel"))["predicted"] == [[0, 2], []]


def test_regression():
    got = columns(predictions(np.array([1.5, 2.5]), labels=[1.0, 3.0]))
    assert got == {"id": [0, 1], "label": [1.0, 3.0], "predicted": [1.5, 2.5], "error": [0.5, -0.5]}
    two = predictions(np.array([[1.0, 2.0]]), labels=np.array([[0.5, 0.5]]), classes=["x", "y"])
    assert rows(two) == [
        {
            "id": 0,
            "label_x": 0.5,
            "label_y": 0.5,
            "predicted_x": 1,
            "predicted_y": 2,
            "error_x": 0.5,
            "error_y": 1.5,
        }
    ]
    assert predictions(np.array([1.5, 2.5])).columns == ["id", "predicted"]


def test_predicted_classes_alone():
    got = columns(predictions(np.array([2, 0]), labels=[2, 1], classes=["a", "b", "c"]))
    assert got == {"id": [0, 1], "label": ["c", "b"], "predicted": ["c", "a"]}


def test_softmax():
    logits = np.array([[1.0, 2.0], [1000.0, -1000.0]])
    got = predictions(logits, activation="softmax").to_arrow()
    assert got["class_0"].to_pylist() == pytest.approx([1 / (1 + np.e), 1])
    assert got["confidence"].to_pylist() == pytest.approx([np.e / (1 + np.e), 1])


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_batches_give_the_rows_of_the_whole(parts):
    whole = predictions(PROBABILITIES, labels=LABELS).to_arrow()
    pairs = zip(np.array_split(PROBABILITIES, parts), np.array_split(LABELS, parts), strict=True)
    assert predictions(pair for pair in pairs).to_arrow().combine_chunks().equals(whole)
    beside = predictions(
        iter(np.array_split(PROBABILITIES, parts)), labels=iter(np.array_split(LABELS, parts))
    )
    assert beside.to_arrow().combine_chunks().equals(whole)


def test_batches_are_made_as_they_are_used(tmp_path):
    made = []

    def source():
        for n in range(4):
            made.append(n)
            yield PROBABILITIES[n : n + 1], LABELS[n : n + 1], [f"x{n}"]

    stream = predictions(source())
    assert made == []
    found = stream.batches()
    assert next(found).num_rows == 1 and made == [0]
    with pytest.raises(UsageError, match="used up"):
        stream.to_arrow()
    predictions(source()).write(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[4].startswith("x3,")


def test_lists_in_csv_are_json(tmp_path):
    predictions(np.array([[0.9, 0.75]]), task="multilabel").write(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[1] == '0,"[0,1]",0.9,0.9,0.75'


def test_a_class_called_as_a_column():
    table = predictions(np.array([[0.25, 0.75]]), labels=[1], classes=["label", "id"])
    assert table.columns == ["id", "label", "predicted", "confidence", "class.label", "class.id"]
    assert columns(table)["label"] == ["id"]
    assert columns(confusion(table))["label"] == ["label", "id"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.5, 0.5]], [0, 1]), "1 outputs but 2 labels"),
        (([[0.5, 0.5]], [0], None, [1, 2]), "1 outputs but 2 ids"),
        (([[0.5], [0.5, 0.5]],), "differ in length"),
        (([[0.5, 0.5]], [2]), "labels contain 2, want 0 to 1"),
        (([[0.5, 0.5]], [-1]), "labels contain -1"),
        (([[0.5, 0.5]], ["x"], ["a", "b"]), "label 'x' is not one of the classes"),
        (([[0.5, 0.5]], [0], ["a"]), "1 classes for 2 columns"),
        (([[0.5, 0.5]], [0], ["a", "a"]), "occurs twice"),
        (([[0.5, 0.5]], [0], "ab"), "want a list of names"),
        ((np.zeros((2, 2, 2)),), "have shape"),
        ((np.float64(3),), "single number"),
        ((np.array(["a"]),), "want numbers"),
        ((np.array([{}]),), "Python objects"),
    ],
)
def test_what_does_not_fit_is_told(arguments, message):
    with pytest.raises(UsageError, match=message):
        outputs, *others = arguments
        predictions(outputs, **dict(zip(("labels", "classes", "ids"), others, strict=False)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "x"}, "task: got 'x'"),
        ({"activation": "relu"}, "activation: got 'relu'"),
        ({"task": "binary"}, "want one for task='binary'"),
        ({"task": "multilabel", "labels": [1] * 50}, "want rows of 0 and 1"),
        ({"task": "multiclass", "labels": np.ones((50, 4))}, "task='multilabel'"),
        ({"task": "regression", "labels": LABELS}, "want numbers of shape"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(UsageError, match=message):
        predictions(PROBABILITIES, **options)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([np.zeros((2, 3)), np.zeros((2, 4))], "batch 1: 4 columns of outputs, but earlier batches have 3"),
        ([(np.zeros((2, 3)), [0, 1]), (np.zeros((2, 3)), [0])], "batch 1: 2 outputs but 1 labels"),
        ([(np.zeros((2, 3)), [0, 1]), np.zeros((2, 3))], "batch 1: labels missing"),
        ([(np.zeros((1, 3)), [[0, 0, 1]]), (np.zeros((1, 3)), [[1, 0, 1]])], "task='multilabel'"),
        ([(1, 2, 3, 4)], "batch 0: a tuple of 4"),
        ([], "got no batches"),
    ],
)
def test_ragged_batches_are_told(tmp_path, batches, message):
    with pytest.raises(UsageError, match=message):
        predictions(iter(batches)).write(tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == []


def test_more_or_fewer_batches_of_labels():
    with pytest.raises(UsageError, match="more batches of labels"):
        predictions(iter([PROBABILITIES]), labels=iter([LABELS, LABELS])).to_arrow()
    with pytest.raises(UsageError, match="fewer than of outputs"):
        predictions(iter([PROBABILITIES, PROBABILITIES]), labels=iter([LABELS])).to_arrow()


def test_confusion_and_scores_by_hand():
    table = predictions(PROBABILITIES, labels=LABELS)
    predicted = PROBABILITIES.argmax(1)
    matrix = confusion(table).to_arrow()
    assert matrix.column_names == ["label", "0", "1", "2", "3"]
    for want in range(4):
        for got in range(4):
            assert matrix[str(got)][want].as_py() == int(((want == LABELS) & (predicted == got)).sum())
    for row in rows(scores(table)):
        n = row["class"]
        right = int(((n == LABELS) & (predicted == n)).sum())
        assert row["precision"] == pytest.approx(right / (predicted == n).sum())
        assert row["recall"] == pytest.approx(right / (n == LABELS).sum())
        assert row["support"] == (n == LABELS).sum() and row["predicted"] == (predicted == n).sum()
    stream = predictions(iter([(PROBABILITIES[:20], LABELS[:20]), (PROBABILITIES[20:], LABELS[20:])]))
    assert confusion(stream).to_arrow().equals(matrix)


def test_scores_of_classes_that_never_come_and_of_several_classes():
    got = rows(scores(predictions(np.array([[0.9, 0.1, 0.0]]), labels=[1], classes=["a", "b", "c"])))
    assert [(r["class"], r["precision"], r["recall"], r["f1"]) for r in got] == [
        ("a", 0.0, None, 0.0), ("b", None, 0.0, 0.0), ("c", None, None, None),
    ]  # fmt: skip
    several = predictions(
        np.array([[0.9, 0.8], [0.1, 0.9]]), labels=np.array([[1, 0], [0, 1]]), task="multilabel"
    )
    assert [(r["class"], r["precision"], r["recall"]) for r in rows(scores(several))] == [
        (0, 1, 1),
        (1, 0.5, 1),
    ]
    with pytest.raises(UsageError, match="no confusion matrix"):
        confusion(several)


def test_scores_need_labels_and_classes():
    with pytest.raises(UsageError, match="no labels"):
        scores(predictions(PROBABILITIES))
    with pytest.raises(UsageError, match="numbers, not classes"):
        confusion(predictions(np.array([1.5]), labels=[2.5]))


def test_half_precision_and_empty():
    half = predictions(PROBABILITIES.astype(np.float16), labels=LABELS).to_arrow()
    assert half.schema.field("class_0").type == pa.float32()
    assert rows(predictions(np.zeros((0, 3)))) == []


def test_one_nan_among_binary_predictions_is_an_unknown_output():
    outputs, labels = [0.2, np.nan, 0.9, 0.6], [0, 1, 1, 0]
    want = columns(predictions(outputs, labels=labels))
    assert list(want) == ["id", "label", "predicted", "confidence", "class_0", "class_1"]
    for cut in range(5):
        parts = [(outputs[:cut], labels[:cut]), (outputs[cut:], labels[cut:])]
        np.testing.assert_equal(columns(predictions(iter(parts))), want)


@pytest.mark.parametrize(
    ("outputs", "labels", "named"),
    [
        ([[0.1, 0.9], [np.nan, 0.5], [0.7, 0.3]], [1, 0, 0], "confidence"),
        ([[np.nan, np.nan], [0.1, 0.9], [0.7, 0.3]], [1, 0, 0], "confidence"),
        ([[np.nan, np.nan], [3.0, -1.0], [-2.0, 5.0]], [1, 0, 0], "score"),
        ([[np.nan, np.nan], [3.0, 0.5], [0.5, 5.0]], [[1, 1], [0, 1], [0, 0]], "score"),
    ],
)
@pytest.mark.filterwarnings("ignore:the outputs are not probabilities")
def test_unknown_outputs_do_not_decide_what_the_others_are(outputs, labels, named):
    """Tests both all outputs at once, and the unknown ones as the first of several batches."""
    want = columns(predictions(outputs, labels=labels))
    assert list(want)[3] == named
    for cut in range(1, 3):
        parts = [(outputs[:cut], labels[:cut]), (outputs[cut:], labels[cut:])]
        np.testing.assert_equal(columns(predictions(iter(parts))), want)


@pytest.mark.parametrize("labels", [[0, 1, 1], [0.0, 1.0, 1.0], [True, False, True]])
def test_if_every_output_is_unknown_no_empty_batch_decides(labels):
    outputs = np.full(3, np.nan)
    want = columns(predictions(outputs, labels=labels))
    assert list(want)[3] == "confidence"
    for cut in range(4):
        parts = [(outputs[:cut], labels[:cut]), (outputs[cut:], labels[cut:])]
        np.testing.assert_equal(columns(predictions(iter(parts))), want)


def test_logits_are_judged_after_the_activation():
    outputs, labels = [0.25, 0.5, -3.0, 2.0], [0, 1, 0, 1]
    want = columns(predictions(outputs, labels=labels, task="binary", activation="sigmoid"))
    for cut in range(5):
        parts = [(outputs[:cut], labels[:cut]), (outputs[cut:], labels[cut:])]
        assert columns(predictions(iter(parts), activation="sigmoid")) == want


@pytest.mark.parametrize("activation", [None, "softmax", "sigmoid"])
def test_outputs_without_columns(activation):
    with pytest.raises(UsageError, match=r"have shape \(3, 0\), which holds no numbers"):
        predictions(np.zeros((3, 0)), activation=activation)


def _outcome(make):
    try:
        return make().to_arrow()
    except UsageError:
        return None


def _same(got, want):
    names = [name for name in want.column_names if got.column_names == want.column_names]
    assert got.column_names == want.column_names
    np.testing.assert_equal(
        [got[name].to_pylist() for name in names], [want[name].to_pylist() for name in names]
    )


@pytest.mark.parametrize("width", [None, 1, 2, 3])
def test_batches_give_the_rows_of_all_at_once_or_an_error(width):
    for seed in range(40):
        _compare_batches(width, np.random.default_rng([seed, width or 0]))


def _compare_batches(width, odd):
    count = 6
    shape = (count,) if width is None else (count, width)
    outputs = odd.choice([np.nan, 0.0, 0.25, 0.5, 1.0, odd.choice([0.75, 3.0, -1.0, np.inf])], shape)
    if odd.random() < 0.5 and width and width > 1:
        outputs = odd.dirichlet(np.ones(width), count)
        outputs[odd.integers(count)] = np.nan
    labels = [
        odd.integers(0, 2, count),
        odd.choice([0.0, 1.0, odd.choice([1.0, 0.5, np.nan, 2.0, np.inf])], count),
        np.eye(max(width or 1, 2))[odd.integers(0, 2, count)],
        odd.integers(0, 2, (count, width or 1)).astype(float),
        None,
    ][odd.integers(5)]
    ids = [None, np.arange(count) + odd.choice([0, 2**63], 1).astype(np.uint64)[0]][odd.integers(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        want = _outcome(lambda: predictions(outputs, labels=labels, ids=ids))
        for _ in range(4):
            cuts = [0, *sorted(odd.integers(0, count + 1, 2)), count]
            parts = [
                (outputs[a:b], None if labels is None else labels[a:b], None if ids is None else ids[a:b])
                for a, b in zip(cuts, cuts[1:], strict=False)
            ]
            got = _outcome(lambda parts=parts: predictions(iter(parts)))
            if want is None:
                assert got is None
            elif got is not None:
                _same(got, want)


@pytest.mark.parametrize(
    "parts",
    [
        [([0.5], [1], [1]), ([0.5], [1], ["007"])],  # numbers, then text
        [([0.5], ["a"], None), ([0.5], [1], None)],
        [([np.float32(1.5)], [2.5], None), ([np.float64(0.1)], [2.5], None)],  # a float32 cannot hold it
    ],
)
def test_types_of_later_batches_are_not_changed_silently(parts):
    with pytest.raises(UsageError, match=r"batch 1: (its types differ|label)"):
        predictions(
            ((np.asarray(outputs), labels, ids) for outputs, labels, ids in parts), classes=None
        ).to_arrow()


def test_labels_that_are_no_class_numbers_and_ids_of_64_bits():
    with pytest.raises(UsageError, match="not integers"):
        predictions([[0.5, 0.5]], labels=[np.inf], task="multiclass")
    with pytest.raises(UsageError, match="not integers"):
        predictions([0.5, 0.5], labels=[1, np.nan])
    ids = np.array([2**63, 2**64 - 1], np.uint64)
    assert columns(predictions([0.5, 0.5], ids=ids))["id"] == ids.tolist()
