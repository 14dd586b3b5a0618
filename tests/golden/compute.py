"""Computes the golden tensors of this folder with the authors' own code.

Usage: compute.py NANOMOSAICS NANOGPT OUT
  NANOMOSAICS  the file nanoMosaics/mosaic_model.py of facebookresearch/MemoryMosaics
  NANOGPT      the file model.py of karpathy/nanoGPT
Needs PyTorch; before 2.0 it lacks the attention that mosaic_model.py calls, which is added here.
"""

import importlib.util
import json
import math
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

SIZES = dict(n_layer=2, n_head=2, n_embd=16, block_size=12, vocab_size=23, dropout=0.0, bias=True)
TYPES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.size(-1)))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    return scores.softmax(-1) @ value


def module_of(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem + "_golden", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def save(path, tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def compute(name, kind, model, extra, out):
    torch.manual_seed(20)
    with torch.no_grad():  # nothing may sit at a symmetric initial value
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    tokens = torch.randint(SIZES["vocab_size"], (2, SIZES["block_size"] + 1))
    idx, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    targets[0, :3] = -1  # positions that do not count
    model.eval()
    logits, loss = model(idx, targets)
    loss.backward()
    expected = {"idx": idx, "targets": targets, "logits": logits, "loss": loss.reshape(1)}
    for own, parameter in model.named_parameters():
        expected["grad." + own] = parameter.grad
    sizes = {key: str(value) for key, value in {**SIZES, **extra}.items() if key != "dropout"}
    save(out / f"{name}.weights.safetensors", model.state_dict(), {"model": kind, **sizes})
    save(out / f"{name}.expected.safetensors", expected)


def main(mosaics, gpt, out):
    if not hasattr(F, "scaled_dot_product_attention"):
        F.scaled_dot_product_attention = attention
    out = pathlib.Path(out)
    memories = dict(pmem_size=5, pmem_count=2)
    module = module_of(mosaics)
    compute("mosaic_tiny", "nanoMosaics",
            module.MemoryMosaic(module.MemoryMosaicConfig(**SIZES, **memories)), memories, out)
    module = module_of(gpt)
    compute("gpt_tiny", "nanoGPT", module.GPT(module.GPTConfig(**SIZES)), {}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
