"""The invented carriers of the demo, each with its own kind of path.

Addresses and AS numbers are from the ranges set aside for documentation.
"""

from dataclasses import dataclass

from quiclens_lab.path import Burst


@dataclass(frozen=True)
class Place:
    """Where clients of a carrier are, and which point of presence answers them."""

    country: str
    region: str
    city: str
    pop: str
    cluster: str
    cells: str  # H3 cells of resolution 4, the first the city's, without the f at their ends
    extra_rtt_ms: float = 0.0

    @property
    def h3_cells(self) -> tuple[str, ...]:
        return tuple(cell.ljust(15, "f") for cell in self.cells.split())


@dataclass(frozen=True)
class Carrier:
    """An access network: what its paths are like and how often they fail in which way."""

    name: str
    asn: int
    network_type: str
    client_network: str
    weight: float
    places: tuple[Place, ...]
    rtt_ms: tuple[float, float]
    down_mbps: tuple[float, float]
    up_mbps: float
    queue_bytes: int
    loss_rate: float = 0.0
    burst: Burst | None = None
    blackout_share: float = 0.0
    tail_loss_share: float = 0.0


CARRIERS: tuple[Carrier, ...] = (
    Carrier(  # fast fibre: whatever is slow here is not the network
        "Northlight Fiber", 64496, "wifi", "198.51.100.0/24", 0.26,
        (
            Place("SE", "Stockholm", "Stockholm", "arn", "edge-eu", "8408867 8408865 840895b"),
            Place("SE", "Skane", "Malmo", "arn", "edge-eu", "841f05b 841f059 841f051", 8),
        ),
        rtt_ms=(8, 16), down_mbps=(80, 200), up_mbps=40, queue_bytes=400_000,
    ),
    Carrier(  # LTE with now and then a tunnel
        "Halden Mobile", 64497, "lte", "2001:db8:64::/48", 0.24,
        (
            Place("DE", "Berlin", "Berlin", "fra", "edge-eu", "841f1d5 841f1c3 841f189", 6),
            Place("DE", "Bavaria", "Munich", "fra", "edge-eu", "841f8d7 841f8d5 841f88b"),
        ),
        rtt_ms=(38, 65), down_mbps=(12, 40), up_mbps=8, queue_bytes=300_000,
        loss_rate=0.001, blackout_share=0.22, tail_loss_share=0.08,
    ),
    Carrier(  # lossy 3G
        "Savanna Cell", 64498, "3g", "2001:db8:65::/48", 0.14,
        (
            Place("KE", "Nairobi", "Nairobi", "fra", "edge-eu", "847a6e5 847a633 847a459"),
            Place("KE", "Coast", "Mombasa", "fra", "edge-eu", "847b59b 847b599 847b591", 15),
        ),
        rtt_ms=(130, 190), down_mbps=(2, 5), up_mbps=1, queue_bytes=120_000,
        loss_rate=0.02, burst=Burst(0.02), blackout_share=0.08,
    ),
    Carrier(  # a far region: long and fast, so the window is what limits
        "Pacifica Telecom", 64499, "wifi", "2001:db8:66::/48", 0.14,
        (
            Place("NZ", "Auckland", "Auckland", "lax", "edge-us", "84bb501 84bb50d 84bb505"),
            Place("NZ", "Otago", "Dunedin", "lax", "edge-us", "84da843 84da841 84da847", 25),
        ),
        rtt_ms=(180, 230), down_mbps=(50, 120), up_mbps=20, queue_bytes=800_000,
    ),
    Carrier(  # DSL with a small buffer: slow start runs into it
        "Vale DSL", 64500, "wifi", "2001:db8:67::/48", 0.12,
        (
            Place("GB", "Wales", "Swansea", "lhr", "edge-eu", "84195a1 84195ad 84195a5"),
            Place("GB", "Scotland", "Inverness", "lhr", "edge-eu", "84192b7 84192b5 84190cb", 12),
        ),
        rtt_ms=(22, 34), down_mbps=(6, 12), up_mbps=1, queue_bytes=14_000,
    ),
    Carrier(  # a cell with a deep queue
        "Metro Wireless", 64501, "4g", "2001:db8:68::/48", 0.10,
        (
            Place("BR", "Sao Paulo", "Sao Paulo", "gru", "edge-sa", "84a8101 84a810d 84a8105"),
            Place("BR", "Parana", "Curitiba", "gru", "edge-sa", "84a8313 84a8311 84a8317", 10),
        ),
        rtt_ms=(55, 85), down_mbps=(1.5, 4), up_mbps=1, queue_bytes=900_000,
        loss_rate=0.002,
    ),
)  # fmt: skip
