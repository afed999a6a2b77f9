"""Files as columns of values: decompression, decoding, splitting, numbers, instants, rejected rows."""
