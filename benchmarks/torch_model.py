"""A translation model based on `torch.nn.Transformer`."""

import torch


class TorchModel(torch.nn.Module):
    """A pre-norm `torch.nn.Transformer` with embeddings, learned positions and tied output.

    Args:
        size: object with the attributes `d_model`, `n`, `h` and `d_ff`.
        words: pair of the source and target vocabulary sizes.
        length: maximum sequence length.
        rate: dropout rate.
        share: whether source and target share their embeddings.
    """

    def __init__(self, size, words, length, rate=0.1, share=False):
        super().__init__()
        self.source, self.target = (torch.nn.Embedding(n, size.d_model) for n in words)
        if share:
            self.target = self.source
        for embedding in (self.source, self.target):
            torch.nn.init.normal_(embedding.weight, std=size.d_model**-0.5)
        self.positions = torch.nn.Parameter(torch.zeros(length, size.d_model))
        self.body = torch.nn.Transformer(
            size.d_model, size.h, size.n, size.n, size.d_ff, rate, batch_first=True, norm_first=True
        )
        self.dropout = torch.nn.Dropout(rate)
        mask = self.body.generate_square_subsequent_mask(length)
        self.register_buffer("mask", mask == float("-inf"))  # True: may not attend

    def embed(self, embedding, ids):
        scale = embedding.embedding_dim**0.5
        return self.dropout(embedding(ids) * scale + self.positions[: ids.shape[1]])

    def forward(self, source, target):
        """Maps ids, (B, S) and (B, T), with 0 for padding, to logits, (B, T, V)."""
        length, padding = target.shape[1], source == 0
        x = self.body(
            self.embed(self.source, source),
            self.embed(self.target, target),
            tgt_mask=self.mask[:length, :length],
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return x @ self.target.weight.T

    @torch.inference_mode()
    def search(self, source, steps, start_id):
        """Decodes greedily without a KV cache: runs the decoder on the whole prefix each step."""
        encoded = self.body.encoder(self.embed(self.source, source))
        target = torch.full((len(source), 1), start_id)
        for length in range(1, steps + 1):
            mask = self.mask[:length, :length]
            x = self.embed(self.target, target)
            x = self.body.decoder(x, encoded, tgt_mask=mask, tgt_is_causal=True)
            best = (x[:, -1] @ self.target.weight.T).argmax(dim=1, keepdim=True)
            target = torch.cat([target, best], dim=1)
        return target[:, 1:]


class TorchLanguageModel(torch.nn.Module):
    """A plain pre-norm decoder-only model with learned positions and tied output, as GPT-2 has.

    Args:
        size: object with the attributes `d_model`, `n`, `h` and `d_ff`.
        words: size of the vocabulary.
        length: maximum sequence length.
    """

    def __init__(self, size, words, length):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, size.d_model)
        torch.nn.init.normal_(self.embedding.weight, std=0.02)
        self.positions = torch.nn.Parameter(torch.zeros(length, size.d_model))
        self.blocks = torch.nn.ModuleList(_Block(size) for _ in range(size.n))
        self.norm = torch.nn.LayerNorm(size.d_model)

    def forward(self, ids):
        """Maps ids, (B, T), to logits, (B, T, V)."""
        x = self.embedding(ids) + self.positions[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embedding.weight.T


class _Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.h = size.h
        self.norm_1, self.norm_2 = (torch.nn.LayerNorm(size.d_model) for _ in range(2))
        self.queries_keys_values = torch.nn.Linear(size.d_model, 3 * size.d_model)
        self.output = torch.nn.Linear(size.d_model, size.d_model)
        self.feed_forward = torch.nn.Sequential(
            torch.nn.Linear(size.d_model, size.d_ff),
            torch.nn.GELU(approximate="tanh"),
            torch.nn.Linear(size.d_ff, size.d_model),
        )

    def forward(self, x):
        heads = self.queries_keys_values(self.norm_1(x)).chunk(3, dim=-1)
        heads = [y.unflatten(-1, (self.h, -1)).transpose(1, 2) for y in heads]
        y = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.output(y.transpose(1, 2).flatten(2))
        return x + self.feed_forward(self.norm_2(x))


def to_tensors(batch, device="cpu"):
    """Converts a batch to tensors without its empty rows, whose attention would be NaN."""
    (source, inputs), target = batch
    rows = source.any(axis=1)
    return [
        torch.from_numpy(x[rows].astype("int64")).to(device, non_blocking=True)
        for x in (source, inputs, target)
    ]


def update(model, optimizer, loss, tensors, bfloat16):
    """Takes one training step, with autocast if `bfloat16` is True."""
    source, inputs, target = tensors
    optimizer.zero_grad()
    with torch.autocast(source.device.type, torch.bfloat16, enabled=bfloat16):
        logits = model(source, inputs)
    loss(logits.float().flatten(0, 1), target.flatten()).backward()
    optimizer.step()
