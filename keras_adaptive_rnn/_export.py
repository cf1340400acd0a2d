"""One decorator makes a class public: registered for saving, and listed for the package's namespaces."""

import keras

PUBLIC: list[type] = []


def export(cls):
    """Registers `cls` under `keras_adaptive_rnn>Name` and adds it to the public names.

    A saved model that holds the class then loads wherever `keras_adaptive_rnn` is imported, without
    `custom_objects`.
    """
    PUBLIC.append(cls)
    return keras.saving.register_keras_serializable(package="keras_adaptive_rnn")(cls)
