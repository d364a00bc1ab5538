"""A server on this machine says 503 and Retry-After; the policy keeps to it, in virtual time."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

from forbear import parse_retry_after, retry
from forbear.testing import virtual_time

statuses = iter([503, 503, 200])


class Busy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response_only(next(statuses))
        self.send_header("Retry-After", "4")
        self.end_headers()


@retry(on=HTTPError, hint=lambda error: parse_retry_after(error.headers["Retry-After"]))
def get(url: str) -> int:
    return int(urlopen(url, timeout=5).status)


with HTTPServer(("127.0.0.1", 0), Busy) as server, virtual_time() as clock:
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    print("status", get(f"http://127.0.0.1:{server.server_port}/"), "after waits of", clock.waits)
    server.shutdown()
