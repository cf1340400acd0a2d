"""Texts in files, all in UTF-8, and where one is not."""


def read_parts(path, read):
    """Yields what `read` returns of an open text until that is empty; raises `ValueError` where it is no text."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            while part := read(file):
                if "\0" in part:
                    check(path)
                yield part
    except UnicodeDecodeError as error:
        # It knows its place in a buffer only.
        check(path)
        raise ValueError(f"is not UTF-8: {error.reason}") from None


def check(path):
    """Raises `ValueError` with the byte and the line, if a file is no text in UTF-8."""
    begin, lines = 0, 0
    with open(path, "rb") as file:
        for raw in file:
            try:
                raw.decode("utf-8")
                fault, reason = raw.find(b"\0"), None
            except UnicodeDecodeError as error:
                fault, reason = error.start, error.reason
            if fault >= 0:
                # Lines may end as those of old Macs do.
                line, byte = lines + len((raw[:fault] + b".").splitlines()), begin + fault
                if reason is None:
                    raise ValueError(f"is not a text in UTF-8: it has a byte of zero in line {line}, byte {byte}")
                raise ValueError(f"is not UTF-8: {reason} at byte {byte}, in line {line}. Save the file as UTF-8")
            begin, lines = begin + len(raw), lines + len(raw.splitlines())
