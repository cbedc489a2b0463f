"""Clients of the operations scenarios: who they are, as their app or their access log says."""

from quiclens_lab.draws import choice, weighted, whole
from quiclens_lab.networks import Carrier
from quiclens_lab.plan import Dimensions
from quiclens_lab.population import APP_VERSIONS


def dimensions_of(carrier: Carrier, seed: int, name: str) -> Dimensions:
    """A client of this carrier; the same name is always the same client."""
    place = choice(carrier.places, seed, "place", name)
    return Dimensions(
        server=f"edge-{place.pop}-{whole(1, 3, seed, 'server', name):02d}",
        cluster=place.cluster,
        pop=place.pop,
        carrier=carrier.name,
        asn=carrier.asn,
        country=place.country,
        region=place.region,
        city=place.city,
        network_type=carrier.network_type,
        app_version=weighted(APP_VERSIONS, seed, "app version", name),
        h3_cell=choice(place.h3_cells, seed, "cell", name),
        client_network=carrier.client_network,
    )
