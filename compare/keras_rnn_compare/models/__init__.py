"""Models of any recurrent layer, of equal size, trained in one trial after another."""
