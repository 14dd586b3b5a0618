"""Computes the golden tensors of the recurrent baselines with plain loops over numbers.

Usage: recurrent.py OUT
Needs nothing but Python. Written from the papers' equations, one number at a time and in double precision; gradients are
central differences. Each file holds a network's kind and hyper-parameters (metadata), its parameters, `x` [B, T, in], `y`
[B, T, out], `weights` [B, T, out], and `grad.<parameter>` of sum(weights * y).
"""

import json
import math
import pathlib
import random
import struct
import sys

B, T, IN, OUT = 2, 4, 3, 2


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return math.log1p(math.exp(x))


def softmax(values):
    powers = [math.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def dot(a, b):
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b))


def linear(p, name, x):
    rows = [dot(row, x) for row in p[name + ".weight"]]
    return [r + b for r, b in zip(rows, p[name + ".bias"])] if name + ".bias" in p else rows


def layer_norm(p, name, x):
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / len(x)
    return [(v - mean) / math.sqrt(variance + 1e-5) * g + b
            for v, g, b in zip(x, p[name + ".weight"], p[name + ".bias"])]


def lstm_step(p, name, x, recurrent, cell):
    sums = [dot(w, x) + dot(u, recurrent) + b for w, u, b in
            zip(p[name + ".input_weight"], p[name + ".recurrent_weight"], p[name + ".bias"])]
    n = len(cell)
    hidden, after = [], []
    for k in range(n):
        i, f, g, o = sums[k], sums[n + k], sums[2 * n + k], sums[3 * n + k]
        after.append(sigmoid(f) * cell[k] + sigmoid(i) * math.tanh(g))
        hidden.append(sigmoid(o) * math.tanh(after[k]))
    return hidden, after


def content(key, strength, memory):
    def length(v):
        return math.sqrt(dot(v, v))
    return softmax([strength * dot(key, row) / (length(key) * length(row) + 1e-6) for row in memory])


def taken(values, *sizes):
    """The values in pieces of these sizes."""
    pieces, at = [], 0
    for size in sizes:
        pieces.append(values[at:at + size])
        at += size
    assert at == len(values)
    return pieces


def attentional_lstm(p, h, xs):
    history, cell = [p["first_history"][0]], p["first_cell"]
    for x in xs:
        hidden, cell = lstm_step(p, "lstm", x, history[-1], cell)
        query = linear(p, "score", hidden)
        weights = softmax([dot(query, earlier) for earlier in history])
        context = [sum(w * earlier[k] for w, earlier in zip(weights, history)) for k in range(h["hidden"])]
        combined = [math.tanh(v) for v in linear(p, "combination", context + hidden)]
        history = history + [hidden]
        yield linear(p, "head", combined)


def ntm(p, h, xs):
    N, W, R = h["slots"], h["width"], h["heads"]
    memory, reads = p["first_memory"], p["first_reads"]
    weights = [softmax(row) for row in p["first_weights"]]
    hidden, cell = p["first_hidden"], p["first_cell"]
    for x in xs:
        hidden, cell = lstm_step(p, "controller", x, hidden + sum(reads, []), cell)
        raw = taken(linear(p, "interface", hidden), *[W + 6] * (2 * R), *[W] * (2 * R))
        after = []
        for head in range(2 * R):
            key, (beta,), (gate,), shift, (gamma,) = taken(raw[head], W, 1, 1, 3, 1)
            focus = content(key, softplus(beta), memory)
            g = sigmoid(gate)
            mixed = [g * c + (1 - g) * w for c, w in zip(focus, weights[head])]
            s = softmax(shift)  # by -1, 0, 1
            moved = [sum(mixed[j] * s[d + 1] for j in range(N) for d in (-1, 0, 1) if (j + d) % N == i)
                     for i in range(N)]
            powers = [m ** (1 + softplus(gamma)) for m in moved]
            after.append([q / sum(powers) for q in powers])
        weights = after
        erased = [[memory[n][k] * math.prod(1 - weights[R + r][n] * sigmoid(raw[2 * R + r][k]) for r in range(R))
                   for k in range(W)] for n in range(N)]
        memory = [[erased[n][k] + sum(weights[R + r][n] * raw[3 * R + r][k] for r in range(R))
                   for k in range(W)] for n in range(N)]
        reads = [[sum(weights[r][n] * memory[n][k] for n in range(N)) for k in range(W)] for r in range(R)]
        yield linear(p, "head", hidden + sum(reads, []))


