"""Numbers as text, for people."""


def rounded(value, digits=4):
    """Returns a number with so many significant digits, and in full where it is large: 12,340 rather than 1.234e+04."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text and abs(value) < 1e15 else text
