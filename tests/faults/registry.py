"""All campaigns, by name."""

from __future__ import annotations

from faults.bad_data import BAD_DATA
from faults.campaign import Campaign
from faults.damage import DAMAGE
from faults.importers import IMPORTERS
from faults.kills import KILLS
from faults.limits import LIMITED
from faults.nans import NANS
from faults.options import OPTIONS
from faults.overload import OVERLOAD
from faults.ranks import RANK_KILLS
from faults.server import SERVER
from faults.signals import SIGNALLED

CAMPAIGNS: dict[str, Campaign] = {
    each.name: each
    for each in (
        KILLS,
        DAMAGE,
        NANS,
        OPTIONS,
        SIGNALLED,
        LIMITED,
        BAD_DATA,
        IMPORTERS,
        RANK_KILLS,
        SERVER,
        OVERLOAD,
    )
}
