"""Text files in UTF-8."""


def read_text(path):
    """Returns the text of a file, with its line ends as they are.

    Raises:
        ValueError: The file is no text in UTF-8; the message has the line and the byte.
    """
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"at byte {error.start}, in line {line_of(raw, error.start)}"
        raise ValueError(f"is not UTF-8: {error.reason} {place}. Save the file as UTF-8") from None
    zero = raw.find(b"\0")
    if zero >= 0:
        raise ValueError(f"is not a text in UTF-8: it has a byte of zero in line {line_of(raw, zero)}, byte {zero}")
    return text.removeprefix("\ufeff")


def line_of(raw, place):
    # `splitlines` counts the line ends of old Macs, too.
    return len((raw[:place] + b".").splitlines())
