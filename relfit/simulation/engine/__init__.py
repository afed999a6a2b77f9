"""The common base of the simulators of sparing, training and batch systems; it imports none of them.

* `records`: the state of a model as record arrays with named fields, declared as a class
* `event_heap`: the next events, in one total order
* `random_streams`: random numbers, a stream per purpose, and times of any distribution, for compiled loops
* `repair_stages`: repairs that depend on earlier ones
* `replications`: runs spread over threads, and their statistics
* `checked_settings`: settings checked by name

Compiled functions take records and arrays; they are called from the compiled loop of a model. Inside a model times are
hours, except where its inputs are published as whole minutes or seconds and are to stay whole; such a model says so.
"""
