"""A payment service on the loopback interface. A charge has a unique key; a repeated key gets the first receipt.

POST /charges?delay=MS with the header Idempotency-Key; GET /charges/KEY; GET /all for the lab. Prints its port.
"""
import json
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

database = sqlite3.connect(sys.argv[1], check_same_thread=False, isolation_level=None)
database.execute("CREATE TABLE charges (receipt INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL)")
database.execute("CREATE TABLE requests (key TEXT NOT NULL)")
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, text):
        body = (text + "\n").encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        key = self.headers["Idempotency-Key"]
        delay = float(parse_qs(urlparse(self.path).query)["delay"][0]) / 1000
        time.sleep(delay / 2)
        with lock:
            database.execute("INSERT INTO requests VALUES (?)", (key,))
            database.execute("INSERT OR IGNORE INTO charges (key) VALUES (?)", (key,))
            receipt = database.execute("SELECT receipt FROM charges WHERE key = ?", (key,)).fetchone()[0]
        time.sleep(delay / 2)
        try:
            self.answer(200, f"receipt {receipt}")
        except BrokenPipeError:
            pass

    def do_GET(self):
        if self.path == "/all":
            with lock:
                charges = [key for (key,) in database.execute("SELECT key FROM charges")]
                requests = [key for (key,) in database.execute("SELECT key FROM requests")]
            return self.answer(200, json.dumps({"charges": charges, "requests": requests}))
        with lock:
            found = database.execute(
                "SELECT receipt FROM charges WHERE key = ?", (self.path.rsplit("/", 1)[1],)
            ).fetchone()
        return self.answer(404, "none") if found is None else self.answer(200, f"receipt {found[0]}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
