"""The queue before a detector that serves: batches, held pictures, refusal under load."""
