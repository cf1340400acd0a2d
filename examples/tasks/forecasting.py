"""Forecasting: predict the next day of an hourly load from the last three days.

The synthetic series has daily and weekly cycles, drifting weather, and noise. The model reads 72 hours and predicts the
next 24. The baselines are the same hours a day and a week earlier, and an LSTM with as many weights.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier


def load(hours, rng):
    t = np.arange(hours)
    weather = np.zeros(hours)
    for k in range(1, hours):
        weather[k] = 0.98 * weather[k - 1] + rng.normal(0, 0.1)
    daily = np.sin(2 * np.pi * (t - 8) / 24) + 0.5 * np.sin(4 * np.pi * (t - 5) / 24)
    weekend = (t // 24 % 7) >= 5
    return daily * np.where(weekend, 0.4, 1) + 0.5 * weather + rng.normal(0, 0.05, hours)


def windows(series, first, last, past, ahead):
    """Returns the load and the weekday that are known, `[count, past, 2]`, and what comes, `[count, ahead]`."""
    starts = np.arange(first, last - past - ahead)
    past_hours = starts[:, None] + np.arange(past)
    x = np.stack([series[past_hours], past_hours // 24 % 7 / 7], axis=-1)
    return x, series[starts[:, None] + past + np.arange(ahead)]


def main(small=False):
    past, ahead, days, epochs, units = (24, 24, 14, 3, 8) if small else (72, 24, 300, 20, 32)
    series = load(24 * days, np.random.default_rng(0))
    split = int(0.8 * len(series))
    x, y = windows(series, 0, split, past, ahead)
    x_test, y_test = windows(series, split, len(series), past, ahead)

    hours_ahead = split + past + np.arange(len(x_test))[:, None] + np.arange(ahead)
    forecasts = {f"the {name} before": series[hours_ahead - 24 * days] for name, days in (("day", 1), ("week", 7))}
    mogrifier, losses = Mogrifier(units, rounds=4), {}
    for name, layer in (("Mogrifier", mogrifier), ("LSTM", LSTM(_task.lstm_units(mogrifier, 2)))):
        model = keras.Sequential([keras.Input((None, 2)), layer, keras.layers.Dense(ahead)])
        steps = epochs * -(-len(x) // 64)
        model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.01, steps), clipnorm=1.0), "mae")
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        forecasts[name] = model.predict(x_test, verbose=0)
    rows = {name: {"MAE": float(np.abs(each - y_test).mean())} for name, each in forecasts.items()}

    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots()
    sample = int(np.argmax(hours_ahead[:, 0] % 168 == 120))  # A Saturday, which the day before does not know.
    hours = np.arange(-past, ahead)
    axes.plot(hours, np.concatenate([x_test[sample, :, 0], y_test[sample]]), "k", lw=3, alpha=0.3, label="load")
    for name, each in forecasts.items():
        axes.plot(hours[past:], each[sample], label=name, lw=1, ls=":" if name.startswith("the") else "-")
    axes.set(xlabel="hours from now")
    axes.legend(loc="lower center")
    return _task.Results(rows, losses["Mogrifier"], figure)


if __name__ == "__main__":
    _task.run(main)