def dnc(p, h, xs):
    N, W, R = h["slots"], h["width"], h["read_heads"]
    memory, reads, hidden, cell = p["first_memory"], p["first_reads"], p["first_hidden"], p["first_cell"]
    usage, precedence, written = [0.0] * N, [0.0] * N, [0.0] * N
    links, read_weights = [[0.0] * N for _ in range(N)], [[0.0] * N for _ in range(R)]
    for x in xs:
        hidden, cell = lstm_step(p, "controller", x, hidden + sum(reads, []), cell)
        keys, strengths, key, (strength,), erase, add, free, (from_free,), (gate,), modes = taken(
            linear(p, "interface", hidden), R * W, R, W, 1, W, W, R, 1, 1, 3 * R)
        retention = [math.prod(1 - sigmoid(free[r]) * read_weights[r][n] for r in range(R)) for n in range(N)]
        usage = [(u + w - u * w) * r for u, w, r in zip(usage, written, retention)]
        kept = [1e-6 + (1 - 1e-6) * u for u in usage]
        allocation = [0.0] * N
        product = 1.0
        for n in sorted(range(N), key=lambda n: kept[n]):
            allocation[n] = (1 - kept[n]) * product
            product *= kept[n]
        focus = content(key, 1 + softplus(strength), memory)
        ga, gw = sigmoid(from_free), sigmoid(gate)
        written = [gw * (ga * a + (1 - ga) * c) for a, c in zip(allocation, focus)]
        memory = [[memory[n][k] * (1 - written[n] * sigmoid(erase[k])) + written[n] * add[k]
                   for k in range(W)] for n in range(N)]
        links = [[0.0 if i == j else (1 - written[i] - written[j]) * links[i][j] + written[i] * precedence[j]
                  for j in range(N)] for i in range(N)]
        precedence = [(1 - sum(written)) * q + w for q, w in zip(precedence, written)]
        after = []
        for r in range(R):
            focus = content(keys[r * W:(r + 1) * W], 1 + softplus(strengths[r]), memory)
            back, by_content, on = softmax(modes[3 * r:3 * r + 3])
            before = read_weights[r]
            after.append([back * sum(links[j][i] * before[j] for j in range(N)) + by_content * focus[i]
                          + on * sum(links[i][j] * before[j] for j in range(N)) for i in range(N)])
        read_weights = after
        reads = [[sum(read_weights[r][n] * memory[n][k] for n in range(N)) for k in range(W)] for r in range(R)]
        yield linear(p, "head", hidden + sum(reads, []))


def rmc(p, h, xs):
    N, H, D = h["slots"], h["heads"], h["head_width"]
    C = H * D
    memory = p["first_memory"]
    for x in xs:
        u = linear(p, "input", x)
        rows = [layer_norm(p, "projection_norm", linear(p, "projection", row)) for row in memory + [u]]
        part = [[[row[h * 3 * D + at:h * 3 * D + at + D] for row in rows] for at in (0, D, 2 * D)] for h in range(H)]
        after = []
        for n in range(N):
            attended = []
            for queries, keys, values in part:
                weights = softmax([dot(queries[n], key) / math.sqrt(D) for key in keys])
                attended += [sum(w * v[k] for w, v in zip(weights, values)) for k in range(D)]
            row = layer_norm(p, "attention_norm", [m + a for m, a in zip(memory[n], attended)])
            inner = row
            for layer in range(h["mlp_layers"]):
                if layer > 0:
                    inner = [max(0.0, v) for v in inner]
                inner = linear(p, f"mlp.{2 * layer}", inner)
            row = layer_norm(p, "mlp_norm", [a + b for a, b in zip(row, inner)])
            gates = [a + b for a, b in zip(linear(p, "memory_gate", [math.tanh(m) for m in memory[n]]),
                                           linear(p, "input_gate", u))]
            g = len(gates) // 2
            after.append([sigmoid(gates[k % g]) * math.tanh(row[k])
                          + sigmoid(gates[g + k % g] + 1) * memory[n][k] for k in range(C)])
        memory = after
        yield linear(p, "head", sum(memory, []))


def fast_weights(p, h, xs):
    H = h["hidden"]
    hidden, fast = p["first_hidden"], [[0.0] * H for _ in range(H)]
    for x in xs:
        fast = [[h["decay"] * fast[i][j] + h["rate"] * hidden[i] * hidden[j] for j in range(H)] for i in range(H)]
        boundary = [a + b for a, b in zip(linear(p, "input", x), linear(p, "recurrent", hidden))]
        hidden = [max(0.0, v) for v in boundary]
        for _ in range(h["inner_steps"]):
            sums = [b + dot(row, hidden) for b, row in zip(boundary, fast)]
            hidden = [max(0.0, v) for v in layer_norm(p, "norm", sums)]
        yield linear(p, "head", hidden)


def lstm_shapes(name, inputs, channels, fed_back=0):
    return {name + ".input_weight": (4 * channels, inputs), name + ".bias": (4 * channels,),
            name + ".recurrent_weight": (4 * channels, channels + fed_back)}


def linear_shapes(name, inputs, outputs, bias=True):
    return {name + ".weight": (outputs, inputs), **({name + ".bias": (outputs,)} if bias else {})}


def norm_shapes(name, width):
    return {name + ".weight": (width,), name + ".bias": (width,)}


