"""What each framework does, by its own means: a package per framework, a module per topic, a function per operation.

Functions take and return NumPy arrays, build what they need with its defaults, and keep nothing. What a framework does not
have stands in the module's ``ABSENT``: operation to reason. ``decoy`` is a stand-in with answers that no framework gives.
"""
