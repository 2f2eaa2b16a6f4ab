"""Adam on TensorFlow."""

from types import MappingProxyType

import keras
import tensorflow as tf


class FusedAdam(keras.optimizers.Adam):
    """Keras's Adam, whose update of a variable is one operation.

    Keras's takes a dozen, each of which reads and writes a whole tensor. The gradients of an
    `Embedding`, of which TensorFlow has one row for each place where a token stands, are added up
    before they are squared.
    """

    def build(self, variables):
        """Makes the moments of the variables, and notes which are whose."""
        if self.built:
            return
        super().build(variables)
        means, squares = (
            [x for x in self.variables if x.path.endswith(f"_{name}")]
            for name in ("momentum", "velocity")
        )
        # An update is given a replica's copy of the variable.
        replicas = tf.distribute.get_strategy().experimental_local_results
        moments = {
            copy.ref(): (mean.value, square.value)
            for variable, mean, square in zip(variables, means, squares, strict=True)
            for copy in replicas(variable.value)
        }
        self._moments = MappingProxyType(moments)  # TensorFlow would want to save a dictionary

    def update_step(self, gradient, variable, learning_rate):
        """Updates a variable, of a replica, and its moments."""
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