def attentional_lstm_shapes(h):
    H = h["hidden"]
    return {"first_history": (1, H), "first_cell": (H,), **lstm_shapes("lstm", IN, H),
            **linear_shapes("score", H, H, False), **linear_shapes("combination", 2 * H, H, False),
            **linear_shapes("head", H, OUT)}


def ntm_shapes(h):
    C, N, W, R = h["controller"], h["slots"], h["width"], h["heads"]
    return {"first_memory": (N, W), "first_weights": (2 * R, N), "first_reads": (R, W), "first_hidden": (C,),
            "first_cell": (C,), **lstm_shapes("controller", IN, C, R * W),
            **linear_shapes("interface", C, 2 * R * (W + 6) + 2 * R * W), **linear_shapes("head", C + R * W, OUT)}


def dnc_shapes(h):
    C, N, W, R = h["controller"], h["slots"], h["width"], h["read_heads"]
    return {"first_memory": (N, W), "first_reads": (R, W), "first_hidden": (C,), "first_cell": (C,),
            **lstm_shapes("controller", IN, C, R * W),
            **linear_shapes("interface", C, R * W + 3 * W + 5 * R + 3), **linear_shapes("head", C + R * W, OUT)}


def rmc_shapes(h):
    C = h["heads"] * h["head_width"]
    G = C if h["gates"] == "unit" else 1
    mlp = {}
    for layer in range(h["mlp_layers"]):
        mlp.update(linear_shapes(f"mlp.{2 * layer}", C, C))
    return {"first_memory": (h["slots"], C), **linear_shapes("input", IN, C), **linear_shapes("projection", C, 3 * C),
            **norm_shapes("projection_norm", 3 * C), **norm_shapes("attention_norm", C), **norm_shapes("mlp_norm", C),
            **mlp, **linear_shapes("memory_gate", C, 2 * G), **linear_shapes("input_gate", C, 2 * G),
            **linear_shapes("head", h["slots"] * C, OUT)}


def fast_weights_shapes(h):
    H = h["hidden"]
    return {"first_hidden": (H,), **linear_shapes("input", IN, H), **linear_shapes("recurrent", H, H, False),
            **norm_shapes("norm", H), **linear_shapes("head", H, OUT)}


NETWORKS = [
    ("attentional_lstm", attentional_lstm, attentional_lstm_shapes, dict(hidden=4)),
    ("ntm", ntm, ntm_shapes, dict(controller=4, slots=5, width=3, heads=2)),
    ("dnc", dnc, dnc_shapes, dict(controller=4, slots=4, width=3, read_heads=2)),
    ("rmc_unit", rmc, rmc_shapes, dict(slots=3, heads=2, head_width=3, mlp_layers=2, gates="unit")),
    ("rmc_memory", rmc, rmc_shapes, dict(slots=2, heads=2, head_width=2, mlp_layers=1, gates="memory")),
    ("fast_weights", fast_weights, fast_weights_shapes, dict(hidden=5, inner_steps=2, decay=0.9, rate=0.6)),
]


def single(value):
    """The nearest number of single precision."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def drawn(shape, generator, deviation):
    if len(shape) == 1:
        return [single(generator.gauss(0, deviation)) for _ in range(shape[0])]
    return [drawn(shape[1:], generator, deviation) for _ in range(shape[0])]


def vectors(tensor):
    """The innermost lists of a nested one."""
    return [v for part in tensor for v in vectors(part)] if isinstance(tensor[0], list) else [tensor]


def save(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (shape, tensor) in tensors.items():
        flat = sum(vectors(tensor), [])
        raw = struct.pack(f"<{len(flat)}f", *flat)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def compute(name, network, shapes, hyper_parameters, out):
    generator = random.Random(name)
    shapes = shapes(hyper_parameters)
    p = {key: drawn(shape, generator, 0.6) for key, shape in shapes.items()}
    x, weights = drawn((B, T, IN), generator, 1), drawn((B, T, OUT), generator, 1)

    def outputs():
        return [list(network(p, hyper_parameters, sequence)) for sequence in x]

    def loss():
        return sum(dot(a, b) for a, b in zip(vectors(weights), vectors(outputs())))

    y, step = outputs(), 1e-5
    tensors = {key: (shape, p[key]) for key, shape in shapes.items()}
    tensors.update(x=((B, T, IN), x), y=((B, T, OUT), y), weights=((B, T, OUT), weights))
    for key, shape in shapes.items():
        gradient = []
        for vector in vectors(p[key]):
            for k, value in enumerate(vector):
                vector[k] = value + step
                above = loss()
                vector[k] = value - step
                gradient.append((above - loss()) / (2 * step))
                vector[k] = value
        tensors["grad." + key] = (shape, gradient)
    fields = {"inputs": IN, "outputs": OUT, **hyper_parameters}
    save(out / f"{name}.safetensors", tensors, {"kind": network.__name__, "hyper_parameters": json.dumps(fields)})


if __name__ == "__main__":
    for row in NETWORKS:
        compute(*row, pathlib.Path(sys.argv[1]))
