"""Talks to a Ferry server over HTTP."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request


class FerryError(Exception):
    """The server refused or could not be reached."""


class RateLimited(FerryError):
    """Too many requests; try again after some seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too many requests, retry after {retry_after} s")
        self.retry_after = retry_after


class FerryClient:
    """One server, one token."""

    def __init__(self, server: str, token: str, attempts: int = 3) -> None:
        self.server = server.rstrip("/")
        self.token = token
        self.attempts = attempts

    def submit(self, kind: str, payload: object) -> int:
        """Hands in a job and gives its number."""
        answer = self._call("POST", "/jobs", {"kind": kind, "payload": json.dumps(payload)})
        return int(answer["id"])

    def status(self, job: int) -> str:
        """Where a job stands: waiting, leased, done or dead."""
        return str(self._call("GET", f"/jobs/{job}")["status"])

    def wait(self, job: int, timeout: float = 60.0, every: float = 0.5) -> str:
        """Asks again and again until the job is done or dead, or time is up."""
        until = time.monotonic() + timeout
        while (status := self.status(job)) not in ("done", "dead"):
            if time.monotonic() > until:
                raise FerryError(f"job {job} is still {status} after {timeout} s")
            time.sleep(every)
        return status

    def _call(self, method: str, path: str, body: object = None) -> dict:
        for attempt in range(self.attempts):
            try:
                return self._once(method, path, body)
            except RateLimited as limited:
                if attempt + 1 == self.attempts:
                    raise
                time.sleep(limited.retry_after)
        raise FerryError("no attempts are allowed")

    def _once(self, method: str, path: str, body: object) -> dict:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 429:
                raise RateLimited(float(error.headers.get("Retry-After", "1"))) from error
            raise FerryError(f"{method} {path}: {error.code}") from error
        except urllib.error.URLError as error:
            raise FerryError(f"{self.server} cannot be reached: {error.reason}") from error
