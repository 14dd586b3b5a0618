"""Memories as torch.nn.Modules, one line in a network of your own; and whole networks of them.

They compute what the C++ modules of the same names compute, by the same functions. The initial parameters
are drawn from PyTorch's generator (torch.manual_seed).
"""

from tessera._memories import ContextMemory, CorrelationMemory, PersistentMemory
from tessera._relational_memories import ItemMemory, RelationalMemory
from tessera._whole_networks import Gpt, MemoryMosaic, MemoryMosaicV2, Stm

__all__ = [
    "ContextMemory",
    "CorrelationMemory",
    "Gpt",
    "ItemMemory",
    "MemoryMosaic",
    "MemoryMosaicV2",
    "PersistentMemory",
    "RelationalMemory",
    "Stm",
]
