"""All aggregators by name, which loads every one of them."""

from unelisa import aggregators
from unelisa.aggregators.base import Aggregator

AGGREGATORS: dict[str, type[Aggregator]] = {
    name: getattr(aggregators, cls) for name, cls in aggregators.METHODS.items()
}
