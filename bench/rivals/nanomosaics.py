"""One line of JSON: the fastest of some training steps of the authors' nanoMosaics, in tokens a second.

    python3 nanomosaics.py FOLDER mosaic|gpt CHANNELS WINDOW THREADS STEPS

FOLDER holds their mosaic_model.py and gpt_model.py. Sizes and random tokens are those of
bench/model/training.cpp; a step is forward, backward, clipping and AdamW, as in their train.py.
"""
import json
import math
import sys
import time

import torch


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """What PyTorch has from 2.0 on and their code expects, as plain tensor formulas."""
    scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.size(-1)))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    return scores.softmax(-1) @ value


def prepare(folder, threads):
    sys.path.insert(0, folder)
    torch.set_num_threads(threads)
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        torch.nn.functional.scaled_dot_product_attention = attention
    torch.manual_seed(0)


def model_of(kind, channels, window):
    gpt2 = channels >= 768
    sizes = dict(block_size=window, vocab_size=50257 if gpt2 else 4096, dropout=0.0, bias=False,
                 n_layer=12 if gpt2 else 6 if channels >= 384 else 4, n_head=channels // 64,
                 n_embd=channels)
    if kind == "gpt":
        import gpt_model
        return gpt_model.GPT(gpt_model.GPTConfig(**sizes)), sizes["vocab_size"], gpt2
    import mosaic_model
    config = mosaic_model.MemoryMosaicConfig(**sizes, pmem_size=7 * channels // 2)
    return mosaic_model.MemoryMosaic(config), sizes["vocab_size"], gpt2


def step(model, optimizer, text):
    """The loss, and how many seconds it took."""
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    _, loss = model(text[:, :-1].contiguous(), text[:, 1:].contiguous())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item(), time.perf_counter() - start


def main():
    folder, kind, channels, window, threads, steps = sys.argv[1:]
    prepare(folder, int(threads))
    model, vocabulary, gpt2 = model_of(kind, int(channels), int(window))
    optimizer = model.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu")
    batch = (1024 if gpt2 else 2048) // int(window)
    best = math.inf
    for _ in range(int(steps)):
        text = (torch.rand(batch, int(window) + 1) ** 2 * vocabulary).long()
        loss, seconds = step(model, optimizer, text)
        best = min(best, seconds)
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"parameters": parameters, "tokens_per_second": batch * int(window) / best,
                      "loss": loss}))


if __name__ == "__main__":
    main()
