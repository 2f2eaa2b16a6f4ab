"""Fused Adam for TensorFlow."""

from types import MappingProxyType

import keras
import tensorflow as tf

from keras_transformer._utils.types import Tensor


class FusedAdam(keras.optimizers.Adam):
    """Adam whose update of a variable is a single TensorFlow operation.

    Keras's update takes a dozen operations, each of which reads and writes a whole tensor. The
    sparse gradients of an `Embedding`, which have one row per occurrence of a token, are summed per
    token before they are squared.
    """

    def build(self, variables: list[keras.Variable]) -> None:
        """Creates the moments of the variables and maps each variable to its moments."""
        if self.built:
            return
        super().build(variables)
        means, squares = (
            [x for x in self.variables if x.path.endswith(f"_{name}")]
            for name in ("momentum", "velocity")
        )
        # `update_step` receives a replica's copy of the variable, so the copies are the keys.
        replicas = tf.distribute.get_strategy().experimental_local_results
        moments = {
            copy.ref(): (mean.value, square.value)
            for variable, mean, square in zip(variables, means, squares, strict=True)
            for copy in replicas(variable.value)
        }
        self._moments = MappingProxyType(moments)  # TensorFlow would track a dictionary

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        """Updates a variable (or a replica's copy of it) and its moments."""
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        mean, square = self._moments[variable.ref()]
        numbers = (self.iterations + 1, learning_rate, self.beta_1, self.beta_2, self.epsilon)
        step, learning_rate, beta_1, beta_2, epsilon = (tf.cast(x, variable.dtype) for x in numbers)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.handle,
            v=square.handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=learning_rate,
            beta1=beta_1,
            beta2=beta_2,
            epsilon=epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )
