"""A backend on Python's own HTTP server: prints its port, then every request that it reads, as lines of JSON."""

import hashlib
import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def say(entry):
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


# As much as the gateway passes on; the defaults are lower.
http.client._MAXHEADERS = 1000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def answer(self):
        body = self.read_body()
        said = {"bytes": len(body), "digest": hashlib.sha256(body).hexdigest()}
        say({"line": self.requestline, "body": said})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    def read_body(self):
        if self.headers.get_all("Transfer-Encoding") is None:
            lengths = self.headers.get_all("Content-Length", ["0"])
            assert len(lengths) == 1 and lengths[0].isdigit(), lengths
            return self.rfile.read(int(lengths[0]))
        assert self.headers.get_all("Transfer-Encoding") == ["chunked"] and "Content-Length" not in self.headers
        body = b""
        while True:
            size = int(self.rfile.readline().rstrip(b"\r\n"), 16)
            if size == 0:
                break
            body += self.rfile.read(size)
            assert self.rfile.read(2) == b"\r\n"
        while self.rfile.readline() != b"\r\n":
            pass
        return body

    def send_error(self, code, message=None, explain=None):
        say({"line": self.raw_requestline.decode("latin-1").rstrip("\r\n"), "refused": message})
        self.close_connection = True

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
say({"port": server.server_address[1]})
server.serve_forever()
