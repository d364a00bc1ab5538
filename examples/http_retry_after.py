"""A server on this machine says 503 and Retry-After; the policy keeps to it, in virtual time."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

from forbear import parse_retry_after, retry
from forbear.testing import virtual_time

answers = iter([(503, "4"), (503, "2"), (200, "0")])


class Busy(BaseHTTPRequestHandler):
    def do_GET(self):
        status, seconds = next(answers)
        self.send_response_only(status)
        self.send_header("Retry-After", seconds)
        self.end_headers()


@retry(on=HTTPError, hint=lambda error: parse_retry_after(error.headers["Retry-After"]))
def get(url):
    return urlopen(url, timeout=5).status


with HTTPServer(("127.0.0.1", 0), Busy) as server, virtual_time() as clock:
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    print("status", get(f"http://127.0.0.1:{server.server_port}/"))
    print("asked for 4 and 2 s, waited", " and ".join(f"{wait:.1f} s" for wait in clock.waits))
    server.shutdown()
