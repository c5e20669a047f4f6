"""A TCP proxy in front of a server, to take the network away at a chosen byte."""
import select
import socket
import threading


class Proxy:
    """Forwards 127.0.0.1:port to target.  Faults hold until taken back; cut_when fires once.

    refuse      new connections are closed at once
    black_hole  nothing is forwarded any more, nothing is closed
    """

    def __init__(self, target):
        self.target = target
        self.refuse = self.black_hole = False
        self.cuts = 0
        self._trigger = None
        self._lock = threading.Lock()
        self._pairs = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_when(self, side, pattern, forward, after=1):
        """When pattern passes for the after-th time from side ("client" or "server"): the connection is cut at once; forward
        says whether the bytes that held it still go through before."""
        with self._lock:
            self._trigger = [side, pattern, forward, after]

    def cut(self):
        """Every open connection is gone."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._close(pair)

    def close(self):
        self._listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            threading.Thread(target=self._serve, args=(pair,), daemon=True).start()

    def _serve(self, pair):
        client, server = pair
        other = {client: server, server: client}
        tails = {client: b"", server: b""}
        try:
            while True:
                for one in select.select(pair, (), (), 60)[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    if self.black_hole:
                        continue
                    verdict = self._fires("client" if one is client else "server", tails[one], data)
                    tails[one] = data[-64:]
                    if verdict is not None:
                        if verdict:
                            other[one].sendall(data)
                        self.cuts += 1
                        return
                    other[one].sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            self._close(pair)

    def _fires(self, side, tail, data):
        """None: no; else whether to forward."""
        with self._lock:
            if not self._trigger or self._trigger[0] != side:
                return None
            pattern = self._trigger[1]
            seen = (tail[-(len(pattern) - 1):] if len(pattern) > 1 else b"") + data
            self._trigger[3] -= seen.count(pattern)
            if self._trigger[3] > 0:
                return None
            forward = self._trigger[2]
            self._trigger = None
            return forward

    def _close(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        for one in pair:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
