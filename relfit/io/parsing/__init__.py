"""Files as columns of values: bytes decompressed, text decoded and split, numbers, points in time, rejected rows."""
