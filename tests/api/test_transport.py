"""What is refused before anybody looks at its fields, and what never breaks the server."""

import json
import socket
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from dueline.api import requests
from dueline.domain import limits
from tests.api.serving import TARGET, ServedApi
from tests.support.keys import ADMIN_KEY

GOOD = json.dumps({"target": TARGET}).encode()
HEAD = f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ADMIN_KEY}\r\n".encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"target": NaN}',
        b'{"target": {"url": "\xff"}}',
        b"\xff\xfe{\x00}\x00",
        b'{"name": "\\ud800"}',
        b'{"target": {"url": "http://x/", "body": "\\udc00\\ud800"}}',
        b'{"target": {"url": "http://x/", "body": 1e999}}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"target": {"url": "http://x/", "body": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
        GOOD + b"x",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/jobs"), ("POST", "/v1/runs")])
def test_what_is_not_json_is_unreadable(api: ServedApi, method: str, path: str, raw: bytes) -> None:
    reply = api.call(method, path, raw=raw)
    assert (reply.status, reply.json["type"]) == (400, "urn:dueline:problem:unreadable")
    assert reply.json["detail"]


def test_a_patch_that_is_not_json_is_unreadable(api: ServedApi) -> None:
    assert api.call("PATCH", f"/v1/jobs/{api.create()['id']}", raw=b"{").status == 400


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (None, 201),
        ("application/json", 201),
        ("Application/JSON; charset=UTF-8", 201),
        ("application/merge-patch+json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json; charset=latin-1", 415),
        ("", 415),
    ],
)
def test_the_content_type_is_json_or_absent(api: ServedApi, content_type: str | None, status: int) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert api.call("POST", "/v1/jobs", raw=GOOD, headers=headers).status == status


def test_a_patch_may_say_what_it_is(api: ServedApi) -> None:
    path = f"/v1/jobs/{api.create()['id']}"
    for content_type in ("application/merge-patch+json", "application/json"):
        reply = api.call("PATCH", path, {"priority": 1}, headers={"Content-Type": content_type})
        assert reply.status == 200


def test_a_body_that_is_declared_too_large_is_not_read(api: ServedApi) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(HEAD + f"Content-Length: {limits.BODY_BYTES_MAX + 1}\r\n\r\n".encode())
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("head", [HEAD, HEAD.replace(b"Bearer", b"Basic")], ids=["known", "unknown"])
def test_a_body_that_turns_out_too_large_is_not_read_to_its_end(api: ServedApi, head: bytes) -> None:
    sent = 0
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        try:
            while sent < 4 * limits.BODY_BYTES_MAX:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
    assert sent < 4 * limits.BODY_BYTES_MAX


