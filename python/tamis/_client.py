"""A client of ``tamis serve``, over the standard library."""

from __future__ import annotations

import json
import ssl
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from .errors import Error

JSON_LINES = "application/x-ndjson"


class ServerError(Error):
    """A server refused a request. ``status`` and ``code`` say why; ``line`` and ``column`` say where."""

    def __init__(self, status: int, code: str, message: str, line: int | None = None, column: int | None = None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.line = line
        self.column = column


class Client:
    """A client of ``tamis serve``.

    Parameters
    ----------
    url : str
        Where the server listens, for example ``"http://127.0.0.1:8080"``.
    token : str, optional
        A token of the server.
    timeout : float, default=30
        Seconds to wait for an answer.
    retries : int, default=3
        How often a request is sent again if the server is busy or cannot be reached.
    context : ssl.SSLContext, optional
        How certificates are checked.

    Rows are dictionaries, such as ``{"x": {"name": 1.0}}`` or, for models of tables, ``{"column": "value"}``; with labels,
    they also have ``"y"`` or the column of the label.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        context: ssl.SSLContext | None = None,
    ):
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not the address of a server: it begins with http:// or https://")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.retries = retries
        self._token = token
        self._context = context

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def score(
        self, rows: Iterable[Mapping[str, Any]], *, explain: bool = False, remember: bool = False
    ) -> list[dict[str, Any]]:
        """A dictionary for each row: prediction, probabilities, margin and the number of unknown features.

        ``remember`` keeps rows with a ``"tag"`` until :meth:`label` brings their labels.
        """
        query = {name: "1" for name, is_set in [("explain", explain), ("remember", remember)] if is_set}
        text = self._send("POST", "/v1/score", _lines(rows), JSON_LINES, query).decode()
        return [json.loads(line) for line in text.splitlines()]

    def learn(self, rows: Iterable[Mapping[str, Any]], *, key: str | None = None) -> dict[str, Any]:
        """Learns rows with labels; returns when they are on disk. Without ``key``, each call has one of its own."""
        return self._json("POST", "/v1/learn", _lines(rows), JSON_LINES, key=key or uuid.uuid4().hex)

    def label(self, labels: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Learns rows that were scored before, with their labels by id."""
        rows = ({"id": name, "y": label} for name, label in labels.items())
        return self._json("POST", "/v1/label", _lines(rows), JSON_LINES, key=key or uuid.uuid4().hex)

    def features(self, top: int | None = None, *, k: int | None = None, fdr: float | None = None) -> dict[str, Any]:
        """The features with a weight, and numbers of the model.

        ``top`` limits their number in the answer. If the model has a size path, ``k`` gives the features of its model with
        this many, and ``fdr`` the confirmed ones: those with at most this q-value.
        """
        given = {"top": top, "k": k, "fdr": fdr}
        query = {name: str(value) for name, value in given.items() if value is not None}
        return self._json("GET", "/v1/features", query=query)

    def model(self) -> bytes:
        """The model file, with all rows learned so far."""
        return self._send("GET", "/v1/model")

    def put_model(self, content: bytes) -> dict[str, Any]:
        """Puts a model file (where the server only scores) or a checkpoint (where it learns) in place."""
        return self._json("PUT", "/v1/model", content, "application/octet-stream")

    def checkpoint(self) -> dict[str, Any]:
        """Writes a checkpoint on the server."""
        return self._json("POST", "/v1/checkpoint", b"", "application/octet-stream")

    def is_ready(self) -> bool:
        """Whether the server scores rows."""
        try:
            self._once("GET", "/readyz", None, {})
        except (ServerError, URLError, OSError):
            return False
        return True

    def _json(self, method: str, path: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._send(method, path, *arguments, **options))
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str | None = None,
        query: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> bytes:
        headers = {"Content-Type": kind} if kind else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        target = quote(path) + (f"?{urlencode(query)}" if query else "")
        for attempt in range(self.retries + 1):
            try:
                return self._once(method, target, body, headers)
            except ServerError as error:
                if error.status not in (429, 503) or attempt == self.retries:
                    raise
            except (URLError, ConnectionError, TimeoutError):
                if attempt == self.retries:
                    raise
            time.sleep(0.1 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        request = Request(self.url + target, data=body, headers=dict(headers), method=method)
        if self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urlopen(request, timeout=self.timeout, context=self._context) as answer:  # noqa: S310
                content: bytes = answer.read()
                return content
        except HTTPError as error:
            raise _refusal(error) from None


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(dict(row), allow_nan=False) + "\n" for row in rows).encode()


def _refusal(error: HTTPError) -> ServerError:
    try:
        told = json.loads(error.read())["error"]
        return ServerError(error.code, told["code"], told["message"], told.get("line"), told.get("column"))
    except (ValueError, KeyError, TypeError):
        return ServerError(error.code, "unknown", f"the server answered {error.code}")
