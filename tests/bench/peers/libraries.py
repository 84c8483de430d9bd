"""BertViz's libraries, which its pages ask a CDN for: had from npm once, served from here."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.bench.peers.model import FOLDER

# File that is asked for: npm package, and the file in it. npm has no jquery 2.0.0; 2.1.0 is the
# next one.
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "jquery.min.js": ("jquery@2.1.0", "package/dist/jquery.min.js"),
    "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
}


def libraries(folder: Path = FOLDER / "js") -> dict[str, Path]:
    """Each file that is asked for, and where it is.

    Raises:
        RuntimeError: when they cannot be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, (package, member) in LIBRARIES.items():
        if not (folder / name).exists():
            (folder / name).write_bytes(_from_npm(package, member, folder))
    return {name: folder / name for name in LIBRARIES}


def _from_npm(package: str, member: str, folder: Path) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("BertViz's libraries come from npm, which must be installed; it is not.")
    command = [npm, "pack", package, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packed = folder / done.stdout.split()[-1]
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
        found = archive.extractfile(member)
        assert found is not None, member
        content = found.read()
    packed.unlink()
    return content
