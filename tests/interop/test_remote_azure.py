"""Logs in Azure Blob Storage: Azurite, Microsoft's emulator, from npm."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tbq
from tbq.errors import SourceError

ACCOUNT = "devstoreaccount1"
# The key that every Azurite has, as its manual prints it.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
FOLDER = Path(__file__).parents[2] / "build" / "azurite"

pytestmark = [
    pytest.mark.skipif(shutil.which("npm") is None, reason="Azurite comes from npm"),
    pytest.mark.filterwarnings("ignore::tbq.TbqWarning"),
]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    program = FOLDER / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        install = [
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(FOLDER),
            "azurite@3",
        ]
        subprocess.run(install, check=True, timeout=200)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    command = [program, *options, "--blobPort", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path_factory.mktemp("azurite"))
    try:
        for _ in range(600):
            with socket.socket() as other:
                if other.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.1)
        yield {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_endpoint": f"http://127.0.0.1:{port}/{ACCOUNT}",
        }
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def container(storage: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A container, created by a hand-signed request: obstore cannot create containers."""
    import base64
    import email.utils
    import hashlib
    import hmac
    import urllib.request

    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    date = email.utils.formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06"
    name = f"logs-{time.time_ns()}"
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\n{headers}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signed = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    request = urllib.request.Request(
        f"{storage['azure_endpoint']}/{name}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": date,
            "x-ms-version": "2021-08-06",
            "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}",
        },
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 201
    return name


def upload(folder: Path, url: str, storage: dict[str, str]) -> None:
    from tbq.source.store import open_store

    store = open_store(url, storage)
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(path.relative_to(folder).as_posix(), path)


def test_azure(storage: dict[str, str], container: str, tmp_path: Path) -> None:
    runs = tbq.demo(tmp_path / "runs")
    url = f"az://{container}/team/runs"
    upload(runs, url, storage)
    local, log = tbq.open(runs), tbq.open(url, storage=storage)
    assert log.runs == local.runs and log.files[0].startswith(url)
    for kind in ("scalars", "images", "tensors", "hparams", "tags"):
        assert repr(log.table(kind).to_arrow().to_pylist()) == repr(local.table(kind).to_arrow().to_pylist())
    name = Path(local.files[0]).relative_to(runs)
    with tbq.follow(url, storage=storage) as follower:
        assert len(follower.poll().table("scalars")) == len(local.scalars())
        assert not follower.poll()
        data = (runs / name).read_bytes()
        with tbq.SummaryWriter(tmp_path / "more") as writer:
            writer.add_scalar("late", 1.0, 5)
        more = next((tmp_path / "more").glob("*tfevents*")).read_bytes()
        (runs / name).write_bytes(data + more)
        upload(runs, url, storage)
        assert len(follower.poll().table("scalars")) == 1
    target = f"az://{container}/out.parquet"
    log.scalars().write(target, storage=storage)
    with pytest.raises(tbq.errors.OutputError, match="already exists"):
        log.scalars().write(target, storage=storage)
    with pytest.raises(SourceError, match="does not exist"):
        tbq.open("az://no-such-container/runs", storage=storage)
