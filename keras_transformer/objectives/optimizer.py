"""The optimizer."""

import keras

from keras_transformer.backends import backend_module


@keras.saving.register_keras_serializable(package="keras_transformer")
class Adam(keras.optimizers.Adam):
    """Keras's Adam, faster on TensorFlow.

    There Keras's update of a variable takes a dozen operations, each of which reads and writes a
    whole tensor: a tenth of a small model's training step on a processor. Here it is one. Moreover
    the gradients of an `Embedding`, of which TensorFlow has one row for each place where a word
    stands, are added up before they are squared.

    Args:
        *args, **kwargs: as of `keras.optimizers.Adam`.

    References:
        "Adam: A Method for Stochastic Optimization" (Kingma and Ba, 2015), section 2.
    """

    def update_step(self, gradient, variable, learning_rate):
        """Updates a variable and its moments."""
        if keras.config.backend() != "tensorflow" or self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        i = self._get_variable_index(variable)
        moments = self._momentums[i].value, self._velocities[i].value
        numbers = learning_rate, self.beta_1, self.beta_2, self.epsilon
        step = self.iterations + 1
        backend_module().update_adam(variable, *moments, gradient, step, *numbers)
