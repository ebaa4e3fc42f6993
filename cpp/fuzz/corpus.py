"""Packs and unpacks the corpus of the fuzz targets: `corpus/NAME.txt` has one hex input of `fuzz_NAME` per line.

    corpus.py unpack FOLDER        write each input to its own file in FOLDER/NAME, as fuzz targets expect
    corpus.py pack NAME FOLDER     replace the lines below the mark in corpus/NAME.txt by the files in FOLDER

The lines above the mark are inputs that once failed, each with a comment on the failure. They are written by hand.
"""

import sys
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
MARK = "# Inputs that add coverage to the lines above (make corpus):"


def unpack(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for bundle in sorted(CORPUS.glob("*.txt")):
        lines = bundle.read_text("utf-8").splitlines()
        inputs = [bytes.fromhex(line) for line in lines if line and not line.startswith("#")]
        target = folder / bundle.stem
        target.mkdir(exist_ok=True)
        for old in target.iterdir():
            old.unlink()
        for number, data in enumerate(inputs):
            (target / f"{number:04}").write_bytes(data)


def pack(name: str, folder: Path) -> None:
    bundle = CORPUS / f"{name}.txt"
    lines = bundle.read_text("utf-8").splitlines() if bundle.exists() else [MARK]
    above = lines[: lines.index(MARK)]
    inputs = {path.read_bytes() for path in folder.iterdir()} - {b""}
    known = {line for line in above if not line.startswith("#")}
    ordered = [data.hex() for data in sorted(inputs, key=lambda data: (len(data), data))]
    below = [line for line in ordered if line not in known]
    CORPUS.mkdir(exist_ok=True)
    bundle.write_text("\n".join([*above, MARK, *below]) + "\n", "utf-8")
    print(f"{bundle.name}: {len(below)} inputs, {bundle.stat().st_size} bytes")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["unpack", folder]:
            unpack(Path(folder))
        case ["pack", name, folder]:
            pack(name, Path(folder))
        case _:
            sys.exit(__doc__)
