"""The authors' nanoMosaics, trained with its own memories and with those of tessera.nn in their place.

    python3 python_memories.py FOLDER CHANNELS WINDOW THREADS STEPS

FOLDER holds their mosaic_model.py; the model, its sizes and random tokens are those of nanomosaics.py. Three
copies of one model (theirs, with our contextual memories, with our contextual and persistent memories) take
turns, step by step, on the same tokens. Prints one line for each: the fastest step in tokens a second, its ratio
to theirs, and the largest difference of a loss from theirs.
"""

import copy
import sys

import torch
from nanomosaics import model_of, prepare, step

import tessera.nn

KEYS = {
    "key.leak": "k_featurizer.leaky_avg.leaky_key_beta",
    "key.log_scale": "k_featurizer.key_scale",
    "key.projection.weight": "k_featurizer.W_k.weight",
    "output.weight": "c_proj.weight",
}
CONTEXT = KEYS | {
    "value.mix": "v_featurizer.coef",
    "value.log_scale": "v_featurizer.val_scale",
    "value.projection.weight": "v_featurizer.W_v.weight",
}
PERSISTENT = KEYS | {"slot_keys": "P_k", "slot_values": "P_v", "log_scale": "out_scale"}


def with_weights_of(memory, theirs, names):
    weights = theirs.state_dict()
    memory.load_state_dict(
        {ours: weights[name].view_as(memory.get_parameter(ours)) for ours, name in names.items()}
    )
    return memory


def with_our_memories(model, persistent):
    model = copy.deepcopy(model)
    sizes = model.config
    for block in model.mosaic.h:
        ours = tessera.nn.ContextMemory(sizes.n_embd, sizes.n_head, parameterisation="nano")
        block.attn = with_weights_of(ours, block.attn, CONTEXT)
        if persistent:
            ours = tessera.nn.PersistentMemory(
                sizes.n_embd, sizes.n_head, sizes.pmem_size, parameterisation="nano"
            )
            block.mlp = with_weights_of(ours, block.mlp, PERSISTENT)
    return model


def main():
    folder, channels, window, threads, steps = sys.argv[1], *map(int, sys.argv[2:])
    prepare(folder, threads)
    theirs, vocabulary, _ = model_of("mosaic", channels, window)
    models = {
        "theirs": theirs,
        "our contextual memories": with_our_memories(theirs, persistent=False),
        "our contextual and persistent memories": with_our_memories(theirs, persistent=True),
    }
    optimizers = [
        model.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu") for model in models.values()
    ]
    batch = 2048 // window
    best = dict.fromkeys(models, float("inf"))
    difference = dict.fromkeys(models, 0.0)
    for _ in range(steps):
        text = (torch.rand(batch, window + 1) ** 2 * vocabulary).long()
        losses = {}
        for (name, model), optimizer in zip(models.items(), optimizers):
            losses[name], seconds = step(model, optimizer, text)
            best[name] = min(best[name], seconds)
            difference[name] = max(difference[name], abs(losses[name] - losses["theirs"]))
    for name in models:
        print(
            f"{name}: {batch * window / best[name]:.0f} tokens/s, "
            f"{best['theirs'] / best[name]:.2f} x, losses differ by {difference[name]:.1e} at most"
        )


main()
