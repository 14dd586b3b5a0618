"""The jobs on a store as methods. `_store_jobs.pyi`, which the build writes, says what they take."""

from tessera import _stores
from tessera._jobs import add_makers, add_methods


class StoreJobs:
    pass


add_methods(StoreJobs, _stores.jobs(), lists={"ask", "audit", "documents", "search"})
add_makers(StoreJobs, _stores.makers(), _stores.make)
