"""A TCP proxy in front of a server: it takes the network away, or makes it bad, at a chosen moment or byte."""
import multiprocessing.managers
import select
import socket
import threading


class Proxy:
    """Forwards 127.0.0.1:port to target.  What refuse(), hold() and slow() say holds until it is taken back; cut_when() and
    cut_after() fire once.  Every connection has a thread of its own here; the methods may be called from any thread."""

    def __init__(self, target=None):
        self.target = target
        self._cuts = self._refused = 0
        self._refuse = False
        self._delay = 0.0
        self._flows = threading.Event()
        self._flows.set()
        self._trigger = self._budget = None
        self._lock = threading.Lock()
        self._pairs = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    # what is asked ---------------------------------------------------------------------------------------------------

    @property
    def port(self):
        return self._port

    @property
    def cuts(self):
        return self._cuts

    @property
    def refused(self):
        """How many connections were closed at once."""
        return self._refused

    def state(self):
        """(the port it listens on, how often a trigger cut, the ports its own connections to the server have)"""
        with self._lock:
            return self._port, self._cuts, [_port_of(server) for _, server in self._pairs]

    # what is done ----------------------------------------------------------------------------------------------------

    def aim(self, target):
        """Where new connections go."""
        self.target = target

    def refuse(self, yes=True):
        """New connections are closed at once."""
        self._refuse = yes

    def hold(self, yes=True):
        """A black hole: nothing is forwarded and nothing is closed.  What was held goes on when it is over, as after
        retransmissions."""
        (self._flows.clear if yes else self._flows.set)()

    def slow(self, seconds=0.0):
        """Every piece waits that long before it goes on."""
        self._delay = seconds

    def cut_when(self, side, pattern, forward, after=1, farewell=b""):
        """When pattern passes for the after-th time from side ("client" or "server"): the connection is cut at once; forward
        says whether the bytes that held it still go through before.  With a farewell nothing that came behind the pattern
        does: the farewell takes its place."""
        with self._lock:
            self._trigger = [side, pattern, forward, after, farewell]

    def cut_after(self, side, count):
        """The connection on which the count-th byte from now passes from side is cut right behind it."""
        with self._lock:
            self._budget = [side, count]

    def disarm(self):
        """Takes cut_when() and cut_after() back."""
        with self._lock:
            self._trigger = self._budget = None

    def cut(self):
        """Every open connection is gone."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            _shut(pair)

    def close(self):
        self._listener.close()
        self.hold(False)
        self.cut()

    # the connections -------------------------------------------------------------------------------------------------

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refuse:
                self._refused += 1
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
                    if self._delay:
                        threading.Event().wait(self._delay)
                    self._flows.wait()
                    last = self._last("client" if one is client else "server", tails[one], data)
                    tails[one] = data[-64:]
                    other[one].sendall(data if last is None else last)
                    if last is not None:
                        self._cuts += 1
                        return
        except (OSError, ValueError):
            pass
        finally:
            self._close(pair)

    def _last(self, side, tail, data):
        """What of these bytes is the last that passes on this connection; None: it goes on."""
        with self._lock:
            if self._budget and self._budget[0] == side:
                self._budget[1] -= len(data)
                if self._budget[1] <= 0:
                    last = len(data) + self._budget[1]
                    self._budget = None
                    return data[:last]
            if not self._trigger or self._trigger[0] != side:
                return None
            pattern = self._trigger[1]
            before = tail[-(len(pattern) - 1):] if len(pattern) > 1 else b""
            seen = before + data
            self._trigger[3] -= seen.count(pattern)
            if self._trigger[3] > 0:
                return None
            forward, farewell = self._trigger[2], self._trigger[4]
            self._trigger = None
            if farewell:
                return data[:seen.rindex(pattern) + len(pattern) - len(before)] + farewell
            return data if forward else b""

    def _close(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        _shut(pair)
        for one in pair:
            one.close()


def _port_of(one):
    try:
        return one.getsockname()[1]
    except OSError:
        return 0


def _shut(pair):
    for one in pair:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Proxies(multiprocessing.managers.BaseManager):
    """A process of its own for proxies that many bytes go through: after start(), Proxy(target) makes one there."""


Proxies.register("Proxy", Proxy, exposed=("state", "aim", "refuse", "hold", "slow", "cut_when", "cut_after", "disarm", "cut", "close"))
