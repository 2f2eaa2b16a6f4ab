"""The Transformer and its relatives as Keras 3 layers: train, plot, translate."""
