"""Gradient accumulation."""


def accumulation(optimizer):
    """Returns the number of batches whose gradients an optimizer accumulates for one update."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    return optimizer.gradient_accumulation_steps or 1
