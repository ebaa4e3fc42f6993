"""`%tbq serve`: the page of a log in a cell, from a server that ends with the kernel."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tbq.errors import TbqError

_HEIGHT = 640  # pixels
_servers: dict[tuple[str, ...], tuple[subprocess.Popen[str], str]] = {}

# The browser finds the way to the kernel's machine: Colab's proxy, jupyter-server-proxy if it is installed there,
# otherwise this machine itself. Scripts of a notebook from someone else do not run; then the text stays.
_FRAME = """\
<div id="{name}"><p>{words}</p></div>
<script>
(async (place, port, path) => {{
  const direct = `http://${{["localhost", "127.0.0.1"].includes(location.hostname) ? location.hostname : "127.0.0.1"}}`;
  const config = document.getElementById("jupyter-config-data");
  const base = config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl;
  let address = `${{direct}}:${{port}}${{path}}`;
  if (globalThis.google?.colab) address = (await google.colab.kernel.proxyPort(port)).replace(/\\/$/, "") + path;
  else if (base) {{
    const proxied = `${{base}}proxy/${{port}}${{path}}`;
    const answer = await fetch(proxied).catch(() => null);
    if (answer?.ok && (await answer.text()).includes("<title>tbq</title>")) address = proxied;
    else if (!(await fetch(address, {{ mode: "no-cors" }}).catch(() => null))) {{ // its kernel may have ended
      place.firstElementChild.textContent += ` If it has just run, your browser cannot reach port ${{port}} of its ` +
        "machine: install jupyter-server-proxy beside Jupyter, or forward the port.";
      return;
    }}
  }}
  const frame = Object.assign(document.createElement("iframe"), {{ src: address, title: "tbq serve" }});
  frame.style.cssText =
    "width: 100%; height: {height}px; border: 1px solid #8884; box-sizing: border-box; display: block";
  const link = Object.assign(document.createElement("a"), {{ href: address, textContent: "Open in a tab" }});
  Object.assign(link, {{ target: "_blank", rel: "noopener" }});
  place.replaceChildren(frame, link);
}})(document.getElementById("{name}"), {port}, {path});
</script>
"""


def serve(arguments: Sequence[str]) -> str:
    """Start `tbq serve` with these arguments, or find the server that has them; its address."""
    key = (str(Path.cwd()), *arguments)
    known = _servers.get(key)
    if known is not None and known[0].poll() is None:
        return known[1]
    port = [] if any(each.split("=")[0] == "--port" for each in arguments) else ["--port", "0"]
    server = subprocess.Popen(
        [sys.executable, "-m", "tbq.notebook.page", "serve", *arguments, "--embed", *port],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,  # otherwise an interrupt of the kernel would end it
    )  # fmt: skip
    assert server.stdout is not None and server.stderr is not None
    address = server.stdout.readline().strip()
    if not address:
        raise TbqError(server.stderr.read().strip().removeprefix("tbq: ") or "tbq serve ended")
    threading.Thread(
        target=server.stderr.read, name="tbq serve", daemon=True
    ).start()  # a full pipe would stop it
    _servers[key] = server, address
    return address


def frame(address: str, name: str, what: str) -> str:
    """The page at this address, as HTML for the output of a cell."""
    parts = urlsplit(address)
    path = json.dumps(parts.path).replace("<", "\\u003c")
    words = f"{html.escape(what)}: run this cell to see the page."
    return _FRAME.format(name=name, words=words, port=parts.port, path=path, height=_HEIGHT)


def _main() -> None:
    """Run a command of tbq until standard input ends: the kernel holds its other end."""
    from tbq.cli import main
    from tbq.termination import leave

    def wait() -> None:
        while os.read(0, 1):
            continue
        leave(0)

    threading.Thread(target=wait, daemon=True).start()
    main(sys.argv[1:])


if __name__ == "__main__":
    _main()