def test_a_body_that_never_comes_is_not_waited_for(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_READ_S", 0.1)
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(HEAD + b"Content-Length: 10\r\n\r\n{")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_hangs_up_in_the_middle_does_no_harm(api: ServedApi) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(HEAD + b"Content-Length: 10\r\n\r\n{")
    assert api.call("GET", "/livez").status == 200


def test_a_head_may_come_bit_by_bit_and_be_long(api: ServedApi) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        connection.sendall(b"X-Long: " + b"x" * (limits.HEAD_BYTES_MAX - 100))
        connection.sendall(b"\r\n\r\nGET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert b"".join(iter(lambda: connection.recv(65_536), b"")).count(b"HTTP/1.1 200 OK") == 2


def test_a_head_that_does_not_end_is_refused(api: ServedApi) -> None:
    sent = 0
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        with suppress(ConnectionError):
            while sent < 100 * limits.HEAD_BYTES_MAX:
                connection.sendall(b"x" * 4_096)
                sent += 4_096
        with suppress(ConnectionError):
            assert connection.recv(65_536).startswith(b"HTTP/1.1 431 ")
    assert sent < 100 * limits.HEAD_BYTES_MAX
    assert api.call("GET", "/livez").status == 200


def test_what_is_not_http_is_refused(api: ServedApi) -> None:
    for nonsense in (b"\x16\x03\x01\x02\x00\x01", b"FROB / HTTP/1.1\r\n\r\n", b"\r\n" * 5 + b"hello\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
            connection.sendall(nonsense)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")


def test_a_payload_may_be_as_large_as_it_says(api: ServedApi) -> None:
    body = "x" * limits.PAYLOAD_BYTES_MAX
    job = api.create(target={**TARGET, "body": body})
    assert api.call("GET", f"/v1/jobs/{job['id']}").json["target"]["body"] == body


def test_innocent_letters_that_look_like_an_escaped_nul_are_kept(api: ServedApi) -> None:
    body = {"a": "\\u0000", "b": "\u2028\u00e9😀"}
    assert api.create(target={**TARGET, "body": body})["target"]["body"] == body


def test_a_path_that_is_not_there(api: ServedApi) -> None:
    for path in ("/", "/v1", "/v1/jobs/", "/v2/jobs", "/v1/jobs/x/y/z"):
        reply = api.call("GET", path)
        assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")
        assert reply.json["instance"] == path


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/jobs", "GET, HEAD, POST"),
        ("POST", "/v1/jobs/x", "DELETE, GET, HEAD, PATCH, PUT"),
        ("GET", "/v1/jobs/x/pause", "POST"),
        ("POST", "/livez", "GET, HEAD"),
        ("PURGE", "/v1/runs", "GET, HEAD, POST"),
    ],
)
def test_a_method_that_a_path_does_not_take(api: ServedApi, method: str, path: str, allow: str) -> None:
    reply = api.call(method, path)
    assert (reply.status, reply.headers["allow"]) == (405, allow)


def test_head_is_get_without_the_body(api: ServedApi) -> None:
    path = f"/v1/jobs/{api.create()['id']}"
    reply = api.call("HEAD", path)
    assert (reply.status, reply.body, reply.headers["etag"]) == (200, b"", '"v1"')


def test_nothing_tells_what_the_server_is_made_of(api: ServedApi) -> None:
    assert "server" not in api.call("GET", "/livez").headers


def test_a_connection_is_kept(api: ServedApi) -> None:
    connection = HTTPConnection("127.0.0.1", api.port, timeout=10)
    connection.request("GET", "/livez")
    connection.getresponse().read()
    kept = connection.sock
    connection.request("GET", "/livez")
    assert connection.getresponse().read() == b'{"status":"live"}'
    assert connection.sock is kept
    connection.close()


def test_a_web_page_cannot_call_through_a_browser(api: ServedApi) -> None:
    """It has no key, and is not told that it may send one."""
    origin = {"Origin": "https://evil.example", "Authorization": ""}
    assert api.call("GET", "/v1/jobs", headers=origin).status == 401
    asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    reply = api.call("OPTIONS", "/v1/jobs", headers=asked)
    assert reply.status == 405
    assert not any(name.startswith("access-control") for name in reply.headers)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/jobs", 200), ("GET", "/nowhere", 404), ("POST", "/v1/jobs", 400), ("PUT", "/v1/jobs", 405)],
)
def test_every_answer_names_its_request(api: ServedApi, method: str, path: str, status: int) -> None:
    first, second = (api.call(method, path) for _ in range(2))
    assert (first.status, second.status) == (status, status)
    names = [reply.headers["x-request-id"] for reply in (first, second)]
    assert len(set(names)) == 2
    if status >= 400:
        assert [reply.json["request_id"] for reply in (first, second)] == names


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a", True),
        ("7f.B_9:/+=@-", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        ("a b", False),
        ("a;b", False),
    ],
)
def test_a_request_keeps_the_name_that_its_caller_gave_it(api: ServedApi, given: str, kept: bool) -> None:
    told = api.call("GET", "/v1/jobs", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert (told == given) is kept
    assert told
