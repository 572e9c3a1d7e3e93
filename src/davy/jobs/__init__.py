"""Background jobs: the queue's workers, the kinds of job, and the processes that run them.

Doors put a job into the store's queue; `davy work`, a process of its own, runs it by
calling an action. So the pages' process never loads what a training needs.
"""
