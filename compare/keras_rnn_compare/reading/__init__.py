"""Data from files and arrays, read exactly or refused."""
