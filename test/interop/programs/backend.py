"""A backend of Python's http.server over HTTP/1.1: the paths of backends.interop.ts."""
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get('Transfer-Encoding', '').lower() == 'chunked':
            parts = []
            while True:
                size = int(self.rfile.readline().split(b';')[0], 16)
                parts.append(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    return b''.join(parts)
        return self.rfile.read(int(self.headers.get('Content-Length', 0)))

    def answer(self, status, body=b'', **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace('_', '-'), value)
        if status != 204:
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def serve(self):
        body = self.body()
        if self.path == '/echo':
            self.answer(200, body, X_Method=self.command, X_Length=str(len(body)))
        elif self.path == '/pieces':
            self.send_response(200)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            for index in range(5):
                piece = b'piece %d\n' % index
                self.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
                time.sleep(0.01)
            self.wfile.write(b'0\r\n\r\n')
        elif self.path == '/big':
            self.answer(200, b'0123456789' * 200_000)
        elif self.path == '/empty':
            self.answer(204)
        elif self.path == '/moved':
            self.answer(302, Location='/echo')
        else:
            self.answer(404, b'none\n')

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve


ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
