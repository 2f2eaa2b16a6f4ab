"""Adam for PyTorch on a CPU."""

from typing import Any

import keras
import torch

from keras_transformer._utils.types import Tensor


class InPlaceAdam(keras.optimizers.Adam):
    """Adam that updates one variable after the other in place.

    Keras's class for PyTorch applies each of a dozen operations to all variables before the next
    one, which suits a GPU. On a CPU it takes four times as long, because the variables and their
    copies do not fit into its cache (1.8 million weights).
    """

    def build(self, variables: list[keras.Variable]) -> None:
        """Creates the moments of the variables and maps each variable to its moments."""
        if self.built:
            return
        super().build(variables)
        means, squares = (
            [x.value for x in self.variables if x.path.endswith(f"_{name}")]
            for name in ("momentum", "velocity")
        )
        moments = zip(means, squares, strict=True)
        self._moments = dict(zip(map(id, variables), moments, strict=True))

    def apply(self, grads: list[Tensor], trainable_variables: Any = None) -> None:
        """Updates the variables and, if used, their averages and accumulated gradients."""
        step, rate = int(self.iterations) + 1, float(self.learning_rate)
        self._step_size = rate * (1 - self.beta_2**step) ** 0.5 / (1 - self.beta_1**step)
        super().apply(grads, trainable_variables)

    @torch.no_grad()
    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        """Updates a variable and its moments."""
        # In half precision, Keras also rounds the powers of beta.
        if self.amsgrad or variable.dtype != "float32":
            super().update_step(gradient, variable, learning_rate)
            return
        mean, square = self._moments[id(variable)]
        gradient = gradient.to(mean.dtype)
        mean.lerp_(gradient, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(gradient, gradient, value=1 - self.beta_2)
        root = square.sqrt().add_(self.epsilon)
        variable.value.addcdiv_(mean, root, value=-self._step_size)
