"""Several batches for one update of the weights."""


def accumulation(optimizer):
    """The number of batches whose gradients an optimizer adds up for one update."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of one that scales the loss
    return optimizer.gradient_accumulation_steps or 1
