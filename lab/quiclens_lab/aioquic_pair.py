"""Runs one plan with aioquic at both ends, in virtual time: a heap of arrivals, timers and application actions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count

from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

from quiclens_lab import aioquic_inside as inside
from quiclens_lab.client_application import ClientApplication
from quiclens_lab.connections import client_connection, server_connection
from quiclens_lab.draws import digest, fraction
from quiclens_lab.endpoint import PEER, Endpoint
from quiclens_lab.path import SCRIPTS, Link, PathFacts
from quiclens_lab.plan import START_US, ConnectionPlan
from quiclens_lab.resumption import resumption_ticket
from quiclens_lab.roaming import HOST_ID_BYTES, Address, RetryRelay
from quiclens_lab.server_application import Exchange, ServerApplication

AFTER_CLOSE_US = 1_500_000  # a close that was lost is not repeated: stop waiting for it
LATEST_TIMER_US = 1_000
IDLE_END_US = 400_000  # how long a connection that nobody closes is watched after its last answer


@dataclass(frozen=True)
class SideRun:
    """What one end logged, and between which virtual times it did."""

    trace: QuicLoggerTrace
    first_event_us: int
    last_event_us: int
    skew_us: int
    departures_us: tuple[int, ...]


@dataclass(frozen=True)
class ConnectionRun:
    """One simulated connection: both traces and the server application's marks."""

    plan: ConnectionPlan
    connection_id: str
    server: SideRun
    client: SideRun | None
    exchanges: tuple[Exchange, ...]
    is_finished: bool
    steps: int
    path: PathFacts

    @property
    def epoch_us(self) -> int:
        """Wall clock of virtual time 0."""
        return self.plan.wall_start_us - START_US


@dataclass
class EventLoop:
    """Virtual time: actions in order of their time, then of their making."""

    heap: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)
    order: "count[int]" = field(default_factory=count)

    def schedule(self, time_us: int, action: Callable[[int], None]) -> None:
        heappush(self.heap, (time_us, next(self.order), action))


def external_ids(plan: ConnectionPlan) -> list[str]:
    """The x-request-id of each request of a plan."""
    return [digest(plan.seed, "request", number, size=16).hex() for number in range(len(plan.requests))]


def simulate(plan: ConnectionPlan, with_client_trace: bool = True) -> ConnectionRun:
    """Run a plan to its end, or to its step limit; `is_finished` says whether every request was answered."""
    clock = inside.VirtualClock(plan.wall_start_us - START_US)
    with inside.repeatable(plan.seed, clock):
        return _Pair(plan, clock, with_client_trace).run()


def lateness_us(plan: ConnectionPlan, end: str, at_us: int) -> int:
    """By how much a timer of an end that is set for this moment fires late."""
    return int(fraction(plan.seed, "late", end, at_us) * LATEST_TIMER_US) if plan.has_late_timers else 0


