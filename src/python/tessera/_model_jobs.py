"""The jobs on a model as methods. `_model_jobs.pyi`, which the build writes, says what they take."""

from tessera import _networks
from tessera._jobs import add_methods


class ModelJobs:
    pass


add_methods(ModelJobs, _networks.jobs(), lists={"score"})
