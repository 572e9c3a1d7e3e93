"""Score posts with a detector: files, frames, texts, and the queue before a detector that serves."""
