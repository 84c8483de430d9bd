"""nanoGPT and the book's GPTModel, in as few lines as say what they compute.

Written for these tests after the published descriptions, with the parameter names of the
originals. Each gives logits and, layer for layer, the pattern of every head.
"""

import torch
from torch import nn
from torch.nn import functional


def attend(q, k, v, num_heads):
    """Outputs of the heads side by side, and their patterns; one text, (pos, features)."""
    seq_len, width = q.shape
    q, k, v = (t.view(seq_len, num_heads, -1).transpose(0, 1) for t in (q, k, v))
    scores = q @ k.transpose(1, 2) / (width // num_heads) ** 0.5
    ahead = torch.ones(seq_len, seq_len).triu(diagonal=1).bool()
    pattern = scores.masked_fill(ahead, -torch.inf).softmax(dim=-1)
    return (pattern @ v).transpose(0, 1).reshape(seq_len, width), pattern


def greedy(model, ids, count):
    """The ids and the likeliest `count` after them, everything computed anew for each."""
    written = list(ids)
    for _ in range(count):
        logits, _ = model(torch.tensor(written))
        written.append(int(logits[-1].argmax()))
    return written


# ------------------------------------------------------------------ nanoGPT


class NanoAttention(nn.Module):
    def __init__(self, width, num_heads, bias, block_size):
        super().__init__()
        self.num_heads = num_heads
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)
        if block_size is not None:  # where PyTorch has no fused kernel
            square = torch.ones(block_size, block_size).tril()
            self.register_buffer("bias", square.view(1, 1, block_size, block_size))

    def forward(self, x):
        z, pattern = attend(*self.c_attn(x).chunk(3, dim=-1), self.num_heads)
        return self.c_proj(z), pattern


class NanoMLP(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.c_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x)))


class NanoBlock(nn.Module):
    def __init__(self, width, num_heads, bias, block_size):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, bias=bias)
        self.attn = NanoAttention(width, num_heads, bias, block_size)
        self.ln_2 = nn.LayerNorm(width, bias=bias)
        self.mlp = NanoMLP(width, bias)


class NanoGPT(nn.Module):
    """Of `model_args`; with `masks`, each block keeps one, as without a fused kernel."""

    def __init__(self, args, *, masks=False):
        super().__init__()
        width, bias = args["n_embd"], args["bias"]
        size = args["block_size"] if masks else None
        blocks = [NanoBlock(width, args["n_head"], bias, size) for _ in range(args["n_layer"])]
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(args["vocab_size"], width),
                "wpe": nn.Embedding(args["block_size"], width),
                "h": nn.ModuleList(blocks),
                "ln_f": nn.LayerNorm(width, bias=bias),
            }
        )
        self.lm_head = nn.Linear(width, args["vocab_size"], bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    @torch.no_grad()
    def forward(self, ids):
        x = self.transformer["wte"](ids) + self.transformer["wpe"].weight[: len(ids)]
        patterns = []
        for block in self.transformer["h"]:
            added, pattern = block.attn(block.ln_1(x))
            x = x + added
            x = x + block.mlp(block.ln_2(x))
            patterns.append(pattern)
        return self.lm_head(self.transformer["ln_f"](x)), patterns


# ------------------------------------------------------------------ the book


class BookNorm(nn.Module):
    """Its own LayerNorm: the variance is divided by the number of features."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return self.scale * centred / (variance + 1e-5).sqrt() + self.shift


class BookGELU(nn.Module):
    """The approximation with tanh."""

    def forward(self, x):
        return 0.5 * x * (1 + ((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)).tanh())


class BookAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        width, self.num_heads = cfg["emb_dim"], cfg["n_heads"]
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(width, width, bias=cfg["qkv_bias"]))
        self.out_proj = nn.Linear(width, width)
        square = torch.ones(cfg["context_length"], cfg["context_length"])
        self.register_buffer("mask", square.triu(diagonal=1))

    def forward(self, x):
        z, pattern = attend(self.W_query(x), self.W_key(x), self.W_value(x), self.num_heads)
        return self.out_proj(z), pattern


class BookFeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        up, down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.layers = nn.Sequential(up, BookGELU(), down)


class BookBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.att = BookAttention(cfg)
        self.ff = BookFeedForward(cfg["emb_dim"])
        self.norm1 = BookNorm(cfg["emb_dim"])
        self.norm2 = BookNorm(cfg["emb_dim"])


class BookGPT(nn.Module):
    """Of a GPT_CONFIG."""

    def __init__(self, cfg):
        super().__init__()
        self.tok_emb = nn.Embedding(cfg["vocab_size"], cfg["emb_dim"])
        self.pos_emb = nn.Embedding(cfg["context_length"], cfg["emb_dim"])
        self.trf_blocks = nn.Sequential(*(BookBlock(cfg) for _ in range(cfg["n_layers"])))
        self.final_norm = BookNorm(cfg["emb_dim"])
        self.out_head = nn.Linear(cfg["emb_dim"], cfg["vocab_size"], bias=False)

    @torch.no_grad()
    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb.weight[: len(ids)]
        patterns = []
        for block in self.trf_blocks:
            added, pattern = block.att(block.norm1(x))
            x = x + added
            x = x + block.ff.layers(block.norm2(x))
            patterns.append(pattern)
        return self.out_head(self.final_norm(x)), patterns
