"""The common base of the simulators of sparing, training and batch systems; it imports none of them.

State is record arrays with named fields. Compiled functions take records and arrays, and are called from the compiled
loop of a model. Inside a model times are hours, except where its inputs are published as whole minutes or seconds and
are to stay whole; such a model says so.
"""
