"""Computes the golden tensors of question answering with the authors' own code.

Usage: compute_question_answerer.py SAM OUT
  SAM  a clone of thaihungle/SAM
Needs PyTorch. Every sentence and story is full, as padding is treated differently here.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

from compute import save

VOCABULARY, WORDS, SENTENCES, ROWS = 13, 4, 5, 3
CONFIG = dict(vocab_size=VOCABULARY, max_seq=WORDS, symbol_size=6, entity_size=8, role_size=3,
              hidden_size=7, init_limit=0.1, LN=True)


def main(sam, out):
    sys.path.insert(0, sam)
    from baselines.sam.qamodel import QAmodel

    torch.manual_seed(20)
    model = QAmodel(CONFIG)
    with torch.no_grad():  # nothing may sit at a symmetric initial value
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    story = torch.randint(1, VOCABULARY, (ROWS, SENTENCES, WORDS))
    query = torch.randint(1, VOCABULARY, (ROWS, WORDS))
    answer = torch.randint(1, VOCABULARY, (ROWS,))
    logits = model(story, query)
    loss = F.cross_entropy(logits, answer)
    loss.backward()
    # What has no gradient is not used, but for Z; the transfer is multiplied by zero.
    used = {name: parameter for name, parameter in model.named_parameters()
            if parameter.grad is not None and not name.startswith("update_module.rel_projector2.")}
    out = pathlib.Path(out)
    save(out / "qa_tiny.weights.safetensors", {**used, "infer_module.Z": model.infer_module.Z})
    save(out / "qa_tiny.expected.safetensors",
         {"story": story, "query": query, "answer": answer, "logits": logits,
          "loss": loss.reshape(1),
          **{"grad." + name: parameter.grad for name, parameter in used.items()}})


if __name__ == "__main__":
    main(*sys.argv[1:])
