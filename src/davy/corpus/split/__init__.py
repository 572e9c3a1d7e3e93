"""Cut posts into train, dev and test so that what belongs together stays together; find leaks in other splits."""
