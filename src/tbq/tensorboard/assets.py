"""The files of TensorBoard's page, each unpacked on first use: unpacking all of them takes half a second."""

from __future__ import annotations

import functools
import io
import threading
import zipfile
from collections.abc import Callable
from typing import Any


class LazyAssets:
    """Replaces `CorePlugin.get_resource_apps`, which unpacks and compresses every file at its start."""

    def __init__(self, core: Any, open_zip: Callable[[], Any], compress: Callable[[bytes], bytes]) -> None:
        self._core = core
        self._compress = compress
        with open_zip() as file:
            self._zip = zipfile.ZipFile(io.BytesIO(file.read()))
        self._lock = threading.Lock()
        self._ready: dict[str, Any] = {}

    def __call__(self) -> dict[str, Any]:
        apps: dict[str, Any] = {
            f"/{name}": functools.partial(self._serve, name) for name in self._zip.namelist()
        }
        apps["/"] = apps["/index.html"]
        return apps

    def _serve(self, name: str, environ: Any, start_response: Any) -> Any:
        with self._lock:
            if name not in self._ready:
                content = self._zip.read(name)
                if name == "index.html":  # TensorBoard prepends a base element
                    self._ready[name] = functools.partial(self._core._serve_index, content)
                else:
                    self._ready[name] = functools.partial(
                        self._core._serve_asset, name, self._compress(content)
                    )
        return self._ready[name](environ, start_response)