class _Pair:
    def __init__(self, plan: ConnectionPlan, clock: inside.VirtualClock, with_client_trace: bool) -> None:
        self._plan = plan
        self._clock = clock
        self._loop = EventLoop()
        ticket = resumption_ticket(plan) if plan.is_resumed else None
        self._client_log = QuicLogger() if with_client_trace else None
        self._server_log = QuicLogger()
        client = client_connection(plan, self._client_log, ticket)
        self._connection_id: bytes = client.original_destination_connection_id
        retry_id = digest(plan.seed, "retry", size=HOST_ID_BYTES) if plan.roaming and plan.roaming.is_retried else None
        server = server_connection(plan, self._server_log, self._connection_id, ticket, retry_id)
        self._door = RetryRelay(plan.roaming, self._server_log._traces[0], retry_id) if plan.roaming else None
        client_trace = self._client_log._traces[0] if self._client_log else None
        script = SCRIPTS[plan.path.script]
        up, down = Link(plan.path.up, plan.seed, "up", script), Link(plan.path.down, plan.seed, "down", script)
        server_trace = self._server_log._traces[0]
        late_client, late_server = partial(lateness_us, plan, "client"), partial(lateness_us, plan, "server")
        self._client = Endpoint(client, up, clock, plan.client_skew_us, client_trace, late_client)
        self._server = Endpoint(server, down, clock, 0, server_trace, late_server)
        ids = external_ids(plan)
        requests = {name: (number, plan.requests[number]) for number, name in enumerate(ids)}
        self._answering = ServerApplication(self._server, requests, self._acting(self._server, late_server))
        self._asking = ClientApplication(self._client, plan, ids, self._acting(self._client, late_client))
        self._asking.before_turn = self._before_turn

    def run(self) -> ConnectionRun:
        now_us = START_US
        self._client.connection.connect(PEER, self._client.enter(now_us))
        if self._plan.is_resumed:
            self._client.open_h3()
            self._asking.start(now_us)
        else:
            self._move(self._client, now_us)
        steps = 0
        ending_us: int | None = None
        while self._loop.heap and steps < self._plan.max_steps:
            now_us, _, action = heappop(self._loop.heap)
            if ending_us is not None and now_us > ending_us:
                break
            action(now_us)
            steps += 1
            if inside.is_ending(self._server.connection):
                break
            if ending_us is None:
                ending_us = self._ending_us(now_us)
        return ConnectionRun(
            plan=self._plan,
            connection_id=self._connection_id.hex(),
            server=_side(self._server, self._server_log, 0),
            client=_side(self._client, self._client_log, self._plan.client_skew_us) if self._client_log else None,
            exchanges=tuple(self._answering.exchanges.values()),
            is_finished=self._asking.done_us is not None,
            steps=steps,
            path=self._path_facts(),
        )

    def _path_facts(self) -> PathFacts:
        up, down = self._client.link, self._server.link
        return PathFacts(up.lost + down.lost, down.busy_us, self._plan.path.rtt_us)

    def _ending_us(self, now_us: int) -> int | None:
        """Once it is known, the time at which the run stops although nobody may have said goodbye."""
        if inside.is_ending(self._client.connection):
            return now_us + AFTER_CLOSE_US
        if self._asking.done_us is not None and not self._plan.is_closed_by_client:
            return now_us + IDLE_END_US + 2 * self._plan.path.rtt_us
        return None

    def _acting(self, endpoint: Endpoint, late: Callable[[int], int]) -> Callable[[int, Callable[[int], None]], None]:
        """Schedule an application's action, after which its end sends what it has to send."""

        def schedule(time_us: int, action: Callable[[int], None]) -> None:
            if time_us > self._clock.now_us:
                time_us += late(time_us)

            def act(now_us: int) -> None:
                if not inside.is_ending(endpoint.connection):
                    endpoint.enter(now_us)
                    action(now_us)
                    self._move(endpoint, now_us)

            self._loop.schedule(time_us, act)

        return schedule

    def _move(self, endpoint: Endpoint, now_us: int) -> None:
        """After anything happened at one end: tell its application, send, and set its timer."""
        if endpoint is self._server:
            self._answering.note_arrivals(now_us)
        endpoint.deliver_events(now_us)
        timer_before_us = endpoint.timer_us
        receiver = self._client if endpoint is self._server else self._server
        address = self._door.address if self._door and receiver is self._server else PEER
        for flight in endpoint.send(now_us):
            self._loop.schedule(flight.arrival_us, self._arrival(receiver, flight.payload, address))
        if endpoint is self._server:
            self._answering.note_progress(now_us)
        if endpoint.timer_us is not None and endpoint.timer_us != timer_before_us:
            self._loop.schedule(endpoint.timer_us, self._timer(endpoint))

    def _arrival(self, endpoint: Endpoint, payload: bytes, address: Address) -> Callable[[int], None]:
        def arrive(now_us: int) -> None:
            if self._door and endpoint is self._server:
                endpoint.enter(now_us)
                if (retry := self._door.retry(payload)) is not None:
                    back_us = now_us + self._plan.path.down.delay_us
                    self._loop.schedule(back_us, self._arrival(self._client, retry, PEER))
                    return
                self._answering.arrival = self._door.note(payload, address)
            endpoint.receive(payload, now_us, address)
            self._move(endpoint, now_us)

        return arrive

    def _before_turn(self, turn: int) -> None:
        """The last turn asks for the target: with it the path's script begins."""
        if turn == len(self._plan.turns) - 1:
            for end in (self._client, self._server):
                end.link.begin(self._clock.now_us)
        self._roam(turn)

    def _roam(self, turn: int) -> None:
        """The client takes another connection id of the server's, or goes on from another address with one."""
        roaming = self._plan.roaming
        if roaming is None or self._door is None:
            return
        if turn == roaming.moves_before_turn and roaming.moved_to is not None:
            self._door.address = roaming.moved_to
        if turn in (roaming.moves_before_turn, roaming.new_ids_before_turn):
            self._client.connection.change_connection_id()

    def _timer(self, endpoint: Endpoint) -> Callable[[int], None]:
        def fire(now_us: int) -> None:
            if endpoint.timer_us == now_us:  # else it was moved meanwhile
                endpoint.timer_us = None
                endpoint.fire_timer(now_us)
                self._move(endpoint, now_us)

        return fire


def _side(endpoint: Endpoint, log: QuicLogger, skew_us: int) -> SideRun:
    return SideRun(
        trace=log._traces[0],
        first_event_us=endpoint.first_event_us or 0,
        last_event_us=endpoint.last_event_us,
        skew_us=skew_us,
        departures_us=tuple(endpoint.link.departures_us),
    )
